"""What a person already has: telling it and cancelling it. booking_status first, then exactly one booking has to fit
the words; several or none are said, and nothing is done to any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from sayso.control.provider.planner.conversation import Fact, Turn
from sayso.control.provider.planner.found import KnownBooking, read_bookings, read_no
from sayso.control.provider.planner.language.understood import Problem, TimeWindow
from sayso.control.provider.planner.matching import find_named, name_words
from sayso.control.provider.planner.openings import admits
from sayso.control.provider.planner.request import Request, Setting, other_half
from sayso.control.provider.planner.spoken import sentence, spoken_day, spoken_list
from sayso.control.provider.planner.steps import Call, Choice, Say, Step, Topic, asks, done, refused
from sayso.control.provider.planner.telling_no import UNREACHABLE, find_trouble, no_of
from sayso.control.provider.planner.views import text_in

__all__ = ("cancel", "fits_when", "list_bookings", "pick_booking", "tell_status")

STATUS = Call("booking_status")
_AND = "and"
_STOPS = frozenset((Problem.CONTRADICTION, Problem.IMPOSSIBLE))


def list_bookings(turn: Turn, then: str = "") -> tuple[KnownBooking, ...] | Step:
    """Every booking there is, or the call for it, or its refusal."""
    fact = turn.find(STATUS)
    if fact is None:
        return STATUS
    return no_of(fact, then=then) if fact.is_error else read_bookings(fact.result)


def tell_status(request: Request, turn: Turn, setting: Setting) -> Step:
    """Answers what is booked: all that lies ahead, or what the words tell."""
    found = list_bookings(turn)
    if not isinstance(found, tuple):
        return found
    seen = request.seen
    if not seen.days:
        found = tuple(each for each in found if each.start > setting.now and each.is_live) or found[:0]
    fitting = _fitting(request, found, seen.days, seen.times)
    if not fitting:
        others = [each for each in found if each.start > setting.now and each.is_live]
        return done(_nothing(request, others, seen.days))
    return done("\n".join(_told(each) for each in fitting))


def _nothing(request: Request, others: Sequence[KnownBooking], days: Sequence[date]) -> str:
    what = f" for “{request.seen.service}”" if request.seen.service else ""
    day = f" on {spoken_day(days[0])}" if len(days) == 1 else " then" if days else ""
    lead = f"You have nothing booked{what}{day}."
    return f"{lead} {sentence(f'You have: {spoken_list([_named(each) for each in others], _AND)}')}" if others else lead


def _told(booking: KnownBooking) -> str:
    parts = [sentence(f"{_named(booking)}: {booking.status.replace('_', ' ')}"), booking.asked, booking.warning]
    return " ".join(filter(None, parts))


def _named(booking: KnownBooking) -> str:
    return f"{booking.what}, {booking.when}"


def _fitting(
    request: Request, found: Sequence[KnownBooking], days: Sequence[date], times: Sequence[TimeWindow]
) -> tuple[KnownBooking, ...]:
    """The bookings that the words name, on those days and at those times where any are told."""
    fitting = tuple(found)
    if words := name_words(request.seen.service or ""):
        fitting = find_named(words, fitting, lambda booking: booking.what).fitting
    for phrase in (request.seen.host, request.seen.person):
        if phrase and fitting:
            fitting = find_named(name_words(phrase), fitting, lambda booking: booking.what).fitting
    return tuple(each for each in fitting if fits_when(each, days, times))


def fits_when(booking: KnownBooking, days: Sequence[date], times: Sequence[TimeWindow]) -> bool:
    """Whether a booking is on one of the days and at one of the times, in either half where that is open."""
    readings = [w for window in times for w in ((window, other_half(window)) if window.either_half else (window,))]
    on_day = not days or booking.start.date() in days
    return on_day and (not readings or any(admits(window, booking.start.time()) for window in readings))


def pick_booking(
    request: Request,
    found: Sequence[KnownBooking],
    setting: Setting,
    days: Sequence[date],
    times: Sequence[TimeWindow],
    verb: str,
) -> KnownBooking | Say:
    """The one booking ahead that is meant."""
    ahead = tuple(each for each in found if each.is_live and each.start > setting.now)
    settled = [each for each in ahead if each.booking_id == request.booking_id]
    if settled:
        return settled[0]
    fitting = _fitting(request, ahead, days, times)
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        return refused(f"{_nothing(request, ahead, days)} Nothing was {verb}.")
    choices = tuple(Choice(each.booking_id, _named(each)) for each in fitting)
    return asks(f"Which one do you mean: {spoken_list([choice.label for choice in choices])}?", Topic.BOOKING, choices)


def cancel(request: Request, turn: Turn, setting: Setting) -> Step:
    """The next step towards a cancellation."""
    if request.seen.problems & _STOPS and (trouble := find_trouble(request, setting)):
        return trouble
    found = list_bookings(turn, "Nothing was cancelled.")
    if not isinstance(found, tuple):
        return found
    booking = pick_booking(request, found, setting, request.seen.days, request.seen.times, "cancelled")
    if isinstance(booking, Say):
        return booking
    if not request.is_sure:
        return asks(f"Shall I cancel it, or move it to another time: {_named(booking)}?", Topic.CANCEL_OR_MOVE)
    call = Call("cancel_booking", {"booking_id": booking.booking_id})
    fact = turn.find(call)
    if fact is None:
        return call
    return _uncancelled(fact) if fact.is_error else done(_said_of(fact.result))


def _uncancelled(fact: Fact) -> Say:
    if read_no(fact).reason in UNREACHABLE:
        return no_of(fact, then="Whether it was cancelled I cannot tell. Ask me later what you have booked.")
    return no_of(fact, then="The booking stands.")


def _said_of(result: object) -> str:
    facts = ", ".join(filter(None, (text_in(result, "what"), text_in(result, "when"))))
    return " ".join(filter(None, (sentence(f"Cancelled: {facts or 'the booking'}"), text_in(result, "note"))))
