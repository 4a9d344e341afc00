"""What `sayso host` prints of a booking: what, when, for whom, how it stands, what is to be done."""

from __future__ import annotations

from collections.abc import Iterator

from sayso.core.instants import parse_instant
from sayso.core.money import read_money
from sayso.core.zones import find_zone
from sayso.scheduling.terms.acceptance_checks import read_rule_words
from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.quoted import named, quoted
from sayso.scheduling.terms.spoken import spoken_clock, spoken_day, spoken_money, spoken_span
from sayso.scheduling.terms.staff import DeskBooking
from sayso.scheduling.tools.company import people

__all__ = ("act_line", "booking_lines")

_STANDS = {
    "pending_host": "waits for your answer",
    "tentative": "waits for people who come along",
    "confirmed": "confirmed",
    "declined": "declined",
    "expired": "ran out unanswered",
    "cancelled": "cancelled",
    "completed": "over",
    "no_show": "nobody came",
}


def booking_lines(each: DeskBooking) -> Iterator[str]:
    """Two or three lines of one booking."""
    booking = each.booking
    money = "" if booking.total is None else f", {spoken_money(read_money(booking.total))}"
    person = f" with {booking.resource_name}" if booking.resource_name else ""
    yield f"{booking.booking_id}  {booking.service.title}{person}, {when(booking)}{money}"
    yield f"    {_standing(each)}; guest {each.guest.rpartition(':')[2]}"
    said = booking.answered
    if said is not None and said.may_be_unseen:
        words = quoted(read_rule_words(said.acceptance or "") or "")
        yield f"    your rule {words} said yes; you may not have seen it yet"
    for line in _expected(each):
        yield f"    {line}"
    if each.message:
        yield f"    they said: {quoted(each.message)}"


def _expected(each: DeskBooking) -> Iterator[str]:
    """Who comes, how they are reached, what they wrote: for the host's eyes."""
    if each.details is not None:
        reached = f", {each.details.contact}" if each.details.contact else ""
        comes = f"; {named(each.details.attendee)} comes" if each.details.attendee else ""
        yield f"{named(each.details.name)}{reached}{comes}"
    if each.note:
        yield f"their note: {quoted(each.note)}"


def when(booking: Booking) -> str:
    """When it is, in the host's own zone."""
    zone = find_zone(booking.event.time_zone)
    end = None if booking.end is None else parse_instant(booking.end)
    return spoken_span(parse_instant(booking.start), end, zone)


def _standing(each: DeskBooking) -> str:
    booking = each.booking
    said = _STANDS[booking.status]
    if booking.attended:
        said = "over, the guest came"
    if booking.awaiting_host is not None:
        said = f"asks to move to {_moment(booking, booking.awaiting_host.start)}"
    if booking.proposed is not None:
        said += f"; you proposed {_moment(booking, booking.proposed.start)}"
    said += _second_word(booking)
    if booking.participants:
        said += f"; {', '.join(people(booking.participants))}"
    if each.answer_by is not None:
        said += f", answer by {_moment(booking, each.answer_by)}"
    return said


def _second_word(booking: Booking) -> str:
    """Whether the guest said again that they are coming, and by when they have to."""
    if booking.unreconfirmed:
        return ", not reconfirmed"
    if booking.reconfirm is None or booking.status not in ("confirmed", "tentative", "pending_host"):
        return ""
    if booking.reconfirmed is not None:
        return f", reconfirmed {_moment(booking, booking.reconfirmed)}"
    return f", to be reconfirmed by {_moment(booking, booking.reconfirm.by)}"


def _moment(booking: Booking, text: str) -> str:
    at, zone = parse_instant(text), find_zone(booking.event.time_zone)
    return f"{spoken_day(at, zone)} at {spoken_clock(at, zone)}"


def act_line(act: str, booking: Booking) -> str:
    """What became of a booking by one act."""
    what = f"{booking.service.title}, {when(booking)}"
    if act in ("propose", "counter") and booking.proposed is not None:
        open_until = _moment(booking, booking.proposed.expires_at)
        return f"Proposed {_moment(booking, booking.proposed.start)} for {what}; the guest has until {open_until}."
    if act == "decline" and booking.status == "confirmed":
        return f"The move is declined; it stays as it was: {what}."
    if act == "end" and booking.ended is not None:
        return f"Ended at {_moment(booking, booking.ended)}: {what}. The rest of its time is free."
    said = {
        "approve": "Confirmed",
        "decline": "Declined",
        "cancel": "Cancelled",
        "attended": "Marked: the guest came",
        "no-show": "Marked: nobody came",
    }
    return f"{said[act]}: {what}."
