"""The guest's acts as commands: each is one act of the kernel, with the questions of the person's own key app."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from sayso.apps.asking.by_hand import act_by_hand
from sayso.apps.asking.telling import TerminalTelling
from sayso.apps.cli.guest_about import about_you
from sayso.apps.cli.guest_company import invited_options, read_companions
from sayso.apps.cli.guest_text import act_text
from sayso.apps.cli.logs import log_to_stderr
from sayso.apps.cli.main import DONE, REFUSED
from sayso.apps.cli.options import (
    home_option,
    json_option,
    read_resolve,
    resolve_option,
    world_option,
    yes_option,
)
from sayso.apps.cli.persons import person_at
from sayso.apps.cli.running import Stopped, run_until_stopped
from sayso.apps.house import Wishes
from sayso.apps.place import open_place
from sayso.core import strictjson
from sayso.governance.kernel import Done
from sayso.scheduling.terms.guest_details import GuestDetails

__all__ = ("COMMANDS",)

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
Command = Callable[..., int]


def _where(command: Command) -> Command:
    """The options of every act: which home, which names, which form of answer."""
    for option in (json_option, resolve_option, world_option, home_option):
        command = option(command)
    return command


_with = click.option("--with", "named", metavar="NAME", help="Only with this person or thing, as discover names it.")


def _act(
    name: str,
    arguments: Mapping[str, Any],
    *,
    home: Path,
    world: bool,
    resolve: tuple[str, ...],
    as_json: bool,
    yes: bool = False,
    limits_only: bool = False,
    details: GuestDetails | None = None,
    said: GuestDetails | None = None,
) -> int:
    """Runs one act and prints what happened; the exit code says whether it did."""
    log_to_stderr()
    entries = read_resolve(resolve)
    given = {key: value for key, value in arguments.items() if value is not None}
    out = sys.stderr if as_json else sys.stdout

    async def run() -> Done:
        wishes = Wishes(limits_only=limits_only, details=details, said=said)
        async with open_place(home, is_world=world, wishes=wishes, told=out, resolve=entries) as house:
            done = await act_by_hand(house, person_at(house, out, yes=yes), TerminalTelling(out), name, given)
            await house.sign_checkpoint()
        return done

    try:
        done = run_until_stopped(run)
    except Stopped:
        click.echo("\nStopped. What was held ends by itself; see it: sayso guest show", err=True)
        return REFUSED
    if as_json:
        sys.stdout.buffer.write(strictjson.encode({"refused": done.is_error, "result": done.result}) + b"\n")
    else:
        click.echo("\n".join(act_text(name, done)), err=done.is_error)
    return REFUSED if done.is_error else DONE


@click.command()
@click.argument("host", required=False)
@_where
def discover(host: str | None, **place: Any) -> int:
    """Read what HOST offers, or every host you added."""
    return _act("discover_host", {"host": host}, **place)


@click.command()
@click.argument("host")
@click.argument("service")
@click.argument("earliest")
@click.argument("latest", required=False)
@_with
@_where
def slots(host: str, service: str, earliest: str, latest: str | None, named: str | None, **place: Any) -> int:
    """Find free starts of SERVICE between EARLIEST and LATEST.

    Either may be a day, 2026-10-15; without LATEST it is the rest of that day. Nothing is reserved.
    """
    closes = latest or earliest[:10]
    range_ = {"earliest_start": _opening(earliest), "latest_start": f"{closes}T23:59" if _is_day(closes) else closes}
    return _act("find_slots", {"host": host, "service_id": service, "with": named, **range_}, **place)


@click.command()
@click.argument("host")
@click.argument("service")
@click.argument("start")
@click.option("--earliest", help="The earliest start you would accept; the limits you sign reach from here.")
@click.option("--latest", help="The latest start you would accept.")
@click.option("--max-price", metavar="AMOUNT[ CURRENCY]", help="The most you would pay, all in: 100 or '100 CAD'.")
@_with
@invited_options
@about_you
@yes_option
@_where
def hold(
    host: str,
    service: str,
    start: str,
    earliest: str | None,
    latest: str | None,
    max_price: str | None,
    named: str | None,
    participant: tuple[str, ...],
    optional: tuple[str, ...],
    answer_within: str | None,
    silence: str | None,
    in_person: bool,
    details: GuestDetails | None,
    **place: Any,
) -> int:
    """Keep SERVICE at START for a few minutes, and get the host's signed offer.

    You sign the limits first, unless limits you signed already cover it. They say what the host may be told of you when
    you confirm; it is told nothing else.
    """
    asked = read_companions(participant, required=True) + read_companions(optional, required=False)
    arguments = {
        "host": host,
        "service_id": service,
        "start": start,
        "earliest_start": earliest,
        "latest_start": latest,
        "max_price": _ceiling(max_price),
        "with": named,
        "participants": asked or None,
        "answer_within": answer_within,
        "silence": silence,
        "in_person": in_person or None,
    }
    return _act("hold_slot", arguments, details=details, **place)


@click.command()
@click.argument("hold_id")
@click.option("--limits-only", is_flag=True, help="Book under the limits you signed, where the host allows it.")
@about_you
@click.option("--note", help="Your own words for the host, where it takes notes. They cannot be taken back.")
@yes_option
@_where
def confirm(hold_id: str, details: GuestDetails | None, note: str | None, **place: Any) -> int:
    """Approve the offer of HOLD_ID and book it. A no gives the time back."""
    return _act("approve_and_book", {"hold_id": hold_id, "note": note}, said=details, **place)


@click.command()
@click.argument("booking_id", required=False)
@_where
def show(booking_id: str | None, **place: Any) -> int:
    """Show BOOKING_ID as its host has it now, or all your bookings."""
    return _act("booking_status", {"booking_id": booking_id}, **place)


@click.command()
@click.argument("booking_id")
@click.argument("start")
@yes_option
@_where
def change(booking_id: str, start: str, **place: Any) -> int:
    """Move BOOKING_ID to START. You approve the host's new offer; until then it stays as it is."""
    return _act("change_booking", {"booking_id": booking_id, "start": start}, **place)


@click.command()
@click.argument("booking_id")
@click.option("--message", help="Your own words for the host. They cannot be taken back.")
@yes_option
@_where
def cancel(booking_id: str, message: str | None, **place: Any) -> int:
    """Cancel BOOKING_ID. It is free at any time before the start."""
    return _act("cancel_booking", {"booking_id": booking_id, "message": message}, **place)


@click.command()
@click.argument("booking_id")
@click.option("--decline", is_flag=True, help="You are not coming: the booking ends, for free, and its time is free.")
@yes_option
@_where
def reconfirm(booking_id: str, decline: bool, **place: Any) -> int:
    """Tell the host of BOOKING_ID that you are still coming, when it asks.

    Between which moments it asks, and what your silence does, stands in the offer you approved: sayso guest show.
    """
    return _act("reconfirm_booking", {"booking_id": booking_id, "decline": decline}, **place)


@click.command()
@click.argument("host")
@click.argument("booking_id")
@click.argument("said", metavar="[yes|no]", required=False, type=click.Choice(["yes", "no"]))
@yes_option
@_where
def answer(host: str, booking_id: str, said: str | None, **place: Any) -> int:
    """Answer an invitation to BOOKING_ID, which somebody else made at HOST and told you of.

    Without yes or no it is only read. You sign that it may be read, and then your answer; nobody can give it for you.
    """
    return _act("answer_invitation", {"host": host, "booking_id": booking_id, "answer": said}, **place)


@click.group()
def waitlist() -> None:
    """Wait for time that is taken to come free."""


@waitlist.command(name="join")
@click.argument("host")
@click.argument("service")
@click.argument("earliest")
@click.argument("latest", required=False)
@click.option("--max-price", metavar="AMOUNT[ CURRENCY]", help="The most you would pay, all in: 100 or '100 CAD'.")
@yes_option
@_where
def join_waitlist(
    host: str, service: str, earliest: str, latest: str | None, max_price: str | None, **place: Any
) -> int:
    """Wait for SERVICE to come free with a start between EARLIEST and LATEST, or at EARLIEST exactly.

    You sign the limits; what comes free is held for you, and is not booked until you confirm it.
    """
    arguments = {
        "host": host,
        "service_id": service,
        "earliest_start": earliest,
        "latest_start": latest or earliest,
        "max_price": _ceiling(max_price),
    }
    return _act("join_waitlist", arguments, **place)


@waitlist.command(name="show")
@click.argument("entry_id", required=False)
@_where
def show_waitlist(entry_id: str | None, **place: Any) -> int:
    """Show ENTRY_ID as its host has it now, or everything you wait for."""
    return _act("waitlist_status", {"entry_id": entry_id}, **place)


@waitlist.command(name="leave")
@click.argument("entry_id")
@_where
def leave_waitlist(entry_id: str, **place: Any) -> int:
    """Give up ENTRY_ID, and the time that is held for it."""
    return _act("leave_waitlist", {"entry_id": entry_id}, **place)


def _is_day(text: str) -> bool:
    return _DAY.fullmatch(text) is not None


def _opening(text: str) -> str:
    return f"{text}T00:00" if _is_day(text) else text


def _ceiling(text: str | None) -> dict[str, str] | None:
    """`100` is in the host's currency, `100 CAD` in its own."""
    if text is None:
        return None
    amount, _, currency = text.strip().partition(" ")
    return {"amount": amount, "currency": currency.strip()} if currency else {"amount": amount}


COMMANDS = (discover, slots, hold, confirm, show, change, reconfirm, cancel, answer, waitlist)
"""In the order a person meets them."""
