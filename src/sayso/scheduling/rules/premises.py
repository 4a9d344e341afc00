"""What a host declares that decides which time it can give: its units, their hours, its services and the grid.

A unit is one thing or person that an appointment occupies (a bay, a chair, a technician). A unit with a capacity above
one is several seats; an allocation always takes whole seats, so "taken twice" has one meaning everywhere (SCH-125).
Protocol 0.4 section 5.1 and SCH-030, SCH-112, SCH-116, SCH-119, SCH-128.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Literal
from zoneinfo import ZoneInfo

from sayso.core.money import Money
from sayso.scheduling.terms.discovery import ServiceArea, Tax

__all__ = (
    "BookableService",
    "BookableUnit",
    "DayHours",
    "Premises",
    "ReleaseSchedule",
    "Seat",
    "WalkInReserve",
    "Week",
)

DayHours = tuple[tuple[int, int], ...]
"""Openings of one weekday as (from, to) in minutes after local midnight; `to` may be 1440."""

Week = tuple[DayHours, DayHours, DayHours, DayHours, DayHours, DayHours, DayHours]
"""Monday first. A day without openings is closed."""


@dataclass(frozen=True, slots=True)
class BookableUnit:
    """One bay, chair, room or person. `name` is what people call it and goes into offers as `resource_name`.

    `capacity` is the most seats it ever has; `seats_on` says how many of them there are on each weekday, Monday first,
    where that differs.
    """

    id: str
    kind: str
    week: Week
    name: str | None = None
    capacity: int = 1
    seats_on: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Seat:
    """One place of a unit: the thing that no two allocations may take at once. Of several it is the `number`-th."""

    id: str
    unit: BookableUnit
    number: int = 1

    def hours(self, weekday: int) -> DayHours:
        """Its openings on a weekday: the unit's, if the unit has that many seats then."""
        seats_on = self.unit.seats_on
        return self.unit.week[weekday] if seats_on is None or self.number <= seats_on[weekday] else ()


@dataclass(frozen=True, slots=True)
class ReleaseSchedule:
    """A day opens as a whole, `days_ahead` days before it, `minute` minutes after local midnight (SCH-147)."""

    days_ahead: int
    minute: int


@dataclass(frozen=True, slots=True)
class WalkInReserve:
    """How many units of a kind agents never occupy at once on these weekdays, 0 being Monday (SCH-146)."""

    kind: str
    keep: int
    weekdays: frozenset[int]


@dataclass(frozen=True, slots=True)
class BookableService:
    """Something a guest can book. `duration` None means an agreed start and no agreed end (SCH-254): then `set_aside`
    is kept free, or, where that is None too, the time until the first of the units taken closes.

    `needs` lists unit kinds, one entry per unit taken. `buffer` follows the service and may run past closing (SCH-129).
    `choose_from` are the units a guest may ask for by name.
    """

    id: str
    title: str
    duration: timedelta | None
    needs: tuple[str, ...]
    buffer: timedelta = timedelta(0)
    set_aside: timedelta | None = None
    price: Money | None = None
    location: Literal["host", "guest", "elsewhere"] = "host"
    choose_from: tuple[str, ...] = ()
    returning_only: bool = False
    areas: tuple[ServiceArea, ...] = ()


@dataclass(frozen=True)
class Premises:
    """Everything the allocator may know about a host apart from what is already taken."""

    zone: ZoneInfo
    units: tuple[BookableUnit, ...]
    services: Mapping[str, BookableService]
    slot_step: timedelta = timedelta(minutes=15)
    horizon: timedelta = timedelta(days=60)
    taxes: tuple[Tax, ...] = ()
    release: ReleaseSchedule | None = None
    reserves: tuple[WalkInReserve, ...] = ()

    @cached_property
    def seats(self) -> Mapping[str, tuple[Seat, ...]]:
        """The seats of each unit kind, in the order of their ids: the order in which ties are settled (SCH-130)."""
        found: dict[str, list[Seat]] = {}
        for unit in self.units:
            named = [unit.id] if unit.capacity == 1 else [f"{unit.id}/{n}" for n in range(1, unit.capacity + 1)]
            found.setdefault(unit.kind, []).extend(Seat(name, unit, n) for n, name in enumerate(named, 1))
        return {kind: tuple(sorted(seats, key=lambda seat: seat.id)) for kind, seats in found.items()}
