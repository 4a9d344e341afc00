"""A small shop for tests of the rules: two bays and two technicians on weekdays, one of each on Saturday."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sayso.core.money import Money
from sayso.core.zones import find_zone
from sayso.scheduling.rules.opening import day_span
from sayso.scheduling.rules.picture import Busy, Picture
from sayso.scheduling.rules.premises import BookableService, BookableUnit, Premises
from sayso.scheduling.rules.spans import Span, micros
from sayso.scheduling.terms.discovery import Tax

WEEKDAY = ((8 * 60, 18 * 60),)
SATURDAY = ((9 * 60, 16 * 60),)
CLOSED = ()
SIX_DAYS = (WEEKDAY, WEEKDAY, WEEKDAY, WEEKDAY, WEEKDAY, SATURDAY, CLOSED)
FIVE_DAYS = (WEEKDAY, WEEKDAY, WEEKDAY, WEEKDAY, WEEKDAY, CLOSED, CLOSED)
NOW = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)

OIL = BookableService(
    id="oil-change",
    title="Synthetic oil change",
    duration=timedelta(minutes=45),
    buffer=timedelta(minutes=15),
    needs=("bay", "technician"),
    price=Money(7900, "CAD"),
)
DIAGNOSIS = BookableService(id="brake-diagnosis", title="Brake diagnosis", duration=None, needs=("bay",))

UNITS = (
    BookableUnit("bay-1", "bay", SIX_DAYS),
    BookableUnit("bay-2", "bay", FIVE_DAYS),
    BookableUnit("alex", "technician", SIX_DAYS, name="Alex"),
    BookableUnit("robin", "technician", FIVE_DAYS, name="Robin"),
)


def premises(zone="America/Toronto", units=UNITS, services=(OIL, DIAGNOSIS), **more):
    return Premises(
        zone=find_zone(zone),
        units=units,
        services={service.id: service for service in services},
        taxes=(Tax(title="HST 13%", basis_points=1300),),
        **more,
    )


def at(text: str) -> int:
    return micros(datetime.fromisoformat(text))


def day_picture(day: str, *busy: Busy, of: Premises | None = None) -> Picture:
    shop = of or premises()
    return Picture(shop, day_span(datetime.fromisoformat(day).date(), shop.zone), busy)


def window(start: str, end: str) -> Span:
    return Span(at(start), at(end))
