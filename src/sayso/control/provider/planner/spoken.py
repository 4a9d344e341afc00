"""How the planner words days, times, money and lists: as the consent texts do, so that a person reads one style."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal

from sayso.control.provider.planner.language.understood import TimeWindow

__all__ = ("sentence", "spoken_amount", "spoken_day", "spoken_list", "spoken_moment", "spoken_time", "spoken_window")

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December")  # fmt: skip


def spoken_day(day: date) -> str:
    """`Thursday 15 October`; the year is said by the texts that are signed."""
    return f"{_WEEKDAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]}"


def spoken_time(clock: time) -> str:
    """`1:00 p.m.`."""
    return f"{clock.hour % 12 or 12}:{clock.minute:02d} {'a.m.' if clock.hour < 12 else 'p.m.'}"


def spoken_moment(moment: datetime) -> str:
    """`Thursday 15 October at 1:00 p.m.`, by the moment's own clock."""
    return f"{spoken_day(moment.date())} at {spoken_time(moment.time())}"


def spoken_window(window: TimeWindow) -> str:
    """`at 1:00 p.m.`, `around 1:00 p.m.`, `after 3:00 p.m.`; empty for any time."""
    if window.near:
        return f"around {spoken_time(window.near)}"
    if window.earliest and window.earliest == window.latest:
        return f"at {spoken_time(window.earliest)}"
    if window.earliest and window.latest:
        return f"between {spoken_time(window.earliest)} and {spoken_time(window.latest)}"
    if window.earliest:
        return f"from {spoken_time(window.earliest)} on"
    return f"until {spoken_time(window.latest)}" if window.latest else ""


def spoken_amount(amount: Decimal, currency: str | None) -> str:
    """`CAD 89.27`, `$ 100`."""
    return f"{currency} {amount:f}" if currency else f"{amount:f}"


def sentence(text: str) -> str:
    """The text with the full stop it lacks; "1:00 p.m." at its end has one already."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def spoken_list(items: Sequence[str], joint: str = "or") -> str:
    """`a, b or c`."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {joint} {items[-1]}"
