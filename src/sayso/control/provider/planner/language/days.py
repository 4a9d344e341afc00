"""Which days a message speaks of: atoms of `day_atoms` joined by "or", "to", "by", "not" and by standing together.

Words that stand together narrow one another ("Thursday" and "next week"); joined by "or" they are alternatives. What
narrows down to nothing is a contradiction and gives no day at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import Enum

from sayso.control.provider.planner.language.calendar_words import span, week_of
from sayso.control.provider.planner.language.day_readers import DayAtom
from sayso.control.provider.planner.language.sheet import DAY, Sheet, run_of
from sayso.control.provider.planner.language.understood import Problem

__all__ = ("DayPhrase", "find_days", "join_days", "mark_groups", "ruled_out")

# How far "after Friday" reaches.
_OPEN_END = timedelta(days=14)
_MOST = 62

_D = run_of(DAY)


@dataclass(frozen=True, slots=True)
class DayPhrase:
    """Days named at one place of the message; `excluded` where they are named as not suitable, `is_deadline` where they
    end with the day named.
    """

    start: int
    end: int
    atom: DayAtom
    excluded: bool = False
    is_deadline: bool = False


class _Role(Enum):
    PLAIN = "plain"
    RANGE = "range"
    EITHER = "either"
    WEEK = "week"
    UNTIL = "until"
    BEFORE = "before"
    AFTER = "after"
    FROM = "from"
    NOT = "not"


_ANY = r"(?:any ?(?:time|day) )?"
_OR = r"(?: ?, ?or (?:on )?| ?/ ?| or (?:else |maybe |even |possibly )?(?:on )?| ?& ?| and (?:on )?)"
_UNSUITED = (
    r"(?:not|except|except for|but not|other than|besides|excluding|apart from|any ?day but|instead of|rather than"
    r"|\w+n't (?:(?:do|make|work|be|free|available|it|manage|come|in|for|me) )*)"
)
_NOT_EARLIER = r"(?:from|starting|beginning|not before|no earlier than|no sooner than|as of|on or after)"
_NOT_LATER = r"(?:by|no later than|not later than|until|till|up to|on or before|latest)"
_TO = r"(?: (?:to|through|thru|until|till|til) | ?- ?)"
_ON = r"(?: on(?:wards?)?\b| forward\b| onwards\b)?(?! to\b)"

_Rule = tuple[re.Pattern[str], _Role]


def _rule(pattern: str, role: _Role) -> _Rule:
    return re.compile(pattern), role


_BETWEEN = _rule(rf"\b{_ANY}between ({_D}) and ({_D})", _Role.RANGE)
_FROM_TO = _rule(rf"(?:\b{_ANY}(?:between|from) )?({_D}){_TO}({_D})", _Role.RANGE)
_RULES = (
    _rule(rf"\b(?:the )?week (?:of|beginning|starting|commencing) (?:the )?({_D})", _Role.WEEK),
    _rule(rf"({_D})(?: ?- ?| (?:through|thru) )({_D})", _Role.RANGE),
    _rule(rf"(?:\beither )?{_D}(?: ?, ?{_D})*{_OR}{_D}", _Role.EITHER),
    _rule(rf"\b{_UNSUITED}(?: on)?(?: an?| the| any)? ?({_D})", _Role.NOT),
    _rule(rf"\b{_NOT_LATER} (?:the end of )?({_D})", _Role.UNTIL),
    _rule(rf"({_D})(?: at the latest| or (?:earlier|sooner|before)\b| latest\b)", _Role.UNTIL),
    _rule(rf"\b(?:before|prior to|earlier than|sooner than) ({_D})", _Role.BEFORE),
    _rule(rf"\b{_ANY}(?:after|later than|past) ({_D})", _Role.AFTER),
    _rule(rf"\b{_ANY}{_NOT_EARLIER}(?: on)? ({_D}){_ON}", _Role.FROM),
    _rule(rf"({_D}) (?:or (?:later|after)\b|onwards?\b|and (?:later|after|onwards?)\b)", _Role.FROM),
    _rule(rf"({_D})", _Role.PLAIN),
)
_UNFIT = re.compile(r"(?:\bnot|\bexcept|\bexcluding|n't)(?: \w+){0,2} $")
_NEXT_DAY = re.compile(rf"({_D})(?: or| and) (?P<next>the (?:day after|next day|following day))\b(?! {_D})")
_GROUP = re.compile(rf"({_D})(?:,? ?\(?(?:the |of |on |in |a |which is )?|, (?:so |that's )?(?:on )?)({_D})\)?")


def mark_groups(sheet: Sheet) -> None:
    """Joins day words that stand side by side into one atom ("Friday Oct 16", "Thursday of next week")."""

    def join(match: re.Match[str]) -> DayAtom | None:
        first, second = sheet.atom(match.start(1), DayAtom), sheet.atom(match.start(2), DayAtom)
        if first.weekdays and second.weekdays and not first.weekdays & second.weekdays:
            return None
        if "," in match[0] and _UNFIT.search(sheet.text, 0, match.start()):
            return None
        return narrow(first, second)

    def day_after(match: re.Match[str]) -> DayAtom | None:
        dates = sheet.atom(match.start(1), DayAtom).dates
        return DayAtom((dates[-1] + timedelta(days=1),)) if dates else None

    sheet.mark(_NEXT_DAY, DAY, day_after, group="next")
    sheet.mark(_GROUP, DAY, join)


def find_days(sheet: Sheet, today: date, *, moving: bool) -> list[DayPhrase]:
    """Takes every day phrase off the sheet. When something is `moving`, "from Monday to Friday" names two bookings'
    days and no range, and "instead of Monday" tells where it moves from, so both stay apart.
    """
    rules = (_BETWEEN, *_RULES) if moving else (_BETWEEN, _FROM_TO, *_RULES)
    found: list[DayPhrase] = []
    for pattern, role in rules:
        if moving and role in (_Role.NOT, _Role.FROM, _Role.UNTIL):
            continue
        for match in sheet.use(pattern):
            atoms = [sheet.atom(match.start() + m.start(), DayAtom) for m in re.finditer(_D, match[0])]
            whole = role is _Role.BEFORE and "end of" in sheet.said[match.start() : match.end()]
            days = _play(_Role.UNTIL if whole else role, atoms, today)
            deadline = role in (_Role.UNTIL, _Role.BEFORE)
            found.append(DayPhrase(match.start(), match.end(), days, role is _Role.NOT, deadline))
    return sorted(found, key=lambda phrase: phrase.start)


def _play(role: _Role, atoms: list[DayAtom], today: date) -> DayAtom:
    """The days that atoms name in their role."""
    first = atoms[0]
    problem = next((atom.problem for atom in atoms if atom.problem), None)
    if role in (_Role.PLAIN, _Role.NOT) and len(atoms) == 1:
        return first
    if any(not atom.dates for atom in atoms):
        return DayAtom((), problem=problem)
    if role in (_Role.EITHER, _Role.NOT):
        return _either(atoms, problem)
    if role is _Role.RANGE:
        return _range(first, atoms[-1])
    if role is _Role.WEEK:
        return DayAtom(tuple(day for day in week_of(first.dates[0]) if day >= today))
    days = {
        _Role.UNTIL: lambda: span(today, first.dates[-1]),
        _Role.BEFORE: lambda: span(today, first.dates[0] - timedelta(days=1)),
        _Role.AFTER: lambda: span(first.dates[-1] + timedelta(days=1), first.dates[-1] + _OPEN_END),
        _Role.FROM: lambda: span(first.dates[0], first.dates[0] + _OPEN_END),
    }[role]()
    return DayAtom(days or first.dates[:1], problem=problem)


def _either(atoms: list[DayAtom], problem: Problem | None) -> DayAtom:
    # In "Tuesday or Thursday" said on a Tuesday, both readings of Tuesday remain open.
    return DayAtom(tuple(sorted({day for atom in atoms for day in atom.dates})), problem=problem)


def _range(first: DayAtom, last: DayAtom) -> DayAtom:
    start, end = first.dates[0], last.dates[-1]
    if len(last.weekdays) == 1:
        # The end of a range of weekdays is the first such day at or after its start.
        end = start + timedelta(days=(min(last.weekdays) - start.weekday()) % 7)
    if end < start:
        return DayAtom((), problem=Problem.CONTRADICTION)
    return DayAtom(span(start, min(end, start + timedelta(days=_MOST))))


def narrow(first: DayAtom, second: DayAtom) -> DayAtom:
    """What both atoms together leave. A bare weekday picks its days out of the other one."""
    for atom in (first, second):
        if atom.problem in (Problem.IMPOSSIBLE, Problem.RECURRING, Problem.CONTRADICTION):
            return atom
    if first.weekdays and not second.weekdays:
        first, second = second, first
    if second.weekdays and not first.weekdays:
        left = tuple(day for day in first.dates if day.weekday() in second.weekdays)
    else:
        left = tuple(day for day in first.dates if day in second.dates)
    if not left:
        return DayAtom((), problem=Problem.CONTRADICTION)
    problem = next((atom.problem for atom in (first, second) if atom.problem), None)
    return DayAtom(left, problem=problem if len(left) > 1 else None)


def join_days(
    phrases: list[DayPhrase], said: str, today: date, *, soonest: bool = False
) -> tuple[tuple[date, ...], frozenset[Problem]]:
    """All phrases of one role as one set of days, and what is wrong with it. `soonest` makes any day suit that is not
    ruled out.
    """
    whole: DayAtom | None = None
    if soonest and phrases and all(phrase.excluded for phrase in phrases):
        whole = DayAtom(span(today, today + _OPEN_END))
    end = 0
    for phrase in phrases:
        if phrase.excluded:
            continue
        if whole is None:
            whole = phrase.atom
        elif re.search(r"\b(?:or|otherwise|alternatively|failing that)\b", said[end : phrase.start]):
            whole = _either([whole, phrase.atom], whole.problem or phrase.atom.problem)
        else:
            whole = narrow(whole, phrase.atom)
        end = phrase.end
    if whole is None:
        return (), frozenset()
    unfit = [phrase.atom for phrase in phrases if phrase.excluded]
    fit = tuple(day for day in whole.dates if not any(_names(atom, day) for atom in unfit))
    return _judge(replace(whole, dates=fit[:_MOST]), today)


def ruled_out(phrases: list[DayPhrase], today: date) -> frozenset[date]:
    """The days named as not suitable, as far ahead as anybody asks for."""
    unfit = [phrase.atom for phrase in phrases if phrase.excluded]
    ahead = [today + timedelta(days=n) for n in range(_MOST)]
    return frozenset(day for day in ahead if any(_names(atom, day) for atom in unfit))


def _names(atom: DayAtom, day: date) -> bool:
    """Reads "not Friday" leaves no Friday."""
    return day in atom.dates or day.weekday() in atom.weekdays


def _judge(whole: DayAtom, today: date) -> tuple[tuple[date, ...], frozenset[Problem]]:
    problems = {whole.problem} if whole.problem else set()
    if not whole.dates:
        return (), frozenset(problems or {Problem.CONTRADICTION})
    if whole.dates[-1] < today:
        problems.add(Problem.PAST)
    elif whole.problem is not Problem.WHICH_DAY:
        return tuple(day for day in whole.dates if day >= today), frozenset(problems)
    return whole.dates, frozenset(problems)
