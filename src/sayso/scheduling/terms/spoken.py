"""Instants, periods, amounts and zones in the everyday words of consent texts (spec section 15.5).

SCH-169, SCH-172, SCH-173.

English, with tables of our own, so that no machine's locale changes a text that somebody signs. A local time that
happens twice is told apart by its offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sayso.core.durations import parse_duration
from sayso.core.money import Money, write_money

__all__ = (
    "SPOKEN_ZONES",
    "either",
    "spoken_clock",
    "spoken_day",
    "spoken_money",
    "spoken_period",
    "spoken_span",
    "spoken_zone",
)

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

_COMMON_NAMES = {
    "Newfoundland time": ("America/St_Johns",),
    "Atlantic time": ("America/Halifax", "America/Moncton", "America/Glace_Bay", "America/Goose_Bay"),
    "Eastern time": (
        "America/Toronto", "America/New_York", "America/Detroit", "America/Iqaluit",
        "America/Indiana/Indianapolis", "America/Kentucky/Louisville", "America/Nassau",
    ),
    "Central time": (
        "America/Chicago", "America/Winnipeg", "America/Regina", "America/Menominee", "America/Indiana/Knox",
    ),
    "Mountain time": ("America/Denver", "America/Edmonton", "America/Boise", "America/Yellowknife"),
    "Arizona time": ("America/Phoenix",),
    "Yukon time": ("America/Whitehorse",),
    "Pacific time": ("America/Los_Angeles", "America/Vancouver", "America/Tijuana"),
    "Alaska time": ("America/Anchorage", "America/Juneau"),
    "Hawaii time": ("Pacific/Honolulu",),
    "UK time": ("Europe/London",),
    "Irish time": ("Europe/Dublin",),
    "Western European time": ("Europe/Lisbon",),
    "Central European time": (
        "Europe/Amsterdam", "Europe/Berlin", "Europe/Brussels", "Europe/Copenhagen", "Europe/Madrid", "Europe/Oslo",
        "Europe/Paris", "Europe/Prague", "Europe/Rome", "Europe/Stockholm", "Europe/Vienna", "Europe/Warsaw",
        "Europe/Zurich",
    ),
    "Eastern European time": ("Europe/Athens", "Europe/Bucharest", "Europe/Helsinki", "Europe/Kyiv", "Europe/Sofia"),
    "Moscow time": ("Europe/Moscow",),
    "India time": ("Asia/Kolkata",),
    "China time": ("Asia/Shanghai",),
    "Japan time": ("Asia/Tokyo",),
    "Korea time": ("Asia/Seoul",),
    "Eastern Australian time": ("Australia/Sydney", "Australia/Melbourne", "Australia/Hobart"),
    "New Zealand time": ("Pacific/Auckland",),
    "UTC": ("UTC", "Etc/UTC"),
}  # fmt: skip

SPOKEN_ZONES = {zone: name for name, zones in _COMMON_NAMES.items() for zone in zones}
"""IANA name to the name people use. A zone that is not here is called by its city: `Asia/Dubai` is `Dubai time`."""


def spoken_zone(name: str) -> str:
    """`Eastern time` for `America/Toronto`; the city's time where no name is common."""
    return SPOKEN_ZONES.get(name) or f"{name.rpartition('/')[2].replace('_', ' ')} time"


def spoken_day(instant: datetime, zone: ZoneInfo) -> str:
    """`Thursday 15 October 2026` in that zone."""
    day = instant.astimezone(zone)
    return f"{_WEEKDAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]} {day.year}"


def spoken_clock(instant: datetime, zone: ZoneInfo) -> str:
    """`1:00 p.m.`; noon is `12:00 p.m.`. With its offset when clocks show that time twice on that day."""
    local = instant.astimezone(zone)
    hour = local.hour % 12 or 12
    half = "a.m." if local.hour < 12 else "p.m."
    seconds = f":{local.second:02d}" if local.second else ""
    text = f"{hour}:{local.minute:02d}{seconds} {half}"
    return f"{text} ({_offset(local)})" if _is_repeated(local, zone) else text


def _is_repeated(local: datetime, zone: ZoneInfo) -> bool:
    wall = local.replace(tzinfo=None)
    first, second = wall.replace(tzinfo=zone, fold=0), wall.replace(tzinfo=zone, fold=1)
    before, after = first.utcoffset(), second.utcoffset()
    return before is not None and after is not None and before > after


def _offset(local: datetime) -> str:
    offset = local.utcoffset() or timedelta(0)
    sign, size = ("-", -offset) if offset < timedelta(0) else ("+", offset)
    hours, rest = divmod(size, timedelta(hours=1))
    return f"UTC{sign}{hours:02d}:{rest // timedelta(minutes=1):02d}"


def spoken_span(
    start: datetime, end: datetime | None, zone: ZoneInfo, *, joint: tuple[str, str] = ("from", "to")
) -> str:
    """`Thursday 15 October 2026 from 1:00 p.m. to 1:45 p.m. Eastern time`; an open end is said to be open.

    `joint` are the two words in between: ("between", "and") for a window of time.
    """
    first, last = joint
    begins = f"{spoken_day(start, zone)} {first} {spoken_clock(start, zone)}"
    zone_name = spoken_zone(zone.key)
    if end is None:
        return f"{begins} {zone_name}, open-ended"
    day = "" if spoken_day(start, zone) == spoken_day(end, zone) else f"{spoken_day(end, zone)} at "
    if day:
        begins = f"{first} {spoken_day(start, zone)} at {spoken_clock(start, zone)}"
    return f"{begins} {last} {day}{spoken_clock(end, zone)} {zone_name}"


def spoken_money(money: Money) -> str:
    """`CAD 89.27`."""
    text = write_money(money)
    return f"{text.currency} {text.amount}"


def spoken_period(duration: str) -> str:
    """A length of time in one unit where one fits: P365D is 1 year, P730D 2 years, P60D 60 days, PT2H 2 hours."""
    length = parse_duration(duration)
    year, day = timedelta(days=365), timedelta(days=1)
    for unit, name in ((year, "year"), (day, "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute")):
        if length >= unit and not length % unit:
            count = length // unit
            return f"{count} {name}" if count == 1 else f"{count} {name}s"
    return _mixed(length)


def _mixed(length: timedelta) -> str:
    parts = []
    for unit, name in (
        (timedelta(days=1), "day"),
        (timedelta(hours=1), "hour"),
        (timedelta(minutes=1), "minute"),
        (timedelta(seconds=1), "second"),
    ):
        count, length = divmod(length, unit)
        if count:
            parts.append(f"{count} {name}" if count == 1 else f"{count} {name}s")
    return either(parts, "and") if parts else "no time"


def either(names: Sequence[str], word: str = "or") -> str:
    """`a`, `a or b`, `a, b or c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"
