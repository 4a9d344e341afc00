"""The calendar as people name it: weekdays, months and dates as patterns, and the arithmetic behind them.

Weeks run Monday to Sunday. A day and month without a year is the nearest such date, in either direction: what has just
gone by is said to be past, and is not taken for next year's.
"""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta

from sayso.control.provider.planner.language.numbers import ORDINAL

__all__ = (
    "DAY_NUMBER",
    "MONTH",
    "WEEKDAY",
    "day_of_month",
    "month_days",
    "month_number",
    "nearest",
    "safe_date",
    "span",
    "week_of",
    "weekday_number",
)

_WEEKDAYS = (
    r"mon(?:day)?|mondays",
    r"tue(?:s|sday)?|tuesdays|teusday|tuseday",
    r"wed(?:s|nes|nesday)?|wednesdays|wensday|wednsday|wendsday|wednesay",
    r"thu(?:r|rs|rsday)?|thursdays|thrusday|thurday|thusday|thursay",
    r"fri(?:day)?|fridays|firday|frday",
    r"sat(?:urday)?|saturdays|saterday|satuday",
    r"sun(?:day)?|sundays",
)
_MONTHS = ("jan(?:uary)?", "feb(?:r?uary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?", "aug(?:ust)?",
           "sept?(?:ember)?", "oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?")  # fmt: skip

WEEKDAY = rf"\b(?:{'|'.join(_WEEKDAYS)})\b\.?"
MONTH = rf"\b(?:{'|'.join(_MONTHS)})\b\.?"
DAY_NUMBER = rf"(?:{ORDINAL}|[0-9]{{1,2}})"


def weekday_number(word: str) -> int:
    """Monday is 0."""
    return next(i for i, pattern in enumerate(_WEEKDAYS) if re.fullmatch(pattern, word.rstrip(".")))


def month_number(word: str) -> int:
    """January is 1."""
    return next(i for i, pattern in enumerate(_MONTHS, 1) if re.fullmatch(pattern, word.rstrip(".")))


def safe_date(year: int, month: int, day: int) -> date | None:
    """The date, or None where the calendar has none."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def nearest(month: int, day: int, today: date) -> date | None:
    """The date of that name nearest to today; None where no year has it."""
    found = [safe_date(year, month, day) for year in range(today.year - 1, today.year + 2)]
    return min((d for d in found if d), key=lambda d: (abs(d - today), d < today), default=None)


def day_of_month(day: int, today: date) -> date | None:
    """Reads "the 15th": the next day of that number, today included; None above 31."""
    for months in range(12):
        year, month = divmod(today.month - 1 + months, 12)
        found = safe_date(today.year + year, month + 1, day)
        if found and found >= today:
            return found
    return None


def span(first: date, last: date) -> tuple[date, ...]:
    """Every day from first to last, both included."""
    return tuple(first + timedelta(days=n) for n in range((last - first).days + 1))


def week_of(day: date, weeks: int = 0) -> tuple[date, ...]:
    """Monday to Sunday of the week that holds the day, or of one `weeks` later."""
    monday = day - timedelta(days=day.weekday()) + timedelta(weeks=weeks)
    return span(monday, monday + timedelta(days=6))


def month_days(year: int, month: int) -> tuple[date, ...]:
    """Every day of a month; `month` may run past 12."""
    years, index = divmod(month - 1, 12)
    last = calendar.monthrange(year + years, index + 1)[1]
    return span(date(year + years, index + 1, 1), date(year + years, index + 1, last))
