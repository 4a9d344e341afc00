"""`sayso host approve` and its kin: the acts of the desk, on the home's own store, while it is served or not.

The same operations as over HTTP (`scheduling.host.staff_acts`), under the host's own key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.host_answers import print_to_sign, signed_answer, signed_option
from sayso.apps.cli.host_place import at_desk_of, desk_option
from sayso.apps.cli.host_text import act_line
from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.instants import write_local
from sayso.core.strictjson import JsonValue
from sayso.core.zones import find_zone
from sayso.scheduling.host.staff_acts import ACTS, at_desk
from sayso.scheduling.tools.moments import read_moment

__all__ = ("COMMANDS",)

_booking = click.argument("booking_id", metavar="BOOKING")
_message = click.option("--message", metavar="WORDS", help="For the guest to read.")
_open_for = click.option(
    "--open-for", metavar="DURATION", help="How long the guest may think about it; a day unless told (PT2H, P1D)."
)
_with = click.option("--with", "resource_id", metavar="ID", help="Somebody else, among those guests can choose.")


_ANSWERS: dict[str, Literal["yes", "no"]] = {"approve": "yes", "decline": "no"}


def _act(
    act: str,
    booking_id: str,
    home: Path,
    start: str | None = None,
    signed: Path | None = None,
    **members: JsonValue,
) -> None:
    """Does it and says in one line what became of the booking."""
    with at_desk_of(home) as opened:
        body = {name: value for name, value in members.items() if value is not None}
        if act in _ANSWERS:
            message = body.get("message")
            words = message if isinstance(message, str) else None
            body |= signed_answer(opened, booking_id, _ANSWERS[act], words, signed)
        if start is not None:
            zone = find_zone(opened.config.timezone)
            body["start"] = write_local(read_moment(start, zone, "start"), zone)
        sent = strictjson.encode({"idempotency_key": SystemIds().new("i"), **body})
        request = strictjson.decode(sent, ACTS[act].request)
        settled = opened.store.run(lambda unit: at_desk(unit, opened.desk, act, booking_id, request))
    click.echo(plain(act_line(act, settled.booking)))


@click.command()
@_booking
@signed_option
@desk_option
def approve(booking_id: str, signed: Path | None, home: Path) -> None:
    """Say yes to a request, or to a move, that waits for you.

    At a person's calendar the yes is shown to you word for word, and you sign it with your own key.
    """
    _act("approve", booking_id, home, signed=signed)


@click.command()
@_booking
@_message
@click.option("--no-alternatives", is_flag=True, help="Do not name other free times.")
@signed_option
@desk_option
def decline(booking_id: str, message: str | None, signed: Path | None, home: Path, *, no_alternatives: bool) -> None:
    """Say no to a request, or to a move, that waits for you.

    At a person's calendar you sign the no with your own key, and your words with it.
    """
    _act("decline", booking_id, home, signed=signed, message=message, alternatives=not no_alternatives)


@click.command()
@_booking
@click.argument("start")
@_with
@_open_for
@_message
@desk_option
def counter(
    booking_id: str, start: str, resource_id: str | None, open_for: str | None, message: str | None, home: Path
) -> None:
    """Answer what waits with another START (2026-10-15T14:00, your local time), which the guest may accept."""
    _act("counter", booking_id, home, start=start, resource_id=resource_id, open_for=open_for, message=message)


@click.command()
@_booking
@click.argument("start")
@_with
@_open_for
@_message
@desk_option
def propose(
    booking_id: str, start: str, resource_id: str | None, open_for: str | None, message: str | None, home: Path
) -> None:
    """Offer another START for a booking; it stays as it is unless the guest accepts."""
    _act("propose", booking_id, home, start=start, resource_id=resource_id, open_for=open_for, message=message)


@click.command()
@_booking
@click.option("--reason", required=True, metavar="WORDS", help="Why, in your own words; the guest reads it.")
@desk_option
def cancel(booking_id: str, reason: str, home: Path) -> None:
    """Call a booking off before it starts."""
    _act("cancel", booking_id, home, reason=reason)


@click.command()
@_booking
@desk_option
def end(booking_id: str, home: Path) -> None:
    """End a running booking that has no agreed end; the rest of its time is free."""
    _act("end", booking_id, home)


@click.command()
@_booking
@desk_option
def attended(booking_id: str, home: Path) -> None:
    """Mark that the guest came; takes a no-show back. Up to 7 days after the end."""
    _act("attended", booking_id, home)


@click.command(name="no-show")
@_booking
@desk_option
def no_show(booking_id: str, home: Path) -> None:
    """Mark that nobody came. Up to 7 days after the end."""
    _act("no-show", booking_id, home)


COMMANDS = (approve, decline, print_to_sign, counter, propose, cancel, end, attended, no_show)
