"""What role each clock time plays: "at", "around", "after", "before", "between", "done by". The result is pieces, one a
phrase; `windows` makes starting times of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from sayso.control.provider.planner.language.clock_atoms import Clock
from sayso.control.provider.planner.language.day_parts import Part
from sayso.control.provider.planner.language.sheet import CLOCK, DAY, HOUR, PART, USED, Sheet, run_of

__all__ = ("Piece", "Shape", "find_pieces")


class Shape(Enum):
    """What a phrase demands of the start; `DONE` demands it of the end."""

    EXACT = "exact"
    NEAR = "near"
    FROM = "from"
    UNTIL = "until"
    BEFORE = "before"
    SPAN = "span"
    PART = "part"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Piece:
    """One phrase about the time of day. Several clocks of an `EXACT` or `NEAR` piece are alternatives."""

    start: int
    end: int
    shape: Shape
    clocks: tuple[Clock, ...] = ()
    part: Part | None = None


_C = run_of(CLOCK)
_T = rf"(?:{_C}|{run_of(HOUR)})"
_ANY = r"(?:any ?time |some ?time |somewhere |preferably |ideally |only )?"
_NEAR = r"(?:(?:at |for |say )?(?:around|about|approximately|approx\.?|roughly|near|close to|circa|towards?))"
_ISH = (
    r"(?: ?-? ?ish\b| or so\b| or thereabouts\b| or around (?:then|there)\b|,? give or take\b| approximately\b"
    r"| roughly\b)"
)
_THROUGH = r"(?: ?- ?| (?:to|until|till|til|through|thru) )"
_OVER = (
    r"(?:done|finished|ready|over|completed?|out(?: of (?:there|here))?|home|back(?: home| at work)?|wrapped up|gone"
    r"|leave|finish|end|ends|(?:pick|collect|picked)(?: (?:it|them|her|him|the \w+|my \w+))?(?: up)?)"
)
_NO = r"(?:\w+n't|not|cannot|nothing|never) (?:\w+ ){0,4}?"
_FROM_WORDS = (
    r"(?:after|past|since|later than|not before|no earlier than|not earlier than|no sooner than|not until|earliest"
    rf"|at or after|starting from|as of|beginning (?:at|from)|{_NO}(?:before|until|till))"
)
_UNTIL_WORDS = (
    r"(?:by|no later than|not later than|not after|up to|latest(?: by)?|at the latest(?: by)?"
    rf"|{_NO}(?:after|later than|past))"
)
_LATER = (
    r"(?: or (?:later|after|any ?time after)\b| onwards?\b| and (?:later|after|onwards?)\b| ?\+| at the earliest\b"
    r"| earliest\b)"
)
_EARLIER = r"(?: at the latest\b| or (?:earlier|sooner|before)\b| latest\b)"
_SHARP = r"(?: sharp| exactly| on the dot| precisely)?"
_OR = r",? or (?:at |maybe |even |possibly |around )?"

_Rule = tuple[str, Shape]
_BETWEEN: _Rule = (
    rf"\b{_ANY}(?:(?:anywhere |in )?between|anywhere from) {_T}(?: ?- ?| (?:and|to|or) ){_T}",
    Shape.SPAN,
)
_FROM_TO: tuple[_Rule, ...] = (
    (rf"\b{_ANY}from {_T}(?:{_THROUGH}| and ){_T}", Shape.SPAN),
    (rf"(?:\bat )?{_T}{_THROUGH}{_T}", Shape.SPAN),
)
_LIMITS: tuple[_Rule, ...] = (
    (rf"{_T} ?- ?{_T}", Shape.SPAN),
    (rf"(?:\b{_NEAR} |~ ?){_T}(?:,? or (?:{_NEAR} )?{_T})?(?:{_ISH})?", Shape.NEAR),
    (rf"(?:\b(?:at|for) )?{_T}{_ISH}", Shape.NEAR),
    (rf"(?:\b(?:at|from) )?{_T}{_LATER}", Shape.FROM),
    (rf"\b{_UNTIL_WORDS} {_T}", Shape.UNTIL),
    (rf"(?:\b(?:at|by) )?{_T}{_EARLIER}", Shape.UNTIL),
    (rf"\b{_ANY}{_FROM_WORDS}(?: (?:about|around))? {_T}(?: on(?:wards?)?\b| forward\b)?", Shape.FROM),
    (rf"\b{_ANY}(?:before|earlier than|prior to|sooner than) {_T}", Shape.BEFORE),
)
_OPEN_ENDED: tuple[_Rule, ...] = (
    (rf"\b{_ANY}from(?: (?:about|around))? {_T}(?: on(?:wards?)?\b| forward\b)?", Shape.FROM),
    (rf"\b(?:until|till|til) {_T}", Shape.UNTIL),
)
_EXACT: tuple[_Rule, ...] = (
    (rf"(?:\b(?:at|for) (?:either )?)?{_T}(?: ?, ?{_T})*{_OR}{_C}", Shape.EXACT),
    (rf"(?:\b(?:at|for) (?:either )?)?{_C}(?:(?: ?, ?{_T})*{_OR}{_T}| ?/ ?{_C})", Shape.EXACT),
    (rf"(?:\bat |@ ?)(?:either )?{_T}(?: ?, ?{_T})*{_OR}{_T}", Shape.EXACT),
    (rf"(?:\bat (?:exactly |precisely |like )?|@ ?){_T}{_SHARP}", Shape.EXACT),
    (rf"(?:\bfor )?{_C}{_SHARP}", Shape.EXACT),
    (rf"(?<={DAY}),? {run_of(HOUR)}(?= ?(?:[,.;!?{DAY}{PART}{USED}]|$))", Shape.EXACT),
    (rf"{run_of(HOUR)}(?=,? {PART})", Shape.EXACT),
)
_INTO: _Rule = (
    rf"\b(?:to|until|till|til|for|make (?:it|that)|do|say|instead of|rather than|from) (?:like )?{_T}",
    Shape.EXACT,
)
_DONE: _Rule = (rf"\b{_OVER}(?: again)? (?:by|before|no later than) {_T}", Shape.DONE)


def _compiled(*rules: _Rule) -> tuple[tuple[re.Pattern[str], Shape], ...]:
    return tuple((re.compile(pattern), shape) for pattern, shape in rules)


_SETTLED_RULES = _compiled(_DONE, _BETWEEN, *_FROM_TO, *_LIMITS, *_OPEN_ENDED, *_EXACT)
# Where something moves, "from 2 to 4" names the old time and the new one and is no span; "until 4" names the new one.
_MOVING_RULES = _compiled(_DONE, _BETWEEN, *_LIMITS, _INTO, *_EXACT)
_PART = re.compile(run_of(PART))


def find_pieces(sheet: Sheet, *, moving: bool) -> list[Piece]:
    """Takes every time phrase off the sheet, in the order said; numbers that played no role become words again."""
    found: list[Piece] = []
    for pattern, shape in _MOVING_RULES if moving else _SETTLED_RULES:
        for match in sheet.use(pattern):
            starts = [match.start() + m.start() for m in re.finditer(_T, match[0])]
            found.append(Piece(match.start(), match.end(), shape, tuple(sheet.atom(s, Clock) for s in starts)))
    parts = [(match.start(), match.end()) for match in sheet.use(_PART)]
    found += [Piece(start, end, Shape.PART, part=sheet.atom(start, Part)) for start, end in parts]
    sheet.restore(HOUR)
    return sorted(found, key=lambda piece: piece.start)
