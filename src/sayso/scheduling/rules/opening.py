"""Opening hours and the slot grid: wall-clock rules turned into instants, one local day at a time.

Hours are what the clock on the host's wall says, so a day is never "the day before plus 24 hours" (SCH-277, SCH-278).
Where the clock jumps (SCH-280):

- an hour that does not exist is read with the offset before the jump, as RFC 5545 3.3.5 reads one, so an opening at
  02:30 on the spring day starts at what the wall then calls 03:30; a closing that ends up at or before its opening
  leaves no opening;
- an hour that happens twice opens at its first and closes at its second occurrence: the host is there for both;
- slots stand on the grid of the wall clock (`slot_step` after local midnight, SCH-116), so one that does not exist is
  not offered and one that happens twice is offered twice, told apart by its offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from sayso.core.refusal import Misuse
from sayso.scheduling.rules.premises import DayHours
from sayso.scheduling.rules.spans import SECOND, Span, instant

__all__ = ("day_span", "grid", "is_on_grid", "local_date", "local_dates", "openings")

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_DAY_SECONDS = 86_400
_ONE_DAY = timedelta(days=1)


@lru_cache(maxsize=4096)
def day_span(day: date, zone: ZoneInfo) -> Span:
    """From local midnight to the next one: 23, 24 or 25 hours."""
    return Span(_at(day, 0, zone, fold=0), _at(day + _ONE_DAY, 0, zone, fold=0))


def local_date(moment: int, zone: ZoneInfo) -> date:
    """The date that the wall clock shows at an instant."""
    return instant(moment).astimezone(zone).date()


def local_dates(span: Span, zone: ZoneInfo) -> Iterator[date]:
    """The local dates that a span touches, in order; an empty span touches none."""
    if span.end <= span.start:
        return
    day, last = local_date(span.start, zone), local_date(span.end - 1, zone)
    while day <= last:
        yield day
        day += _ONE_DAY


@lru_cache(maxsize=16_384)
def openings(hours: DayHours, day: date, zone: ZoneInfo) -> tuple[Span, ...]:
    """The openings of one local day as instants, in order. Remembered: every request of a day asks again."""
    spans = (
        Span(_at(day, opens * 60, zone, fold=0), _at(day, closes * 60, zone, fold=_later(day, closes, zone)))
        for opens, closes in hours
    )
    return tuple(span for span in spans if span.start < span.end)


def grid(day: date, zone: ZoneInfo, step: timedelta) -> list[int]:
    """Every instant of a local day at which the wall clock stands on the grid, in order."""
    step_seconds = _whole_seconds(step)
    today = day_span(day, zone)
    if today.end - today.start == _DAY_SECONDS * SECOND and _steady(day, zone):
        return list(range(today.start, today.end, step_seconds * SECOND))
    found: set[int] = set()
    for second in range(0, _DAY_SECONDS, step_seconds):
        before, after = _offset(day, second, zone, 0), _offset(day, second, zone, 1)
        if before < after:
            continue  # the clock jumps over it
        found.update((_on(day, second, before), _on(day, second, after)))
    return sorted(found)


def is_on_grid(start: int, zone: ZoneInfo, step: timedelta) -> bool:
    """Whether an instant is one of the grid's: what `grid` lists, asked of one value."""
    local = instant(start).astimezone(zone)
    seconds = local.hour * 3600 + local.minute * 60 + local.second
    return local.microsecond == 0 and seconds % _whole_seconds(step) == 0


def _at(day: date, second: int, zone: ZoneInfo, *, fold: int) -> int:
    """The instant of a wall-clock second of `day`; second 86,400 is the next midnight."""
    if second >= _DAY_SECONDS:
        return _at(day + _ONE_DAY, second - _DAY_SECONDS, zone, fold=fold)
    return _on(day, second, _offset(day, second, zone, fold))


def _later(day: date, minute: int, zone: ZoneInfo) -> int:
    """The fold to close with: 1 where the wall clock shows the closing time twice, 0 where it is skipped or plain."""
    if minute * 60 >= _DAY_SECONDS:
        return 0
    return int(_offset(day, minute * 60, zone, 0) > _offset(day, minute * 60, zone, 1))


def _on(day: date, second: int, offset: int) -> int:
    return ((day.toordinal() - _EPOCH_ORDINAL) * _DAY_SECONDS + second - offset) * SECOND


def _offset(day: date, second: int, zone: ZoneInfo, fold: int) -> int:
    wall = datetime(
        day.year, day.month, day.day, second // 3600, second // 60 % 60, second % 60, tzinfo=zone, fold=fold
    )
    offset = wall.utcoffset()
    if offset is None:
        raise Misuse("a zone gives every wall-clock time an offset")
    return offset.days * _DAY_SECONDS + offset.seconds


def _steady(day: date, zone: ZoneInfo) -> bool:
    """Whether the offset is the same at both ends and in the middle: no zone jumps twice within half a day."""
    return len({_offset(day, second, zone, 0) for second in (0, _DAY_SECONDS // 2, _DAY_SECONDS - 1)}) == 1


@lru_cache(maxsize=256)
def _whole_seconds(step: timedelta) -> int:
    seconds = int(step.total_seconds())
    if seconds <= 0 or timedelta(seconds=seconds) != step:
        raise Misuse("a slot step is a positive number of whole seconds")
    return seconds
