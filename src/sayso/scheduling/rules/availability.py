"""Which starts a host can still offer: a snapshot that reserves nothing (SCH-008, SCH-110..114, SCH-116).

Answers nothing about why a time is missing. Rates, prices and who may ask are judged elsewhere; paging does not exist:
a window is at most as long as `host` allows and every slot in it is listed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from sayso.scheduling.rules.opening import grid, local_dates
from sayso.scheduling.rules.picture import Picture, Taken, rooms, starts
from sayso.scheduling.rules.premises import BookableService, Premises, Seat
from sayso.scheduling.rules.release import released_until
from sayso.scheduling.rules.reserve import out_of_reach
from sayso.scheduling.rules.spans import Span, length, micros

__all__ = ("AvailabilityAsk", "FreeSlot", "availability", "bookable_starts", "eligible_seats")


@dataclass(frozen=True, slots=True)
class AvailabilityAsk:
    """A service within a window. A fixed-length booking must start and end inside the window (the buffer need not);
    of an open-ended one only the start must lie in it, the window's end included (SCH-078).

    `named` is the id of a unit the guest insists on (SCH-114). `family` is a booking whose own time counts as free.
    """

    service: BookableService
    window: Span
    named: str | None = None
    family: str | None = None


@dataclass(frozen=True, slots=True)
class FreeSlot:
    """A possible booking; `end` None means open-ended."""

    start: int
    end: int | None


def availability(picture: Picture, ask: AvailabilityAsk, now: datetime) -> list[FreeSlot]:
    """Every slot of the ask, in order. The picture must cover the window and the local days its ends fall on."""
    allowed = bookable_starts(picture, ask, now)
    taken = picture.taken(ignoring=ask.family)
    zone = picture.premises.zone
    found: list[FreeSlot] = []
    for day in local_dates(Span(allowed.start, allowed.end + 1), zone):
        on_grid = grid(day, zone, picture.premises.slot_step)
        candidates = [start for start in on_grid if allowed.start <= start <= allowed.end]
        left = out_of_reach(picture, ask.service, taken, day, ask.family)
        found += [_slot(ask.service, start) for start in _served(picture, ask, left, day, candidates)]
    return found


def bookable_starts(picture: Picture, ask: AvailabilityAsk, now: datetime) -> Span:
    """The earliest and the latest start (both included) that window, present, booking horizon and release schedule
    leave.

    A start must lie after `now` and at most the horizon after it; the result is empty when its end precedes its start.
    """
    latest = ask.window.end - (length(ask.service.duration) if ask.service.duration is not None else 0)
    horizon = micros(now) + length(picture.premises.horizon)
    released = released_until(picture.premises, now)
    return Span(max(ask.window.start, micros(now) + 1), min(latest, horizon, released - 1))


def eligible_seats(premises: Premises, service: BookableService, named: str | None) -> Mapping[str, tuple[Seat, ...]]:
    """The seats that may serve each needed kind: all of the kind, but of the named unit's kind only that unit's.

    A name that none of the needed kinds knows leaves no seat at all: nobody else is offered in its place.
    """
    seats = {kind: premises.seats.get(kind, ()) for kind in service.needs}
    if named is None:
        return seats
    wanted = {kind: tuple(seat for seat in found if seat.unit.id == named) for kind, found in seats.items()}
    if not any(wanted.values()):
        return dict.fromkeys(service.needs, ())
    return {kind: wanted[kind] or found for kind, found in seats.items()}


def _served(picture: Picture, ask: AvailabilityAsk, taken: Taken, day: date, candidates: list[int]) -> list[int]:
    """The candidate starts at which every needed kind still has as many free seats as the service takes.

    A service that takes nothing is offered at no time: it would never be full.
    """
    if not ask.service.needs:
        return []
    for kind, seats in eligible_seats(picture.premises, ask.service, ask.named).items():
        free = [0] * len(candidates)
        for seat in seats:
            for room in rooms(picture.premises, seat, day, taken.get(seat.id, ())):
                if (fits := starts(ask.service, room)) is not None:
                    for index in range(bisect_left(candidates, fits.start), bisect_right(candidates, fits.end)):
                        free[index] += 1
        needed = ask.service.needs.count(kind)
        candidates = [start for start, count in zip(candidates, free, strict=True) if count >= needed]
    return candidates


def _slot(service: BookableService, start: int) -> FreeSlot:
    return FreeSlot(start, None if service.duration is None else start + length(service.duration))
