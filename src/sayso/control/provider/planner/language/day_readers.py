"""What a few words that name days mean, counted from today: one reader for each shape that `day_atoms` recognises.

Where the words have two readings both days are given with `Problem.WHICH_DAY`; where the calendar has no such day, none
is given with `Problem.IMPOSSIBLE`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

from sayso.control.provider.planner.language.calendar_words import (
    day_of_month,
    month_days,
    month_number,
    nearest,
    safe_date,
    span,
    week_of,
    weekday_number,
)
from sayso.control.provider.planner.language.numbers import read_number, read_ordinal
from sayso.control.provider.planner.language.understood import Problem

__all__ = (
    "DayAtom",
    "read_ago",
    "read_coming_days",
    "read_days_on",
    "read_half_month",
    "read_iso",
    "read_last_weekday",
    "read_month",
    "read_named",
    "read_named_range",
    "read_next_weekday",
    "read_nth_weekday",
    "read_numbered",
    "read_recurring",
    "read_slashed",
    "read_this_weekday",
    "read_today",
    "read_tomorrow",
    "read_week",
    "read_weekday",
    "read_weekday_after_next",
    "read_weekdays",
    "read_weekend",
    "read_yesterday",
)

# Farther ahead nobody books; it also keeps the arithmetic inside the calendar.
_MOST_DAYS = 800


@dataclass(frozen=True, slots=True)
class DayAtom:
    """Days that a few words name.

    `weekdays` is set where only days of the week were named, so that a week or month beside them can say which ones
    (Monday is 0); `problem` tells what is wrong or open.
    """

    dates: tuple[date, ...]
    weekdays: frozenset[int] = frozenset()
    problem: Problem | None = None


_IMPOSSIBLE = DayAtom((), problem=Problem.IMPOSSIBLE)


def _one(day: date | None) -> DayAtom:
    return DayAtom((day,)) if day else _IMPOSSIBLE


def _number(text: str) -> int:
    return int(text) if text.isdigit() else read_ordinal(text)


def read_iso(match: re.Match[str], today: date) -> DayAtom:
    return _one(safe_date(int(match[1]), int(match[2]), int(match[3])))


def read_named(match: re.Match[str], today: date) -> DayAtom:
    month, day = month_number(match["month"]), _number(match["day"])
    if match["year"]:
        return _one(safe_date(int(match["year"]), month, day))
    return _one(nearest(month, day, today))


def read_slashed(match: re.Match[str], today: date) -> DayAtom | None:
    first, second = int(match[1]), int(match[2])
    if first > 31 or second > 31 or (first, second) == (24, 7):
        return None
    year = int(match[3]) if match[3] else None
    year = year + 2000 if year is not None and year < 100 else year
    pairs = {(first, second), (second, first)}
    found = [safe_date(year, m, d) if year else nearest(m, d, today) for m, d in pairs if 1 <= m <= 12]
    days = sorted(d for d in found if d)
    days = [d for d in days if d >= today] or days[:1]
    if not days:
        return _IMPOSSIBLE
    return DayAtom(tuple(days), problem=Problem.WHICH_DAY if len(days) > 1 else None)


def read_numbered(match: re.Match[str], today: date) -> DayAtom:
    return _one(day_of_month(_number(match["day"]), today))


def read_weekday(match: re.Match[str], today: date) -> DayAtom:
    number = weekday_number(match["weekday"])
    day = today + timedelta(days=(number - today.weekday()) % 7)
    if day == today:
        return DayAtom((day, day + timedelta(weeks=1)), frozenset((number,)), Problem.WHICH_DAY)
    return DayAtom((day,), frozenset((number,)))


def read_this_weekday(match: re.Match[str], today: date) -> DayAtom:
    return DayAtom((read_weekday(match, today).dates[0],))


def read_next_weekday(match: re.Match[str], today: date) -> DayAtom:
    number = weekday_number(match["weekday"])
    later = week_of(today, 1)[number]
    sooner = today + timedelta(days=(number - today.weekday()) % 7)
    if sooner in (today, later):
        return DayAtom((later,))
    return DayAtom((sooner, later), problem=Problem.WHICH_DAY)


def read_weekday_after_next(match: re.Match[str], today: date) -> DayAtom:
    return DayAtom((week_of(today, 2)[weekday_number(match["weekday"])],))


def read_last_weekday(match: re.Match[str], today: date) -> DayAtom:
    number = weekday_number(match["weekday"])
    return DayAtom((today - timedelta(days=(today.weekday() - number) % 7 or 7),))


def read_nth_weekday(match: re.Match[str], today: date) -> DayAtom:
    number = weekday_number(match["weekday"])
    month = _month(match["span"], today)
    days = [day for day in month if day.weekday() == number]
    if match["nth"] == "last":
        return _one(days[-1])
    position = read_ordinal(match["nth"])
    return _one(days[position - 1] if position <= len(days) else None)


def _month(words: str, today: date) -> tuple[date, ...]:
    """The days of "november", "next month", "the month"."""
    if words.endswith("month"):
        return month_days(today.year, today.month + (1 if words.startswith("next") else 0))
    number = month_number(words)
    return month_days(today.year + (1 if number < today.month else 0), number)


def read_days_on(match: re.Match[str], today: date) -> DayAtom:
    """Reads "in 3 days", "two weeks from tomorrow", "Thursday week"."""
    start = today
    origin = match["origin"]
    if origin == "tomorrow":
        start = today + timedelta(days=1)
    elif origin and origin not in ("now", "today"):
        start = today + timedelta(days=(weekday_number(origin) - today.weekday()) % 7)
    return _after(start, read_number(match["count"] or "a"), match["unit"])


def _after(start: date, count: int, unit: str) -> DayAtom:
    if unit == "month":
        years, index = divmod(start.month - 1 + min(count, 36), 12)
        days = month_days(start.year + years, index + 1)
        return DayAtom((days[min(start.day, len(days)) - 1],))
    length = count * {"day": 1, "night": 1, "week": 7, "fortnight": 14}[unit]
    return DayAtom((start + timedelta(days=length),)) if length <= _MOST_DAYS else _IMPOSSIBLE


def read_coming_days(match: re.Match[str], today: date) -> DayAtom:
    """Reads "within 3 days", "in the next two weeks", "the next few days"."""
    last = _after(today, read_number(match["count"] or "a"), match["unit"])
    return DayAtom(span(today, last.dates[0])) if last.dates else _IMPOSSIBLE


def read_week(match: re.Match[str], today: date) -> DayAtom | None:
    """Reads "next week", "late this week", "the week after next"; only days that are still to come."""
    which, part = match["which"], match["part"]
    if which in ("the", "") and not part and not match["after"]:
        return None
    weeks = 2 if match["after"] else 0 if which in ("this", "the", "") else 1
    days = [day for day in week_of(today, weeks) if day >= today]
    if part in ("later", "rest of"):
        days = [day for day in days if day > today]
    elif part:
        first, last = {"early": (0, 1), "beginning of": (0, 1), "start of": (0, 1), "earlier": (0, 1), "mid": (1, 3),
                       "middle of": (1, 3), "late": (3, 4), "end of": (3, 4)}[part]  # fmt: skip
        days = [day for day in days if first <= day.weekday() <= last]
    return DayAtom(tuple(days))


def read_weekend(match: re.Match[str], today: date) -> DayAtom:
    """The weekend ahead, or "next weekend", of which there are two."""
    this, following = week_of(today)[5:], week_of(today, 1)[5:]
    if match["which"] == "next":
        return DayAtom(this + following, problem=Problem.WHICH_DAY)
    return DayAtom(tuple(day for day in this if day >= today))


def read_weekdays(match: re.Match[str], today: date) -> DayAtom:
    """Reads "on a weekday": Monday to Friday within the coming week."""
    days = tuple(day for day in span(today, today + timedelta(days=7)) if day.weekday() < 5)
    return DayAtom(days, frozenset(range(5)))


def read_month(match: re.Match[str], today: date) -> DayAtom | None:
    """Reads "next month", "in November", "the end of the month"."""
    part = match["part"]
    if match["span"] == "the month" and not part:
        return None
    days = _month(match["span"], today)
    if part:
        days = {"mid": days[10:20], "middle of": days[10:20], "late": days[20:], "later": days[20:],
                "rest of": days, "end of": days[-7:]}.get(part, days[:10])  # fmt: skip
    return DayAtom(tuple(day for day in days if day >= today))


def read_named_range(match: re.Match[str], today: date) -> DayAtom:
    """Reads "Oct 15-17", "15 to 17 October"."""
    month = month_number(match["month"])
    first, last = nearest(month, _number(match["day"]), today), nearest(month, _number(match["last"]), today)
    if not first or not last:
        return _IMPOSSIBLE
    return DayAtom(span(first, last)) if first <= last else DayAtom((), problem=Problem.CONTRADICTION)


def read_half_month(match: re.Match[str], today: date) -> DayAtom:
    """Reads "the second half of November"."""
    days = _month(match["span"], today)
    half = days[:15] if match["half"] == "first" else days[15:]
    return DayAtom(tuple(day for day in half if day >= today))


def read_ago(match: re.Match[str], today: date) -> DayAtom:
    """Reads "last week", "last month": gone by."""
    return DayAtom(span(today - timedelta(days=30 if "month" in match[0] else 7), today - timedelta(days=1)))


def read_today(match: re.Match[str], today: date) -> DayAtom:
    """Reads "today"."""
    return DayAtom((today,))


def read_tomorrow(match: re.Match[str], today: date) -> DayAtom:
    """Reads "tomorrow", "the day after tomorrow"."""
    return DayAtom((today + timedelta(days=2 if "after" in match[0] or match[0] == "overmorrow" else 1),))


def read_yesterday(match: re.Match[str], today: date) -> DayAtom:
    """Reads "yesterday", "the day before yesterday"."""
    return DayAtom((today - timedelta(days=2 if "before" in match[0] else 1),))


def read_recurring(match: re.Match[str], today: date) -> DayAtom:
    """Reads "every Thursday", "weekly"."""
    return DayAtom((), problem=Problem.RECURRING)
