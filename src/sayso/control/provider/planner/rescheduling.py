"""To move a booking: booking_status, discover_host, find_slots, change_booking. Never by cancelling and booking again.

A new day keeps the clock time, a new time keeps the day. Where that start is not free, the nearest ones are offered and
none is taken unasked.
"""

from __future__ import annotations

from datetime import time, timedelta

from sayso.control.provider.planner.booking import discover
from sayso.control.provider.planner.conversation import Fact, Turn
from sayso.control.provider.planner.found import KnownBooking, read_catalog, read_no
from sayso.control.provider.planner.language.understood import TimeWindow
from sayso.control.provider.planner.limits import Ceiling
from sayso.control.provider.planner.openings import Openings, Wanted, find_openings, offer_others
from sayso.control.provider.planner.owning import fits_when, list_bookings, pick_booking
from sayso.control.provider.planner.picking import ServiceAt, all_offers
from sayso.control.provider.planner.request import Request, Setting
from sayso.control.provider.planner.spoken import sentence
from sayso.control.provider.planner.steps import Call, Say, Step, Topic, asks, done, refused
from sayso.control.provider.planner.telling_no import UNREACHABLE, find_trouble, no_of
from sayso.control.provider.planner.views import text_in

__all__ = ("move",)

_STANDS = "The booking stands as it was."


def move(request: Request, turn: Turn, setting: Setting) -> Step:
    """The next step towards another time for a booking."""
    if trouble := find_trouble(request, setting):
        return trouble
    found = list_bookings(turn, _STANDS)
    if not isinstance(found, tuple):
        return found
    request = _with_told_apart(request, found)
    seen = request.seen
    booking = pick_booking(request, found, setting, seen.from_days, seen.from_times, "moved")
    if isinstance(booking, Say):
        return booking
    wanted = _wanted(request, booking)
    if wanted is None:
        return asks(f"To which day and time shall I move {booking.what}, {booking.when}?", Topic.TIME)
    fact = discover(turn, _STANDS)
    if not isinstance(fact, Fact):
        return fact
    offer = _offer_of(booking, fact)
    if offer is None:
        return refused(f"I cannot find out when else {booking.what} is free. {_STANDS}")
    return _move_to(turn, booking, offer, wanted)


def _with_told_apart(request: Request, found: tuple[KnownBooking, ...]) -> Request:
    """Reads "reschedule my visit on Friday" by what is booked: where nothing is on that Friday, it is the new day."""
    seen = request.seen
    if seen.days or seen.times or seen.shift is not None or not (seen.from_days or seen.from_times):
        return request
    is_on = any(each.is_live and fits_when(each, seen.from_days, seen.from_times) for each in found)
    return request if is_on else request.as_new()


def _wanted(request: Request, booking: KnownBooking) -> Wanted | None:
    seen = request.seen
    if seen.shift is not None:
        start = booking.start + timedelta(minutes=seen.shift)
        return Wanted((start.date(),), (_exactly(start.time()),))
    if seen.days:
        return Wanted(seen.days, seen.times or (_exactly(booking.start.time()),))
    return Wanted((booking.start.date(),), seen.times) if seen.times else None


def _exactly(clock: time) -> TimeWindow:
    return TimeWindow(earliest=clock, latest=clock)


def _offer_of(booking: KnownBooking, fact: Fact) -> ServiceAt | None:
    """The service a booking is of: the longest title at its host that the booking's own words begin with."""
    hosts = [host for host in read_catalog(fact.result).hosts if host.host == booking.host]
    named = [offer for offer in all_offers(hosts) if booking.what.startswith(offer.service.title)]
    return max(named, key=lambda offer: len(offer.service.title), default=None)


def _move_to(turn: Turn, booking: KnownBooking, offer: ServiceAt, wanted: Wanted) -> Step:
    openings = find_openings(turn, offer, wanted, Ceiling())
    if not isinstance(openings, Openings):
        return openings
    if any(day == booking.start.date() for day in openings.wanted.days) and _is_there(booking, openings.wanted):
        return done(sentence(f"It is at that time already: {booking.what}, {booking.when}"))
    if not openings.starts:
        return offer_others(turn, offer, openings.wanted, Ceiling())
    call = Call("change_booking", {"booking_id": booking.booking_id, "start": openings.starts[0].written})
    fact = turn.find(call)
    if fact is None:
        return call
    if fact.is_error:
        unknown = read_no(fact).reason in UNREACHABLE
        return no_of(
            fact, then="Whether it was moved I cannot tell. Ask me later what you have." if unknown else _STANDS
        )
    return done(_said_of(fact.result))


def _is_there(booking: KnownBooking, wanted: Wanted) -> bool:
    """Whether the booking already starts at exactly the time asked for."""
    clock = booking.start.time()
    return all(window.earliest == window.latest == clock for window in wanted.windows)


def _said_of(result: object) -> str:
    facts = ", ".join(filter(None, (text_in(result, "what"), text_in(result, "when"))))
    price = text_in(result, "price")
    return " ".join(filter(None, (sentence(f"Moved: {facts or 'the booking'}"), sentence(price) if price else "")))
