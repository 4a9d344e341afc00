"""Who gets the time: one start, one answer (SCH-119..130, SCH-134).

`picture` is what one query read in the transaction that will also write the grant, and `now` is that transaction's one
reading of the clock, so the answer is as atomic as the transaction is. Caps, mandates and prices are judged before
this is called; here only time counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Literal

from sayso.scheduling.rules.availability import AvailabilityAsk, FreeSlot, availability, bookable_starts, eligible_seats
from sayso.scheduling.rules.opening import is_on_grid, local_date
from sayso.scheduling.rules.picture import Picture, Room, Taken, rooms, starts
from sayso.scheduling.rules.premises import BookableService, Seat
from sayso.scheduling.rules.reserve import out_of_reach
from sayso.scheduling.rules.spans import SECOND, length, micros

__all__ = ("AllocationAsk", "Granted", "NotFree", "allocate")

_ALTERNATIVES = 5
_JUST_NOW = 60 * SECOND
"""Whoever came a moment ago is put in as of when they came."""


@dataclass(frozen=True, slots=True)
class AllocationAsk:
    """One start of a service. `named` is the unit the guest insists on; `family` the booking being moved, whose own
    time counts as free; `prefer` the units it stands on now, taken again where they fit (SCH-130). What is kept back
    for walk-ins is kept back from agents alone.
    """

    service: BookableService
    start: int
    named: str | None = None
    family: str | None = None
    prefer: tuple[str, ...] = ()
    origin: Literal["agent", "people"] = "agent"


@dataclass(frozen=True, slots=True)
class Granted:
    """The seats taken. `until` is the end of the service or of the time set aside; the seats are occupied from `start`
    to `occupied_until`, which adds the buffer.
    """

    seats: tuple[Seat, ...]
    start: int
    until: int
    open_end: bool
    occupied_until: int


@dataclass(frozen=True, slots=True)
class NotFree:
    """The start cannot be given. `alternatives` are other starts the picture shows, nearest first. `is_offered` tells
    whether it could be given on an empty day: what hours, grid and horizon alone say, and no calendar gives away.
    """

    alternatives: tuple[FreeSlot, ...]
    is_offered: bool


def allocate(ask: AllocationAsk, picture: Picture, now: datetime) -> Granted | NotFree:
    """Grants the start on the seats that leave the least free time around it, or says what is free nearby."""
    may_start = _may_start(ask, picture, now)
    chosen = _chosen(ask, picture) if may_start else None
    if chosen is None:
        is_offered = may_start and _chosen(ask, replace(picture, busy=())) is not None
        return NotFree(_nearest(ask, picture, now), is_offered)
    closes = min(room.closes for _, room in chosen)
    kept = ask.service.duration if ask.service.duration is not None else ask.service.set_aside
    service_ends = closes if kept is None else ask.start + length(kept)
    return Granted(
        seats=tuple(seat for seat, _ in chosen),
        start=ask.start,
        until=service_ends,
        open_end=ask.service.duration is None,
        occupied_until=service_ends + length(ask.service.buffer),
    )


def _may_start(ask: AllocationAsk, picture: Picture, now: datetime) -> bool:
    """Grid, horizon and release schedule are for agents; whoever stands at the counter may sit down now."""
    if ask.origin == "people":
        return ask.start >= micros(now) - _JUST_NOW
    allowed = bookable_starts(picture, _around(ask, picture), now)
    return allowed.start <= ask.start <= allowed.end and is_on_grid(
        ask.start, picture.premises.zone, picture.premises.slot_step
    )


def _chosen(ask: AllocationAsk, picture: Picture) -> list[tuple[Seat, Room]] | None:
    """As many seats of each needed kind as the service takes, or None as soon as one kind has too few."""
    day = local_date(ask.start, picture.premises.zone)
    taken = picture.taken(ignoring=ask.family)
    if ask.origin == "agent":
        taken = out_of_reach(picture, ask.service, taken, day, ask.family)
    found: list[tuple[Seat, Room]] = []
    for kind, seats in eligible_seats(picture.premises, ask.service, ask.named).items():
        free = [(seat, room) for seat in seats for room in _free(ask, picture, seat, day, taken)]
        needed = ask.service.needs.count(kind)
        if len(free) < needed:
            return None
        found += sorted(free, key=lambda pair: _order(ask, *pair))[:needed]
    return found or None


def _free(ask: AllocationAsk, picture: Picture, seat: Seat, day: date, taken: Taken) -> list[Room]:
    """The one room of a seat in which the start is possible, or none. Invariant I-07: no seat is taken twice."""
    return [
        room
        for room in rooms(picture.premises, seat, day, taken.get(seat.id, ()))
        if room.gap.start <= ask.start < room.closes  # what no other room can pass, before its starts are reckoned
        and (fits := starts(ask.service, room)) is not None
        and fits.start <= ask.start <= fits.end
    ]


def _order(ask: AllocationAsk, seat: Seat, room: Room) -> tuple[bool, int, str]:
    """SCH-130: the units it already stands on, then the tightest fit, then the lowest id."""
    return seat.unit.id not in ask.prefer, min(room.gap.end, room.closes) - room.gap.start, seat.id


def _around(ask: AllocationAsk, picture: Picture) -> AvailabilityAsk:
    return AvailabilityAsk(ask.service, picture.covers, ask.named, ask.family)


def _nearest(ask: AllocationAsk, picture: Picture, now: datetime) -> tuple[FreeSlot, ...]:
    slots = availability(picture, _around(ask, picture), now)
    nearest = sorted((slot for slot in slots if slot.start != ask.start), key=lambda slot: abs(slot.start - ask.start))
    return tuple(nearest[:_ALTERNATIVES])
