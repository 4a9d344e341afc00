"""Takes a person's next words: as an answer to what was last said, as a better version of that wish, or as a new one.

The question is known by its topic and choices. An answer that says nothing to it is not guessed at: the question stands
and is asked again.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

from sayso.control.provider.planner.language.intent import books_firmly, cancels_firmly
from sayso.control.provider.planner.language.numbers import ORDINAL, read_number, read_ordinal
from sayso.control.provider.planner.language.sheet import tidy
from sayso.control.provider.planner.language.understand import understand
from sayso.control.provider.planner.language.understood import DENIALS, Intent, Problem, TimeWindow, Understood
from sayso.control.provider.planner.matching import name_words
from sayso.control.provider.planner.request import Request, Setting, other_half
from sayso.control.provider.planner.steps import Choice, Say, Topic

__all__ = ("next_request",)

_NO = re.compile(
    r"(?:no|nope|nah|never ?mind|forget (?:it|that|about it)|stop|nothing|none(?: of (?:them|those))?|cancel(?: that)?"
    r"|leave it|don't bother|no,? thanks?(?: you)?|neither)[.! ]*"
)
_YES = re.compile(r"(?:yes|yep|yeah|yup|sure|ok|okay|please|please do|go ahead|that one|correct|right|do it|fine)\b.*")
_AGAIN = re.compile(r"\bagain\b|\bretry\b|\banother\b|\byes\b|\bplease\b|\bok(?:ay)?\b")
_AM = re.compile(r"\b(?:a\.?m\.?|mornings?)(?!\w)")
_PM = re.compile(r"\b(?:p\.?m\.?|afternoons?|evenings?|night|tonight)(?!\w)")
_CANCEL = re.compile(r"\bcancel|\bcall (?:it )?off|\bdrop\b")
_MOVE = re.compile(r"\bmov|\breschedul|\bchange|\bother time|\bpostpone|\bshift")
_NEW = re.compile(r"\bnew\b|\bbook|\banother\b|\bsecond\b")
# How a bare number is to be read, by what was asked about.
_LEADS = {Topic.DAY: "on the ", Topic.TIME: "at ", Topic.HALF: "at ", Topic.SLOT: "at ", Topic.PRICE: "pay "}
_FIGURE = re.compile(r"(?:-|\b(?:minus|negative) )?\b[0-9][^\s!?]*")
_POSITION = re.compile(
    r"(?:(?:i'll take|let's do|give me|take|yes|ok|okay|number|option|choice|the)[, ]+)*"
    rf"(?P<place>{ORDINAL}|[1-9]|one|two|three|four|five|last)(?: (?:one|option|slot|time|choice|day|booking))?"
    r"(?:,? please)?[.! ]*"
)


def next_request(previous: Request | None, said: Say | None, text: str, setting: Setting) -> Request:
    """The wish after `text`, given the one before it and what was last said about that."""
    seen = understand(text, setting.now, setting.zone)
    if previous is not None and _takes_up(previous, seen):
        return _with_when(previous.with_intent(Intent.BOOK), seen)
    if previous is None or said is None or said.topic is None or _is_new(seen, text, said):
        return Request(text=text, seen=seen, is_sure=_is_sure(text))
    if _NO.fullmatch(tidy(text)):
        return replace(previous, is_dropped=True)
    if DENIALS & seen.problems:
        # "Not the second one" names the second one, and does not take it.
        return replace(previous, is_dropped=Problem.CALLED_OFF in seen.problems, is_puzzled=True)
    settled = _settle(previous, said, text, seen, setting)
    if settled is not None:
        return replace(settled, is_puzzled=False)
    merged = _merge(previous, said.topic, text, seen, setting)
    return merged or replace(previous, is_puzzled=True)


def _takes_up(previous: Request, seen: Understood) -> bool:
    """Whether "book the two o'clock one" follows an answer about what is free."""
    names_when = bool(seen.times or seen.days)
    is_booking = seen.intent is Intent.BOOK and not DENIALS & seen.problems
    return previous.seen.intent is Intent.DISCOVER and is_booking and not seen.service and names_when


def _is_sure(text: str) -> bool:
    return cancels_firmly(tidy(text))


def _is_new(seen: Understood, text: str, said: Say) -> bool:
    """Whether the words are a whole wish of their own."""
    if said.topic in (Topic.CANCEL_OR_MOVE, Topic.NEW_OR_MOVE):
        return False
    if seen.intent in (Intent.STATUS, Intent.DISCOVER):
        return True
    if seen.intent in (Intent.CANCEL, Intent.MOVE):
        return seen.service is not None
    return seen.intent is Intent.BOOK and seen.service is not None and books_firmly(tidy(text))


def _settle(request: Request, said: Say, text: str, seen: Understood, setting: Setting) -> Request | None:
    """The wish once one of the choices is taken; None where the words take none."""
    words = tidy(text)
    match said.topic:
        case Topic.CANCEL_OR_MOVE | Topic.NEW_OR_MOVE:
            return _settle_intent(request, said.topic, words, seen)
        case Topic.HALF if bool(_AM.search(words)) != bool(_PM.search(words)) and not re.search("[0-9]", words):
            return request.with_half("am" if _AM.search(words) else "pm")
        case Topic.DAY:
            return _settle_day(request, words, seen, said.choices)
        case Topic.TIME if _AGAIN.search(words) and not _tells(seen):
            return request
        case Topic.SLOT:
            at_hour = understand(_LEADS[Topic.SLOT] + text, setting.now, setting.zone)
            slot = _pick_slot(words, seen if _tells(seen) else at_hour, said.choices)
            return request.at(slot) if slot else None
        case Topic.PERSON if _YES.fullmatch(words):
            return replace(request, seen=replace(request.seen, person=None))
        case Topic.SERVICE | Topic.BOOKING | Topic.HOST:
            choice = _pick(words, said.choices)
            return _with_choice(request, said.topic, choice.key, seen) if choice else None
        case _:
            return None


def _settle_day(request: Request, words: str, seen: Understood, choices: tuple[Choice, ...]) -> Request | None:
    days = tuple(day for day in seen.days if day.isoformat() in {choice.key for choice in choices})
    if len(days) == 1:
        return _with_when(request, replace(seen, days=days, problems=seen.problems & {Problem.AM_PM}))
    picked = _by_position(words, choices)
    return request.with_days((datetime.fromisoformat(picked.key).date(),)) if picked else None


def _with_choice(request: Request, topic: Topic, key: str, seen: Understood) -> Request:
    """The wish with the choice, and with another time where the same words name one."""
    if topic is Topic.BOOKING:
        return replace(request, booking_id=key)
    request = _with_when(request, seen)
    if topic is Topic.HOST:
        return replace(request, seen=replace(request.seen, host=key, person=None))
    return replace(request, offer=key)


def _settle_intent(request: Request, topic: Topic, words: str, seen: Understood) -> Request | None:
    if _MOVE.search(words):
        moved = request.with_intent(Intent.MOVE)
        return _with_when(moved, seen) if topic is Topic.CANCEL_OR_MOVE else moved
    if topic is Topic.CANCEL_OR_MOVE and (_CANCEL.search(words) or _YES.fullmatch(words)):
        return request.with_intent(Intent.CANCEL)
    if topic is Topic.NEW_OR_MOVE and _NEW.search(words):
        return replace(request, is_sure=True)
    return None


def _pick(words: str, choices: tuple[Choice, ...]) -> Choice | None:
    """The one choice that the words name, by its words or its place in the list."""
    said = set(name_words(words))
    overlaps = [(len(said & set(name_words(choice.label))), choice) for choice in choices]
    best = max((count for count, _ in overlaps), default=0)
    named = [choice for count, choice in overlaps if count == best]
    if best and len(named) == 1:
        return named[0]
    if len(choices) == 1 and _YES.fullmatch(words):
        return choices[0]
    return None if best else _by_position(words, choices)


def _by_position(words: str, choices: tuple[Choice, ...]) -> Choice | None:
    """The choice that "the first one", "2" or "the last" names, where the words say nothing else."""
    found = _POSITION.fullmatch(words)
    if found is None:
        return None
    name = found["place"]
    if name == "last":
        place = len(choices) - 1
    elif re.fullmatch(ORDINAL, name):
        place = read_ordinal(name) - 1
    else:
        place = read_number(name) - 1
    return choices[place] if 0 <= place < len(choices) else None


def _pick_slot(words: str, seen: Understood, choices: tuple[Choice, ...]) -> datetime | None:
    """The offered start that the words name; a bare figure is an hour before it is a place in the list."""
    starts = [datetime.fromisoformat(choice.key) for choice in choices]
    fitting = [start for start in starts if _names_start(seen, start)]
    if len(fitting) == 1:
        return fitting[0]
    if len(starts) == 1 and _YES.fullmatch(words):
        return starts[0]
    choice = _by_position(words, choices)
    return datetime.fromisoformat(choice.key) if choice else None


def _names_start(seen: Understood, start: datetime) -> bool:
    if not seen.times and not seen.days:
        return False
    if seen.days and start.date() not in seen.days:
        return False
    readings = [w for window in seen.times for w in ((window, other_half(window)) if window.either_half else (window,))]
    return not readings or any(_admits(window, start) for window in readings)


def _admits(window: TimeWindow, start: datetime) -> bool:
    clock = start.time()
    return (window.earliest is None or window.earliest <= clock) and (window.latest is None or clock <= window.latest)


def _merge(request: Request, topic: Topic, text: str, seen: Understood, setting: Setting) -> Request | None:
    """The wish with what the words add to it; None where they add nothing."""
    if topic in _LEADS and not _tells(seen):
        bare = _FIGURE.search(tidy(text)) if topic is Topic.PRICE else None
        seen = understand(_LEADS[topic] + (bare[0] if bare else text), setting.now, setting.zone)
    if not _tells(seen) and not (topic is Topic.SERVICE and seen.words):
        return None
    merged = _with_when(request, seen)
    kept = merged.seen
    if seen.price or Problem.PRICE in seen.problems:
        open_price = seen.problems & {Problem.PRICE}
        kept = replace(kept, price=seen.price or kept.price, problems=kept.problems - {Problem.PRICE} | open_price)
    if topic is Topic.SERVICE and seen.words:
        kept = replace(kept, service=" ".join(seen.words), words=seen.words)
    elif seen.service and seen.intent is request.seen.intent:
        kept = replace(kept, service=seen.service, words=seen.words)
    host, person = seen.host or kept.host, seen.person or kept.person
    kept = replace(kept, host=host, person=person)
    return replace(merged, text=f"{request.text} / {text}", seen=kept, is_puzzled=False)


def _tells(seen: Understood) -> bool:
    told = (seen.days, seen.times, seen.price, seen.soonest, seen.shift, seen.done_by, seen.host, seen.problems,
            seen.not_days)  # fmt: skip
    return any(told)


def _with_when(request: Request, seen: Understood) -> Request:
    """The wish with new days and times where the words name any. A day once ruled out is only back when it is named."""
    named = seen.days if seen.not_days.isdisjoint(seen.days) and len(seen.days) == 1 else ()
    not_days = (request.seen.not_days | seen.not_days).difference(named)
    request = replace(request, seen=replace(request.seen, not_days=not_days))
    on_days = seen.problems - {Problem.AM_PM, Problem.PRICE}
    if seen.days or (on_days and not seen.times):
        request = request.with_days(seen.days, on_days)
    if seen.times or Problem.AM_PM in seen.problems:
        request = request.with_times(seen.times, seen.problems - {Problem.PRICE, Problem.WHICH_DAY})
    changes = replace(request.seen, soonest=seen.soonest or request.seen.soonest)
    if seen.shift is not None:
        changes = replace(changes, shift=seen.shift)
    if seen.done_by is not None:
        changes = replace(changes, done_by=seen.done_by)
    return replace(request, seen=changes)
