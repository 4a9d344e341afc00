"""What is taken, as one query of one transaction read it, and where a service would still fit.

The picture is the only thing availability and allocation know about other bookings. It holds rows of every kind that
occupies time (holds, bookings, change offers and whatever comes later), told apart by `family` alone: the first hold
of a booking. A booking's own change may overlap the booking itself, nothing else may (SCH-120, SCH-126).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from sayso.scheduling.rules.opening import openings
from sayso.scheduling.rules.premises import BookableService, Premises, Seat
from sayso.scheduling.rules.spans import DAY, Span, gaps, length

__all__ = ("Busy", "Picture", "Room", "Taken", "rooms", "starts")

Taken = Mapping[str, list[Span]]
"""The taken spans of each seat, sorted by start."""


class Busy(NamedTuple):
    """One stored allocation: a seat, a stretch of time, the booking family it belongs to, and who asked for it: an
    `agent`, or `people` at the counter or on the telephone.
    """

    seat: str
    start: int
    end: int
    family: str
    origin: str = "agent"


@dataclass(frozen=True)
class Picture:
    """The premises and everything taken between the ends of `covers`; outside `covers` it knows nothing."""

    premises: Premises
    covers: Span
    busy: tuple[Busy, ...] = field(default=())

    def taken(self, *, ignoring: str | None = None) -> Taken:
        """The taken spans of each seat, sorted by start, without those of the family `ignoring`."""
        found: dict[str, list[Span]] = {}
        for seat, start, end, family, _ in self.busy:
            if family != ignoring:
                found.setdefault(seat, []).append(Span(start, end))
        for spans in found.values():
            spans.sort()
        return found


@dataclass(frozen=True, slots=True)
class Room:
    """Free time on one seat: the gap itself and the closing time of the opening it lies in.

    `gap.end` may lie past `closes`, because a buffer may run past closing; the service itself may not.
    """

    gap: Span
    closes: int


_PAST_CLOSING = DAY
"""How far past closing the next allocation is looked for: no buffer is longer."""


def rooms(premises: Premises, seat: Seat, day: date, taken: Sequence[Span]) -> list[Room]:
    """The free time of a seat on one local day, in order."""
    found = []
    for opening in openings(seat.hours(day.weekday()), day, premises.zone):
        reach = Span(opening.start, opening.end + _PAST_CLOSING)
        found += [Room(gap, opening.end) for gap in gaps(reach, taken) if gap.start < opening.end]
    return found


def starts(service: BookableService, room: Room) -> Span | None:
    """The earliest and the latest start (both possible) that a service may have in a room, or None.

    Fixed length: it ends by closing, and with its buffer before the next allocation. Open-ended: the same with
    `set_aside`, or, without one, any start from which the seat stays free until closing.
    """
    kept = service.duration if service.duration is not None else service.set_aside
    buffer = length(service.buffer)
    if kept is None:
        stays_free = room.gap.end >= room.closes + buffer
        return Span(room.gap.start, room.closes - 1) if stays_free else None
    latest = min(room.closes - length(kept), room.gap.end - length(kept) - buffer)
    return Span(room.gap.start, latest) if latest >= room.gap.start else None
