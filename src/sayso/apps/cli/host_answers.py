"""The signed answer of a person's calendar: asked for here where its owner's key is, brought along where it is not."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Literal

import click

from sayso.apps.cli.host_place import at_desk_of, desk_option
from sayso.apps.host_home import OpenDesk
from sayso.apps.own_calendar import read_signed, sign_at_desk
from sayso.core import strictjson
from sayso.scheduling.host.personal import to_sign
from sayso.scheduling.terms.acceptance import AnswerDraft
from sayso.scheduling.terms.codes import refused

__all__ = ("print_to_sign", "signed_answer", "signed_option")

signed_option = click.option(
    "--signed",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The answer as the calendar's owner signed it elsewhere.",
)


def signed_answer(
    opened: OpenDesk, booking_id: str, answer: Literal["yes", "no"], message: str | None, signed: Path | None
) -> dict[str, str]:
    """What a request to answer says more at a person's calendar; nothing at a business."""
    if not opened.desk.profile.is_person:
        return {}
    if signed is not None:
        return {"acceptance": read_signed(signed)}
    data = _document(opened, booking_id, answer, message)
    return {"acceptance": asyncio.run(sign_at_desk(opened, sys.stdout, data))}


def _document(opened: OpenDesk, booking_id: str, answer: Literal["yes", "no"], message: str | None) -> bytes:
    offer = opened.store.run(lambda unit: to_sign(unit, opened.desk, booking_id))
    return strictjson.encode(AnswerDraft(offer=offer, answer=answer, message=message))


@click.command(name="to-sign")
@click.argument("booking_id", metavar="BOOKING")
@click.option("--no", "is_no", is_flag=True, help="The no to it, and not the yes.")
@click.option("--message", metavar="WORDS", help="For the guest to read, with a no.")
@desk_option
def print_to_sign(booking_id: str, message: str | None, home: Path, *, is_no: bool) -> None:
    """Print what the owner of this calendar signs to answer BOOKING, with sayso keyapp approve in their home."""
    with at_desk_of(home) as opened:
        if not opened.desk.profile.is_person:
            raise refused("nothing_to_answer", "A business answers for itself: there is nothing to sign.")
        click.echo(_document(opened, booking_id, "no" if is_no else "yes", message).decode())
