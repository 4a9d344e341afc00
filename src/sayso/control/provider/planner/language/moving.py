"""Which day or time of a wish to move something is the old one, telling the booking, and which the new one.

"Move my Thursday visit to Friday" names both. What follows "to", "until" or "instead" is new, what follows "from",
"instead of", "my" or "can't make" is old; without any such word, words before the first new one are old.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from sayso.control.provider.planner.language.days import DayPhrase
from sayso.control.provider.planner.language.numbers import COUNT, read_number
from sayso.control.provider.planner.language.sheet import Sheet
from sayso.control.provider.planner.language.times import Piece

__all__ = ("Split", "split_old_and_new", "take_shift")

_Phrase = TypeVar("_Phrase", DayPhrase, Piece)

_LOOSE = (
    r"(?: (?:it|be|is|sometime|some time|any ?time|the|a|an|on|at|in|like|say|maybe|about|around|later|earlier|early"
    r"|late))*[ ,]*$"
)
_NEW_BEFORE = re.compile(
    rf"\b(?:to|until|till|til|into|onto|make (?:it|that)|do|how about|what about|let's say|come|come in|prefer"
    rf"|take|try){_LOOSE}"
)
_REFUSED_BEFORE = re.compile(
    r"(?:n't|cannot|can not|no longer|not able|unable)(?: (?:able|to|make|do|come|be|attend|keep|it|in|on|at|my|the|our"
    r"|there))*[ ,]*$"
)
_OLD_BEFORE = re.compile(
    r"\b(?:from|instead of|rather than|my|our|the|existing|current|original|that)(?: (?:it|in|on|at|my|the|our"
    r"|there))*[ ,]*$"
)
_WEAK_BEFORE = re.compile(r"\bfor(?: the| sometime)? $")
_NEW_INSIDE = re.compile(r"(?:to|until|till|til|make (?:it|that)|do|say)\b")
_OLD_INSIDE = re.compile(r"(?:from|instead of|rather than)\b")
_TOGETHER = re.compile(r"[ ,]*(?:on|at|in the|around|the|of)?[ ,]*")

_UNIT = r"(?P<unit>minutes?|mins?|hours?|hrs?|days?|weeks?)\b"
_AMOUNT = rf"(?P<count>half an|an? half|{COUNT}|[0-9]\.5) {_UNIT}(?: and a (?P<half>half))?"
_SHIFTS = (
    re.compile(rf"\b(?P<way>back|out|later|earlier|forward|up|ahead)(?: by)? (?:about )?{_AMOUNT}"),
    re.compile(rf"\b(?:by )?{_AMOUNT} (?P<way>later|earlier|sooner|back|forward|forwards|ahead|up|out)\b"),
    re.compile(rf"\b(?P<way>postpone|delay|push|defer)(?:ing)?\b[\w' ]{{0,60}}? (?:by )?{_AMOUNT}"),
    re.compile(rf"\b(?P<way>bring|pull)(?:ing)?\b[\w' ]{{0,60}}? by {_AMOUNT}"),
)
_MINUTES = {"m": 1, "h": 60, "d": 1440, "w": 10080}
_VERBS = frozenset(("postpone", "delay", "push", "defer", "bring", "pull"))
_FORWARD = frozenset(("forward", "forwards", "ahead"))
_BRINGS = re.compile(r"\b(?:bring|pull)(?:ing)?\b")
_LATER_WAYS = frozenset(("later", "back", "out", "postpone", "delay", "push", "defer"))


@dataclass(frozen=True, slots=True)
class Split:
    """The phrases of a move, those that tell the booking and those that tell where it goes."""

    old_days: list[DayPhrase]
    new_days: list[DayPhrase]
    old_times: list[Piece]
    new_times: list[Piece]


def take_shift(sheet: Sheet) -> int | None:
    """Minutes by which to move, later positive, taken off the sheet: "back an hour", "30 minutes earlier".

    What is moved or pushed "forward" goes earlier for some and later for others; then only the words are taken.
    """
    for pattern in _SHIFTS:
        for match in pattern.finditer(sheet.text):
            is_open = match["way"] in _FORWARD and not _BRINGS.search(sheet.said[: match.start()])
            sheet.take(*_said_amount(match))
            if is_open:
                return None
            return _minutes(match) if match["way"] in _LATER_WAYS else -_minutes(match)
    return None


def _minutes(match: re.Match[str]) -> int:
    count, unit = match["count"], _MINUTES[match["unit"][0]]
    half = unit // 2 if match["half"] else 0
    if count.endswith((" an", " half")) or count.startswith("half"):
        return unit // 2
    if count.endswith(".5"):
        return int(count[0]) * unit + unit // 2
    return read_number(count) * unit + half


def _said_amount(match: re.Match[str]) -> tuple[int, int]:
    """The stretch that tells how far, without the verb and its object, which say what."""
    start = match.start("count")
    return (start if match["way"] in _VERBS else match.start()), match.end()


def split_old_and_new(said: str, days: list[DayPhrase], times: list[Piece]) -> Split:
    """Sorts the phrases of a move by the words around them; one without any goes with its neighbour."""
    ordered: list[DayPhrase | Piece] = sorted([*days, *times], key=lambda phrase: phrase.start)
    sides = [_side(said, phrase) for phrase in ordered]
    is_new: list[bool] = []
    for i, phrase in enumerate(ordered):
        side = sides[i]
        if side is None:
            joined = i > 0 and _TOGETHER.fullmatch(said[ordered[i - 1].end : phrase.start])
            side = is_new[-1] if joined else _guess(said, phrase, before=is_new, after=sides[i + 1 :])
        is_new.append(side)
    fresh = {id(phrase) for phrase, new in zip(ordered, is_new, strict=True) if new}
    old_days, new_days = _part(days, fresh)
    old_times, new_times = _part(times, fresh)
    return Split(old_days, new_days, old_times, new_times)


def _side(said: str, phrase: DayPhrase | Piece) -> bool | None:
    """True for the new time, False for the old one, None where the phrase's own words do not tell."""
    before, inside, after = said[: phrase.start], said[phrase.start : phrase.end], said[phrase.end :]
    if _OLD_INSIDE.match(inside) or after.startswith("'s") or _REFUSED_BEFORE.search(before):
        return False
    if _NEW_INSIDE.match(inside) or _NEW_BEFORE.search(before) or re.match(r",? instead\b(?! of)", after):
        return True
    return False if _OLD_BEFORE.search(before) else None


def _guess(said: str, phrase: DayPhrase | Piece, *, before: list[bool], after: list[bool | None]) -> bool:
    if True in after:
        return False
    text = said[: phrase.start]
    if False in before or _WEAK_BEFORE.search(text) or said.startswith("for ", phrase.start):
        return True
    is_placed = said.startswith(("at ", "on "), phrase.start) or text.endswith((" on ", " at ", " in "))
    return not (is_placed and re.search(r"\b(?:my|our|the) (?:[\w'-]+ ){1,5}$", text))


def _part(phrases: Sequence[_Phrase], fresh: set[int]) -> tuple[list[_Phrase], list[_Phrase]]:
    return [p for p in phrases if id(p) not in fresh], [p for p in phrases if id(p) in fresh]
