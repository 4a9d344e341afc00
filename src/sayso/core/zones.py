"""Time zones by their exact IANA names, and local times turned into instants (SCH-276, SCH-280).

Zones are read from the `tzdata` package alone, so every machine has the same rules and can name their version. Only
names in its list count, case included: the library would also take `localtime`, `right/UTC` and whatever file lies on
the machine. `Factory`, the list's own word for "not set", is no zone.

Decided for SCH-280: a local time that a clock change skips is refused, never shifted; one that happens twice means the
first, unless the caller asks for the second. All arithmetic is done in UTC, because subtracting two local times of one
zone ignores what lies between them.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo

import tzdata  # type: ignore[import-untyped]  # one constant of it is used

from sayso.core.refusal import Refused

__all__ = ("ZONE_RULES_VERSION", "at_local", "find_zone", "zone_names")

ZONE_RULES_VERSION: str = tzdata.IANA_VERSION
"""The IANA release of the rules in force, such as `2026f`."""

_NOT_ZONES = frozenset(("Factory",))


@cache
def zone_names() -> frozenset[str]:
    """Every name that `find_zone` knows."""
    listed = files("tzdata").joinpath("zones").read_text(encoding="ascii").split()
    return frozenset(listed) - _NOT_ZONES


def find_zone(name: str) -> ZoneInfo:
    """Raises `Refused("unknown_zone")` unless `name` is in the IANA list, letter for letter."""
    if name not in zone_names():
        raise Refused.because("unknown_zone", "this is no time zone of the IANA list, such as America/Toronto")
    return _load(name)


def at_local(day: date, clock_time: time, zone: ZoneInfo, *, second: bool = False) -> datetime:
    """The instant, in UTC, at which clocks in `zone` show this day and time.

    Raises `Refused("nonexistent_local_time")` for a time that a clock change skips. Of a time that happens twice it
    gives the first, or the later one if `second`.
    """
    wall = datetime.combine(day, clock_time.replace(tzinfo=None))
    try:
        instant = wall.replace(tzinfo=zone, fold=int(second)).astimezone(UTC)
        shown = instant.astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        raise Refused.because("nonexistent_local_time", "this time is outside the calendar") from None
    if shown != wall:
        message = f"clocks in {zone.key} skip {wall.isoformat(sep=' ', timespec='minutes')}"
        raise Refused.because("nonexistent_local_time", message)
    return instant


@cache
def _load(name: str) -> ZoneInfo:
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as rules:
        return ZoneInfo.from_file(rules, key=name)
