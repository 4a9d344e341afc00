"""Stretches of time as integers: microseconds since the epoch, half-open.

Integers compare, sort and index without a zone, and they are what the store keeps, so a picture of a day is read and
judged without building a single datetime. Only this module and `opening` turn them into other shapes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

__all__ = ("DAY", "SECOND", "Span", "gaps", "instant", "length", "micros", "overlaps", "pieces")

SECOND = 1_000_000
DAY = 86_400 * SECOND
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Span(NamedTuple):
    """From `start` up to, not including, `end`: two appointments that touch do not overlap."""

    start: int
    end: int


def micros(moment: datetime) -> int:
    """Microseconds since the epoch of an aware datetime, without a detour through floating point."""
    return (moment - _EPOCH) // _MICROSECOND


def instant(value: int) -> datetime:
    """The UTC datetime `value` microseconds after the epoch."""
    return _EPOCH + timedelta(microseconds=value)


def length(duration: timedelta) -> int:
    """A duration in microseconds."""
    return duration // _MICROSECOND


def overlaps(one: Span, other: Span) -> bool:
    """Whether the two share any instant; an empty span shares none."""
    return max(one.start, other.start) < min(one.end, other.end)


def pieces(span: Span, most: int = DAY) -> list[Span]:
    """Cuts a span into consecutive pieces of at most `most`.

    No stored row is longer than a day, so that one index range, from a day before a window to its end, holds every row
    that could overlap the window, however many bookings lie outside it.
    """
    cuts = range(span.start, span.end, most)
    return [Span(start, min(start + most, span.end)) for start in cuts]


def gaps(within: Span, taken: Iterable[Span]) -> list[Span]:
    """What is left of `within` once every span of `taken` (sorted by start, possibly overlapping) is removed."""
    left: list[Span] = []
    cursor = within.start
    for start, end in taken:
        if start >= within.end:
            break
        if start > cursor:
            left.append(Span(cursor, start))
        if end > cursor:
            cursor = end
    if cursor < within.end:
        left.append(Span(cursor, within.end))
    return left
