"""Clock times and parts of the day as people write and say them, each one atom on the sheet.

A time of day is minutes since midnight. An hour from 1 to 11 that nobody called morning or evening has two readings,
twelve hours apart; it stays open here. A number that only may be an hour ("at 3") becomes an `HOUR` atom, which counts
only if the words around it make it one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sayso.control.provider.planner.language.sheet import CLOCK, HOUR, Sheet
from sayso.control.provider.planner.language.understood import Problem

__all__ = ("NOON", "Clock", "mark_clocks", "mark_hours")

NOON = 12 * 60


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day in minutes. `open` says that twelve hours later fits the words as well; `problem` that no clock
    shows it.
    """

    minutes: int
    open: bool = False
    problem: Problem | None = None

    @property
    def readings(self) -> tuple[int, ...]:
        """Every time of day the words may mean."""
        return (self.minutes, self.minutes + NOON) if self.open else (self.minutes,)


_IMPOSSIBLE = Clock(0, problem=Problem.IMPOSSIBLE)
_HOUR_WORDS = "one two three four five six seven eight nine ten eleven twelve"
_HOURS = {word: hour for hour, word in enumerate(_HOUR_WORDS.split(), 1)}
_STEPS = {"five": 5, "ten": 10, "fifteen": 15, "twenty": 20, "twenty-five": 25, "twenty five": 25, "half": 30,
          "quarter": 15, "a quarter": 15}  # fmt: skip
_MINUTES = {"oh five": 5, "ten": 10, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45,
            "forty five": 45, "fifty": 50}  # fmt: skip


def _any(words: dict[str, int]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_FREE = r"(?<![\w:.,$€£/])"
_WORD = _any(_HOURS)
_H = rf"(?P<hour>[0-9]{{1,2}}|\b(?:{_WORD})(?:\b|(?=ish\b)))"
_AM_PM = r"(?P<half>a\.m\.?|p\.m\.?|am|pm|a m|p m)(?!\w)"
_SPOKEN = r"(?:in|of) the (?P<spoken>morning|afternoon|evening)\b|at (?P<night>night)\b"
_HALF = rf"(?: ?{_AM_PM}|,? {_SPOKEN})"

_NAMED = r"\b(?:(?:12|twelve|high) )?(?P<named>noon|midday|mid-day|midnight)(?:\b|(?=ish\b))"
_RELATIVE = (
    rf"\b(?:(?P<step>{_any(_STEPS)})(?: minutes?| mins?)? (?P<side>past|after|to|of|before|til|till)"
    rf"|(?P<digits>5|10|20|25)(?: minutes?| mins?)? (?P<past>past)|(?P<left>20|25|(?:5|10|20"
    rf"|25) min(?:ute)?s) (?P<to>to))"
    rf" {_H}(?![\w:])(?: o'?clock)?{_HALF}?"
)
_CLOCKS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_FREE}{_H}[:.h](?P<minute>[0-9]{{2}}){_HALF}",
        rf"{_FREE}(?P<hour>[0-9]{{1,2}})(?P<minute>[0-9]{{2}}) ?{_AM_PM}",
        rf"{_FREE}(?P<hour>[0-9]{{1,2}})(?P<half>[ap])(?!\w)",
        rf"{_FREE}(?P<hour>[0-9]{{1,2}}):(?P<minute>[0-9]{{2}})(?::00)?(?![\w:])",
        rf"{_FREE}(?P<hour>[0-9]{{1,2}})(?P<fixed>h)(?P<minute>[0-9]{{2}})?(?!\w)",
        rf"{_FREE}(?P<hour>[01][0-9]|2[0-3])(?P<minute>[0-5][0-9]) ?(?P<fixed>hours|hrs|h)\b",
        rf"\b(?P<hour>{_WORD})[ -](?P<spelled>{_any(_MINUTES)})\b(?!-){_HALF}?",
        rf"(?:(?<=\bat )|(?<=\bby )|(?<=\bto )|(?<=after )|(?<=before )|(?<=around )"
        rf"|(?<=about )){_H}\.(?P<minute>[0-5][0-9])(?![\w.])",
        rf"{_FREE}{_H} ?o'?clock\b{_HALF}?",
        rf"{_FREE}{_H}{_HALF}",
    )
)
_HALF_HOUR = rf"\bhalf (?P<hour>{_WORD}|[0-9]{{1,2}})(?![\w:])(?! (?:hour|day|price|dozen))(?: ?{_AM_PM})?"
_UNIT = (
    r"(?:hours?|hrs?|minutes?|mins?|days?|weeks?|months?|years?|people|persons?|of|times?|km|miles?|dollars?|bucks"
    r"|euros?|pounds?|more|cars?|kids?|adults?|guests?|things?|who|that|which|year|percent|sessions?|treatments?)\b"
)
_BARE = (
    rf"{_FREE}{_H}(?:(?=ish\b)|(?![\w:%$€£/]|[.,][0-9])"
    rf"(?!(?: ?(?:-|to\b|or\b|and\b) ?(?:[0-9]{{1,3}}|{_WORD}))?[ -]{_UNIT}))"
)


def mark_clocks(sheet: Sheet) -> None:
    """Marks times that need no other word to be one."""
    sheet.mark(re.compile(_NAMED), CLOCK, lambda m: Clock(0 if m["named"] == "midnight" else NOON))
    sheet.mark(re.compile(_RELATIVE), CLOCK, _read_relative)
    for pattern in _CLOCKS:
        sheet.mark(pattern, CLOCK, _read_clock)
    sheet.mark(re.compile(_HALF_HOUR), CLOCK, lambda m: _shift(_read_clock(m), 30))


def mark_hours(sheet: Sheet) -> None:
    """Marks numbers that are hours if the words around them say so."""
    sheet.mark(re.compile(_BARE), HOUR, _read_bare)


def _read_bare(match: re.Match[str]) -> Clock | None:
    clock = _read_clock(match)
    return clock if clock.problem is None and clock.minutes else None


def _read_clock(match: re.Match[str]) -> Clock:
    groups = match.groupdict()
    text = groups["hour"]
    hour = _HOURS[text] if text in _HOURS else int(text)
    minute = _MINUTES[groups["spelled"]] if groups.get("spelled") else int(groups.get("minute") or 0)
    if hour > 23 or minute > 59:
        return _IMPOSSIBLE
    half = _half(groups, hour)
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0) if hour <= 12 else hour
        return Clock(hour * 60 + minute)
    is_exact = groups.get("fixed") or text.startswith("0")
    return Clock(hour * 60 + minute, open=1 <= hour <= 11 and not is_exact)


def _half(groups: dict[str, str | None], hour: int) -> str | None:
    """The half of the day that stands beside the hour."""
    if short := groups.get("half"):
        return "am" if short.startswith("a") else "pm"
    if spoken := groups.get("spoken"):
        return "am" if spoken == "morning" else "pm"
    if groups.get("night"):
        return "pm" if 5 <= hour <= 11 else "am"
    return None


def _read_relative(match: re.Match[str]) -> Clock:
    """Reads "quarter to three", "ten past four"."""
    words = match["step"] or match["digits"] or match["left"]
    step = _STEPS.get(words) or int(re.match("[0-9]+", words)[0])  # type: ignore[index]
    side = match["side"] or match["past"] or match["to"]
    return _shift(_read_clock(match), step if side in ("past", "after") else -step)


def _shift(clock: Clock, minutes: int) -> Clock:
    if clock.problem:
        return clock
    moved = clock.minutes + minutes
    return Clock(moved % (24 * 60), open=clock.open and 0 <= moved < NOON)
