"""Durations that always have the same length (ISO 8601, SCH-274, SCH-281).

Read: weeks alone (`P2W`), or days, hours, minutes and seconds in that order, whole numbers without leading zeros,
`P1DT2H`. A day is 24 hours and a week seven of them: what a day on a wall calendar means is decided by who asks for it.
Months and years vary in length and are refused, as are signs, fractions and an empty duration. Two texts are equal when
their lengths are: `PT60M` is `PT1H`. Written in one form only: days, then hours, minutes and seconds, each below the
next unit and left out when zero, never weeks: `P7D`, `PT45M`, `PT1H30M`, and `PT0S` for none.
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import lru_cache

from sayso.core.refusal import Misuse, Refused

__all__ = ("LONGEST", "parse_duration", "write_duration")

LONGEST = timedelta(days=36_525)
"""One hundred years; nothing that is agreed here lasts longer, and no sum with it leaves the calendar."""

_NUMBER = "(0|[1-9][0-9]{0,9})"
_GRAMMAR = re.compile(
    rf"P(?:{_NUMBER}W|(?=[0-9T])(?:{_NUMBER}D)?(?:T(?=[0-9])(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?)"
)


@lru_cache(maxsize=1024)
def parse_duration(text: str) -> timedelta:
    """Raises `Refused("malformed_duration")` with reason inexact (months or years), too_long or syntax."""
    found = _GRAMMAR.fullmatch(text)
    if found is None:
        raise _malformed(text)
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    try:
        length = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        length = timedelta.max
    if length > LONGEST:
        raise Refused.because("malformed_duration", "a duration is at most 100 years", reason="too_long")
    return length


def write_duration(length: timedelta) -> str:
    """The canonical text; the length must be whole seconds, not negative."""
    if length < timedelta(0) or length.microseconds:
        raise Misuse("a duration is whole seconds, and not negative")
    hours, rest = divmod(length.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    time = "".join(f"{count}{unit}" for count, unit in ((hours, "H"), (minutes, "M"), (seconds, "S")) if count)
    date = f"{length.days}D" if length.days else ""
    if not date and not time:
        return "PT0S"
    return f"P{date}T{time}" if time else f"P{date}"


def _malformed(text: str) -> Refused:
    date = text.partition("T")[0]
    if text.startswith("P") and ("Y" in date or "M" in date):
        message = "months and years vary in length; write days, as in P30D"
        return Refused.because("malformed_duration", message, reason="inexact")
    return Refused.because("malformed_duration", "a duration is written like PT45M or P1DT2H", reason="syntax")
