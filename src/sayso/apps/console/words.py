"""Arguments, states and instants in words, for people who decide (GTW-060).

What an agent wrote is shown as what it is: a name, a colon and the value, each on a line of its own. Nothing is left
out, nothing is made to look like our own sentences, and what no font shows is shown as a question mark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec

__all__ = ("Said", "in_words", "lasting", "spoken")

_DEEPEST = 16


class Said(msgspec.Struct, frozen=True):
    """One line: how deep it stands, what it is called, and what it says."""

    depth: int
    label: str
    lines: tuple[str, ...]


def in_words(value: object) -> tuple[Said, ...]:
    """A JSON value as lines in its own order."""
    if isinstance(value, Mapping) and not value:
        return (Said(0, "nothing", ()),)
    return tuple(_lines("", value, 0))


def _lines(label: str, value: object, depth: int) -> Iterator[Said]:
    if isinstance(value, Mapping) and value and depth < _DEEPEST:
        if set(value) == {"amount", "currency"}:
            yield Said(depth, label, (f"{value['amount']} {value['currency']}",))
            return
        inner = depth
        if label:
            yield Said(depth, label, ())
            inner += 1
        for name, each in value.items():
            yield from _lines(_label(str(name)), each, inner)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes) and value and depth < _DEEPEST:
        if all(_is_plain(each) for each in value):
            yield Said(depth, label, (", ".join(_scalar(each) for each in value),))
            return
        for number, each in enumerate(value, 1):
            yield from _lines(f"{label} {number}".strip(), each, depth)
    else:
        yield Said(depth, label, tuple(_scalar(value).split("\n")))


def _is_plain(value: object) -> bool:
    """Whether commas between values of this kind leave no doubt where one ends."""
    return isinstance(value, int | float) or (isinstance(value, str) and not set(value) & set(",\n"))


def _label(name: str) -> str:
    return name.replace("_", " ").strip() or name


def _scalar(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping | list | tuple):
        return "nothing" if not value else str(value)
    return str(value)


def spoken(instant: datetime, zone: ZoneInfo) -> str:
    """`Tue 13 Oct 2026, 09:05:00 EDT`, where the person is."""
    return f"{instant.astimezone(zone):%a %-d %b %Y, %H:%M:%S %Z}"


def lasting(left: timedelta) -> str:
    """`in 3 h 5 min`, or `over`."""
    seconds = int(left.total_seconds())
    if seconds <= 0:
        return "over"
    if seconds < 60:
        return f"in {seconds} s"
    minutes = seconds // 60
    if minutes < 60:
        return f"in {minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"in {hours} h {minutes} min" if hours < 48 else f"in {hours // 24} days"
