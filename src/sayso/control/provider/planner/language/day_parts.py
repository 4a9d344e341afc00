"""Parts of the day ("morning", "after work", "tonight") as windows of starting times."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sayso.control.provider.planner.language.sheet import DAY, PART, Sheet

__all__ = ("Part", "mark_parts")


@dataclass(frozen=True, slots=True)
class Part:
    """First and last minute of a start, the half of the day it lies in ("am" or "pm"), and whether it is today's."""

    earliest: int | None
    latest: int | None
    half: str
    today: bool = False


def _at(hour: int, minute: int = 0) -> int:
    return hour * 60 + minute


# Longer names first, so that "early afternoon" is not read as "afternoon". A last start lies one minute before the
# next part begins.
_NAMES: tuple[tuple[str, int | None, int | None, str], ...] = (
    (r"first thing(?: in the morning| that morning| morning)?", _at(5), _at(9, 59), "am"),
    (r"(?:bright and )?early(?: in the|,)? mornings?", _at(5), _at(9, 59), "am"),
    (r"mid[- ]?mornings?", _at(9), _at(10, 59), "am"),
    (r"late(?:r)?(?: in the)? mornings?", _at(10), _at(11, 59), "am"),
    (r"early(?: in the)? afternoons?", _at(12), _at(14, 59), "pm"),
    (r"mid[- ]?afternoons?", _at(14), _at(15, 59), "pm"),
    (r"late(?:r)?(?: in the)? afternoons?", _at(15), _at(16, 59), "pm"),
    (r"early(?: in the)? evenings?", _at(17), _at(18, 59), "pm"),
    (r"late(?:r)?(?: in the)? evenings?|late at night", _at(19), _at(21, 59), "pm"),
    (r"before lunch(?: ?time)?", None, _at(11, 59), "am"),
    (r"after lunch(?: ?time)?", _at(13), None, "pm"),
    (r"(?:(?:at|over|during|around|on my) )?(?:the )?lunch[ -]?(?:time|hour|break)|(?:at|over|during|around) lunch",
     _at(12), _at(13, 59), "pm"),
    (r"after school", _at(15), None, "pm"),
    (r"before work", None, _at(8, 59), "am"),
    (r"after (?:work|hours)", _at(17), None, "pm"),
    (r"(?:at |by |towards? )?(?:the )?end of (?:the |that )?(?:work ?)?day", _at(16), None, "pm"),
    (r"morning'?s?|mornin'?|in the a\.?m\.?", _at(5), _at(11, 59), "am"),
    (r"afternoons?|in the p\.?m\.?|arvo", _at(12), _at(16, 59), "pm"),
    (r"evenings?|nights?", _at(17), _at(21, 59), "pm"),
)  # fmt: skip
_TONIGHT = re.compile(r"\b(?:tonight|tonite|2nite)\b")
_GREETING = re.compile(r"\bgood (?:morning|afternoon|evening|day)\b")
_AFTER_DAY = re.compile(rf"(?<={DAY}) (am|pm)\b")


def mark_parts(sheet: Sheet) -> None:
    """Marks every part of the day; "this afternoon" and "tonight" are today's. A greeting is none."""
    list(sheet.use(_GREETING))
    sheet.mark(_TONIGHT, PART, lambda m: Part(_at(17), _at(21, 59), "pm", today=True))
    for names, earliest, latest, half in _NAMES:
        pattern = re.compile(rf"\b(?:(?P<this>this|later this) |in the |during the )?(?:{names})(?!\w)")
        sheet.mark(pattern, PART, lambda m, e=earliest, t=latest, h=half: Part(e, t, h, m["this"] is not None))  # type: ignore[misc]
    halves = {"am": Part(_at(5), _at(11, 59), "am"), "pm": Part(_at(12), None, "pm")}
    sheet.mark(_AFTER_DAY, PART, lambda m: halves[m[1]])
