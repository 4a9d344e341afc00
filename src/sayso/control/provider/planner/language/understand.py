"""Reads one message of a person: what they want, of which service, when and for how much at most.

A pure function of the text, the present instant and the zone that its days and times are meant in. It never raises,
and it decides nothing: what is ambiguous, contradictory, impossible or past is named in `problems` for `plan` to ask
about. Grammar and closed word classes only; the names of services, businesses and people come from tools.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from sayso.control.provider.planner.language.clock_atoms import Clock, mark_clocks, mark_hours
from sayso.control.provider.planner.language.day_atoms import mark_days
from sayso.control.provider.planner.language.day_parts import mark_parts
from sayso.control.provider.planner.language.day_readers import DayAtom
from sayso.control.provider.planner.language.days import DayPhrase, find_days, join_days, mark_groups, ruled_out
from sayso.control.provider.planner.language.denials import find_denials
from sayso.control.provider.planner.language.intent import find_intent, two_wishes
from sayso.control.provider.planner.language.moving import split_old_and_new, take_shift
from sayso.control.provider.planner.language.numbers import COUNT, read_number
from sayso.control.provider.planner.language.prices import find_price, mark_amounts
from sayso.control.provider.planner.language.sheet import LONGEST, Sheet, tidy
from sayso.control.provider.planner.language.subject import content_words, find_subject
from sayso.control.provider.planner.language.times import Piece, Shape, find_pieces
from sayso.control.provider.planner.language.understood import Intent, Problem, TimeWindow, Understood
from sayso.control.provider.planner.language.windows import Times, join_pieces

__all__ = ("understand",)

_SOON = re.compile(
    r"\b(?:as (?:soon|early|quick(?:ly)?) as (?:possible|you can|they can|we can|can be)|a\.?s\.?a\.?p\b\.?"
    r"|(?:(?:your|the|their) )?(?:first|earliest|soonest|next) (?:possible )?(?:available|free|open|possible)"
    r"(?: (?:appointment|slot|time|opening|one|spot|date|day))?"
    r"|(?:your|the|their) (?:earliest|soonest)(?: (?:appointment|slot|time|opening|one|spot|date|day))?"
    r"|right away|right now|immediately|urgently|straight away|the sooner the better|earliest (?:slot|time|opening"
    r"|appointment))(?!\w)"
)
_ANY_TIME = re.compile(
    r"\b(?:whenever(?: (?:you|they|is|it's|suits|works)\b[\w' ]{0,20})?|any ?day(?: (?:works|is (?:fine|ok|good)"
    r"|will do))?"
    r"|any ?time(?: (?:works|is (?:fine|ok|good)|will do))?|don't (?:care|mind) when|no (?:rush|preference))\b"
)
_AHEAD = re.compile(
    rf"\bin (?:about )?(?P<count>half an|{COUNT}) (?P<unit>minute|min|hour|hr)s?\b(?:'s?)?(?: time)?"
    rf"|\b(?P<count2>{COUNT}) (?P<unit2>minute|min|hour|hr)s? from now\b"
)
_CLOSE = re.compile(r" ?,? ?")
_CANNOT_MAKE = re.compile(r"(?:ca|could|wo)n't\b")
_FARTHEST_MINUTES = 48 * 60


@dataclass(frozen=True, slots=True)
class _When:
    """Days and times of one role, and what is wrong with them."""

    days: tuple[date, ...]
    times: Times
    problems: frozenset[Problem]


def understand(text: str, now: datetime, zone: ZoneInfo) -> Understood:
    """What `text` says when it is said at `now` (aware) by someone whose clock shows `zone`."""
    seen = _read(text, now, zone)
    # What is left unread of a long one may take back all that was read.
    return seen if len(text) <= LONGEST else replace(seen, problems=seen.problems | {Problem.DENIED})


def _read(text: str, now: datetime, zone: ZoneInfo) -> Understood:
    local = now.astimezone(zone)
    today = local.date()
    sheet = Sheet(tidy(text))
    mark_amounts(sheet)
    shift = take_shift(sheet)
    soonest = bool(list(sheet.use(_SOON)))
    ahead = _take_ahead(sheet, local)
    mark_days(sheet, today)
    mark_groups(sheet)
    mark_clocks(sheet)
    mark_parts(sheet)
    mark_hours(sheet)
    intent, marked = find_intent(sheet), sheet.text
    if intent is Intent.UNKNOWN:
        return Understood(words=content_words(sheet.said), problems=find_denials(marked, marked, intent))
    if shift is not None and intent not in (Intent.CANCEL, Intent.STATUS):
        intent = Intent.MOVE
    wishes = two_wishes(sheet) if intent in (Intent.CANCEL, Intent.BOOK) else None
    days = find_days(sheet, today, moving=intent is Intent.MOVE)
    denied: frozenset[Problem] = frozenset()
    if intent is Intent.CANCEL:
        days, denied = _meant(days, sheet.said)
    pieces = find_pieces(sheet, moving=intent is Intent.MOVE)
    days += [DayPhrase(p.start, p.end, DayAtom((today,))) for p in pieces if p.part and p.part.today]
    if ahead:
        days, pieces = [*days, ahead[0]], [*pieces, ahead[1]]
    old, new = _both(sheet.said, days, pieces, local, moving=intent is Intent.MOVE, soonest=soonest)
    price, price_problems = find_price(sheet)
    anytime = bool(list(sheet.use(_ANY_TIME)))
    denied |= find_denials(marked, sheet.text, intent)
    subject = find_subject(sheet)
    if intent is None:
        told = new.days or new.times.windows or new.problems or price or soonest
        intent = Intent.BOOK if subject.service and told else Intent.UNKNOWN
    return Understood(
        intent=wishes or intent,
        service=subject.service if intent is not Intent.UNKNOWN else None,
        host=subject.host,
        person=subject.person,
        days=new.days,
        times=new.times.windows,
        done_by=new.times.done_by,
        soonest=soonest or (anytime and not new.days),
        price=price,
        shift=shift,
        from_days=old.days,
        from_times=old.times.windows,
        problems=old.problems | new.problems | price_problems | denied | ({Problem.CONTRADICTION} if wishes else set()),
        words=subject.words,
        not_days=ruled_out(days, today),
    )


def _meant(days: list[DayPhrase], said: str) -> tuple[list[DayPhrase], frozenset[Problem]]:
    """The day somebody cannot make tells which booking to cancel; one that is not meant is asked about."""
    is_denied = any(day.excluded and not _CANNOT_MAKE.match(said, day.start) for day in days)
    return [replace(day, excluded=False) for day in days], frozenset({Problem.DENIED} if is_denied else ())


def _take_ahead(sheet: Sheet, local: datetime) -> tuple[DayPhrase, Piece] | None:
    """Reads "in two hours": a day and the earliest start on it."""
    for match in sheet.use(_AHEAD):
        count, unit = match["count"] or match["count2"], match["unit"] or match["unit2"]
        minutes = 30 if count.startswith("half") else read_number(count) * (60 if unit.startswith("h") else 1)
        then = local + timedelta(minutes=min(minutes, _FARTHEST_MINUTES))
        clock = Clock(then.hour * 60 + then.minute)
        return (
            DayPhrase(match.start(), match.end(), DayAtom((then.date(),))),
            Piece(match.start(), match.end(), Shape.FROM, (clock,)),
        )
    return None


def _both(
    said: str, days: list[DayPhrase], pieces: list[Piece], local: datetime, *, moving: bool, soonest: bool
) -> tuple[_When, _When]:
    """What tells the old booking and what tells the new time."""
    days.sort(key=lambda phrase: phrase.start)
    pieces.sort(key=lambda piece: piece.start)
    if not moving:
        return _when(said, [], [], local), _when(said, days, pieces, local, soonest=soonest)
    split = split_old_and_new(said, days, pieces)
    return _when(said, split.old_days, split.old_times, local), _when(said, split.new_days, split.new_times, local)


def _when(said: str, phrases: list[DayPhrase], pieces: list[Piece], local: datetime, *, soonest: bool = False) -> _When:
    days, problems = join_days(phrases, said, local.date(), soonest=soonest)
    times = join_pieces(pieces, said)
    if _are_pairs(phrases, pieces, said) or _is_moment_to_be_done_by(phrases, pieces, said):
        return _When((), Times(problems=frozenset({Problem.CONTRADICTION})), frozenset({Problem.CONTRADICTION}))
    return _weigh_past(_When(days, times, problems | times.problems), local)


def _are_pairs(phrases: list[DayPhrase], pieces: list[Piece], said: str) -> bool:
    """Reads "Thursday at 2 or Friday at 4": two whole wishes, which days and times apart cannot hold."""
    if len(phrases) < 2 or len(pieces) < 2:
        return False
    first, second = phrases[0], phrases[1]
    is_between = any(first.end <= piece.start < second.start for piece in pieces)
    is_after = any(piece.start >= second.end for piece in pieces)
    return is_between and is_after and bool(re.search(r"\bor\b", said[first.end : second.start]))


def _is_moment_to_be_done_by(phrases: list[DayPhrase], pieces: list[Piece], said: str) -> bool:
    """Whether "by Friday at noon" was said: one last moment, which days and times apart cannot hold."""
    return any(
        phrase.is_deadline and piece.shape is Shape.EXACT and _CLOSE.fullmatch(said[phrase.end : piece.start])
        for phrase in phrases
        for piece in pieces
    )


def _weigh_past(when: _When, local: datetime) -> _When:
    """Takes account of the time of day: today at a time gone by is past, and is no reading of a weekday's name."""
    today, gone = local.date(), when.times.windows and all(_is_gone(w, local.time()) for w in when.times.windows)
    if not gone or today not in when.days:
        return when
    if when.days == (today,):
        return _When(when.days, when.times, when.problems | {Problem.PAST})
    left = tuple(day for day in when.days if day != today)
    problems = when.problems - {Problem.WHICH_DAY} if len(left) == 1 else when.problems
    return _When(left, when.times, problems)


def _is_gone(window: TimeWindow, at: time) -> bool:
    """Whether every start in the window has gone by, in its later reading where it has two."""
    latest = window.latest or time.max
    if window.either_half and latest.hour < 12:
        latest = latest.replace(hour=latest.hour + 12)
    return latest < at.replace(tzinfo=None)
