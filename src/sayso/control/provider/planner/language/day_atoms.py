"""The shapes of words that name a day or several by themselves: "tomorrow", "next Thursday", "Oct 15", "the 15th",
"next week", "in 3 days". Each match becomes one atom on the sheet, the longer shapes first; what it means is read in
`day_readers`, how atoms join in `days`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from sayso.control.provider.planner.language import day_readers as read
from sayso.control.provider.planner.language.calendar_words import DAY_NUMBER, MONTH, WEEKDAY
from sayso.control.provider.planner.language.day_readers import DayAtom
from sayso.control.provider.planner.language.numbers import COUNT, ORDINAL
from sayso.control.provider.planner.language.sheet import DAY, Sheet

__all__ = ("mark_days",)

_NAMED = rf"(?P<weekday>{WEEKDAY})"
_YEAR = r"(?:,? (?P<year>20[0-9]{2})\b)?"
_TOMORROW = r"(?:tomorrow|tomorow|tommorow|tommorrow|tomorrrow|tmrw|tmr|tmw|tmrow|2moro|tomoz)"
_UNIT = r"(?P<unit>day|night|week|fortnight|month)s?\b"
_ORIGIN = rf"(?P<origin>now|today|tomorrow|{WEEKDAY})"
_PART = r"(?:(?P<part>early|earlier|beginning of|start of|mid|middle of|late|later|end of|rest of)[ -](?:in )?)"
_TO = r"(?: ?- ?| (?:to|through|until|till) (?:the )?)"
_DAY_TO_DAY = rf"(?P<day>{DAY_NUMBER}){_TO}(?P<last>{DAY_NUMBER})"
_NO_HOUR = r"(?!:?[0-9])(?! ?(?:am|pm|a\.m|p\.m|o'clock)\b)"
# A bare "the second" or "the 15" is a date only where no noun follows it.
_NO_NOUN = (r"(?! (?!(?:at|around|about|in|on|of|between|after|before|or|and|to|if|please|from|by|for|with|works?|would"
            r"|is|any|anytime|until|till|near|but|instead|then|thanks|under|max|as|not|either|morning|afternoon|evening"
            r"|does|looks|sounds|good|fine|ok|okay|could|can|so|because|since|early|late"
            r"|sometime)\b)[a-z])")  # fmt: skip
_NO_PLACE = r"(?! (?:street|st|ave|avenue|floor|time|visit|birthday|anniversary|grade|appointment)\b)"

_Reader = Callable[[re.Match[str], date], DayAtom | None]
_RULES: tuple[tuple[str, _Reader], ...] = (
    (r"(?<![\w.])([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})(?![0-9])(?:t(?=[0-9]))?", read.read_iso),
    (
        rf"\b(?P<nth>{ORDINAL}|last) {_NAMED} (?:of|in) (?P<span>(?:the|this|next) month\b|{MONTH})",
        read.read_nth_weekday,
    ),
    (rf"(?P<month>{MONTH}) (?:the )?{_DAY_TO_DAY}\b{_NO_HOUR}", read.read_named_range),
    (rf"(?<![\w:$.])(?:the )?{_DAY_TO_DAY}(?: of | )(?P<month>{MONTH})(?!\w)", read.read_named_range),
    (rf"(?<![\w:$.])(?:the )?(?P<day>{DAY_NUMBER})(?: of |[ -]|)(?P<month>{MONTH})(?!\w){_YEAR}", read.read_named),
    (rf"(?P<month>{MONTH})[ -]?(?:the )?(?P<day>{DAY_NUMBER})\b{_NO_HOUR}(?!/){_YEAR}", read.read_named),
    (
        r"(?<![\w/.:$-])([0-9]{1,2})/([0-9]{1,2})(?:/((?:20)?[0-9]{2}))?(?![\w/])(?! ?(?:hour|hr|day|price|off))",
        read.read_slashed,
    ),
    (r"(?<![\w/.:$-])([0-9]{1,2})[.-]([0-9]{1,2})[.-]((?:20)?[0-9]{2})(?![\w/])", read.read_slashed),
    (r"(?<![\w/.:$-])([0-9]{1,2})\.([0-9]{1,2})\.()(?!\w)", read.read_slashed),
    (rf"\b(?:every|each|all) (?:other |single |second )?(?:{WEEKDAY}|(?:day|week|month)s?\b)", read.read_recurring),
    (r"\b(?:weekly|monthly|bi-?weekly|fortnightly|daily|(?:once|twice) a (?:week|month|day))\b", read.read_recurring),
    (r"\b(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)days\b", read.read_recurring),
    (rf"\b(?:the )?day after {_TOMORROW}\b|\bovermorrow\b", read.read_tomorrow),
    (r"\b(?:the )?day before yesterday\b|\byesterday\b", read.read_yesterday),
    (r"\blast (?:week|weekend|month)\b", read.read_ago),
    (rf"\b(?:in )?(?P<count>{COUNT}) {_UNIT} (?:from|after) {_ORIGIN}(?!\w)", read.read_days_on),
    (rf"\b(?P<count>a|one|two|three|[1-9]) (?P<unit>week)s? (?:on |this )?{_ORIGIN}(?!\w)", read.read_days_on),
    (rf"\b{_ORIGIN}(?P<count>) (?:a )?(?P<unit>week)\b(?! (?:after|before|or))", read.read_days_on),
    (rf"\b(?:with)?in (?:the )?(?:next|coming) (?:(?P<count>{COUNT}) )?{_UNIT}", read.read_coming_days),
    (rf"\b(?:within|inside) (?P<count>{COUNT}) {_UNIT}", read.read_coming_days),
    (rf"\b(?:over |for )?(?:the |these )?(?:next|coming) (?P<count>{COUNT}) {_UNIT}", read.read_coming_days),
    (rf"\bin (?P<count>{COUNT}) {_UNIT}(?P<origin>)(?:'s?)?(?: time\b)?", read.read_days_on),
    (r"\bin (?P<count>a) (?P<unit>fortnight)(?P<origin>)\b", read.read_days_on),
    (rf"\b(?:the )?{_NAMED} after next\b", read.read_weekday_after_next),
    (
        rf"\b(?:the )?{_PART}?\b(?P<which>this coming|the coming|the following|this|next|the"
        rf"|) ?week\b(?P<after> after next)?",
        read.read_week,
    ),
    (r"\b(?:(?:on|over|at) )?(?:(?P<which>this coming|the coming|this|next|the) )?weekend\b", read.read_weekend),
    (r"\b(?:on )?(?:a |any |some )?(?:week ?days?|working days?)\b", read.read_weekdays),
    (rf"\b(?:the )?{_PART}?(?P<span>(?:this|next|the) month)\b", read.read_month),
    (rf"\b(?:the )?(?P<half>first|second) half of (?P<span>(?:this|next|the) month\b|{MONTH})", read.read_half_month),
    (rf"\b(?:in |the )?{_PART}(?P<span>{MONTH})(?!\w)", read.read_month),
    (rf"\b(?:in|during|this|next)(?P<part>) (?P<span>{MONTH})(?!\w)", read.read_month),
    (rf"\b(?:this coming|the coming|coming|upcoming|this) {_NAMED}", read.read_this_weekday),
    (rf"\b(?:next|the following) {_NAMED}", read.read_next_weekday),
    (rf"\blast {_NAMED}", read.read_last_weekday),
    (rf"(?<!\bi )(?<!\bwe ){_NAMED}(?!\w)", read.read_weekday),
    (r"\b(?:today|2day|this very day)\b", read.read_today),
    (rf"\b{_TOMORROW}\b", read.read_tomorrow),
    (rf"\b(?:the |on )(?P<day>{DAY_NUMBER})\b{_NO_HOUR}{_NO_NOUN}(?!')", read.read_numbered),
    (rf"(?<![\w:$.])(?P<day>[0-9]{{1,2}}(?:st|nd|rd|th))\b{_NO_PLACE}", read.read_numbered),
)
_COMPILED = tuple((re.compile(pattern), reader) for pattern, reader in _RULES)


def mark_days(sheet: Sheet, today: date) -> None:
    """Turns every word or group of words that names days into an atom."""
    for pattern, reader in _COMPILED:
        sheet.mark(pattern, DAY, lambda match, reader=reader: reader(match, today))  # type: ignore[misc]
