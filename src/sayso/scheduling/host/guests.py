"""Whom the host expects: names, contacts, notes. For its staff's eyes, and for as long as the contract says.

Spec section 10.5; SCH-191, SCH-194, SCH-207. They stand in this table, the words of a cancellation beside the booking,
and nowhere else: not in offers, receipts, events, the log or any answer to a guest or a participant.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, delete, select, update

from sayso.core import strictjson
from sayso.core.durations import parse_duration
from sayso.scheduling.host import bookings
from sayso.scheduling.rules.settling import StoredBooking
from sayso.scheduling.rules.spans import micros
from sayso.scheduling.terms.guest_details import GuestDetails
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_booking, host_guest
from sayso.store.unit import Reading, Unit

__all__ = ("Expected", "expect", "expect_words", "find", "follow_move", "forget")

_g = host_guest.c
_this = (_g.host == bindparam("of_host"), _g.booking_id == bindparam("of_booking"))
_FIND = statement(select(_g.details, _g.note).where(*_this))
_ADD = statement(insert(host_guest))
_DUE = statement(
    select(_g.booking_id)
    .where(_g.host == bindparam("of_host"), _g.forget_us <= bindparam("now"))
    .order_by(_g.forget_us)
    .limit(100)
)
_FORGET = statement(delete(host_guest).where(*_this))
_HUSH = statement(
    update(host_booking).where(
        host_booking.c.host == bindparam("of_host"), host_booking.c.booking_id == bindparam("of_booking")
    ),
    "message",
)
_KEEP = statement(update(host_guest).where(*_this), "forget_us")


class Expected(NamedTuple):
    """What the host was told with a booking."""

    details: GuestDetails | None = None
    note: str | None = None


def expect(unit: Unit, host: str, made: StoredBooking, told: Expected) -> None:
    """Keeps what came with a confirm; nothing where nothing came."""
    if told != Expected():
        row = {
            "host": host,
            "booking_id": made.booking_id,
            "details": None if told.details is None else strictjson.encode(told.details),
            "note": told.note,
            "forget_us": micros(_kept_until(made)),
        }
        unit.execute(_ADD, row)


def find(view: Reading, host: str, booking_id: str) -> Expected:
    """What the host knows of whom it expects."""
    row = view.one(_FIND, {"of_host": host, "of_booking": booking_id})
    if row is None:
        return Expected()
    details, note = row
    return Expected(None if details is None else strictjson.decode(bytes(details), GuestDetails), note)


def expect_words(unit: Unit, host: str, made: StoredBooking) -> None:
    """Lets the words that a booking was called off with be forgotten with the rest, where nothing else was told."""
    if made.message is not None and unit.one(_FIND, {"of_host": host, "of_booking": made.booking_id}) is None:
        row = {"host": host, "booking_id": made.booking_id, "details": None, "note": None}
        unit.execute(_ADD, {**row, "forget_us": micros(_kept_until(made))})


def follow_move(unit: Unit, host: str, moved: StoredBooking) -> None:
    """A booking that was moved is kept from its new end, sooner or later than before."""
    this = {"of_host": host, "of_booking": moved.booking_id}
    unit.execute(_KEEP, {**this, "forget_us": micros(_kept_until(moved))})


def forget(unit: Unit, host: str) -> None:
    """Forgets those whose retention is over, a hundred a round, with what they said when they called it off."""
    for (booking_id,) in unit.all(_DUE, {"of_host": host, "now": micros(unit.now)}):
        unit.execute(_FORGET, {"of_host": host, "of_booking": booking_id})
        unit.execute(_HUSH, {"of_host": host, "of_booking": booking_id, "message": None})


def _kept_until(made: StoredBooking) -> datetime:
    return made.standing.until + parse_duration(bookings.own_offer(made.offer.token).retention)
