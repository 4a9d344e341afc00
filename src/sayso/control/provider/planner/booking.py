"""To book: discover_host, find_slots, hold_slot, approve_and_book, and one sentence about what came of it.

Each step is read off what the tools have answered in this turn. What may be held is fixed before the hold: the service,
the window the person named, their ceiling. A start that was taken in the meantime is replaced once by the next best one
inside the same limits.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import time

from sayso.control.provider.planner.conversation import Fact, Turn
from sayso.control.provider.planner.found import Slot, read_catalog, read_no
from sayso.control.provider.planner.language.sheet import tidy
from sayso.control.provider.planner.language.understood import TimeWindow
from sayso.control.provider.planner.limits import Ceiling, find_ceiling
from sayso.control.provider.planner.matching import name_words
from sayso.control.provider.planner.openings import Openings, admits, find_openings, offer_others, wanted_of
from sayso.control.provider.planner.picking import ServiceAt, pick_hosts, pick_offer, unread
from sayso.control.provider.planner.request import Request, Setting
from sayso.control.provider.planner.spoken import sentence
from sayso.control.provider.planner.steps import Call, Say, Step, Topic, asks, done, refused
from sayso.control.provider.planner.telling_no import UNREACHABLE, find_trouble, no_of
from sayso.control.provider.planner.views import text_in, texts_in

__all__ = ("DISCOVER", "book", "discover")

DISCOVER = Call("discover_host")
_TRIES = 2
_CHANGE = re.compile(r"\b(chang|switch|swap)(?:e|ing|ping)? (?:my|the|our)\b")


def discover(turn: Turn, then: str) -> Fact | Step:
    """What discover_host answered, or the call for it, or its refusal."""
    fact = turn.find(DISCOVER)
    if fact is None:
        return DISCOVER
    return no_of(fact, then=then) if fact.is_error else fact


def book(request: Request, turn: Turn, setting: Setting) -> Step:
    """The next step towards a new booking."""
    if trouble := find_trouble(request, setting):
        return trouble
    fact = discover(turn, "Nothing was booked.")
    if not isinstance(fact, Fact):
        return fact
    catalog = read_catalog(fact.result)
    hosts = pick_hosts(request, catalog)
    offer = hosts if isinstance(hosts, Say) else pick_offer(request, hosts)
    if isinstance(offer, Say):
        # Whoever could not be looked at may well offer it.
        return replace(offer, text=f"{unread(catalog)} {offer.text}".strip()) if catalog.hosts else offer
    if _may_mean_a_move(request, offer):
        return asks("Do you want a new booking, or to move one you already have?", Topic.NEW_OR_MOVE)
    ceiling = find_ceiling(request, offer)
    if isinstance(ceiling, Say):
        return ceiling
    return _book_offer(request, turn, setting, offer, ceiling)


def _may_mean_a_move(request: Request, offer: ServiceAt) -> bool:
    """Whether "change my X" may ask for another time: it asks for a service only where the service's name says so."""
    verb = _CHANGE.search(tidy(request.text))
    if verb is None or request.is_sure:
        return False
    return not any(word.startswith(verb[1]) for word in name_words(offer.service.title))


def _book_offer(request: Request, turn: Turn, setting: Setting, offer: ServiceAt, ceiling: Ceiling) -> Step:
    wanted = wanted_of(request, offer, setting.now.astimezone(setting.zone).date())
    if wanted is None:
        return asks(f"Which day would you like for {offer.service.title} at {offer.host.name}?", Topic.DAY)
    openings = find_openings(turn, offer, wanted, ceiling)
    if not isinstance(openings, Openings):
        return openings
    if not openings.starts:
        return offer_others(turn, offer, openings.wanted, ceiling)
    return _hold(turn, offer, openings, ceiling)


def _hold(turn: Turn, offer: ServiceAt, openings: Openings, ceiling: Ceiling) -> Step:
    """Holds the best start; where it was taken, the next best, once."""
    starts = list(openings.starts)
    for _ in range(_TRIES):
        if not starts:
            break
        slot = starts.pop(0)
        call = _hold_call(offer, openings, slot, ceiling)
        fact = turn.find(call)
        if fact is None:
            return call
        if not fact.is_error:
            return _approve(turn, fact)
        no = read_no(fact)
        if no.reason not in ("slot_taken", "SLOT_TAKEN"):
            return no_of(fact, then="Nothing was booked.")
        if no.alternatives:
            starts = [other for other in no.alternatives if _fits(openings, other) and ceiling.admits(other.total)]
    return refused(
        f"{offer.host.name} gave that time to somebody else just now. Nothing was booked. Name another time, or ask "
        "again and I look for one.",
        Topic.TIME,
    )


def _fits(openings: Openings, slot: Slot) -> bool:
    wanted = openings.wanted
    return slot.day in wanted.days and any(admits(window, slot.clock) for window in wanted.windows)


def _hold_call(offer: ServiceAt, openings: Openings, slot: Slot, ceiling: Ceiling) -> Call:
    """The hold, with the limits the person is asked to sign: what they said, and where they said nothing no more than
    the free starts of that day.
    """
    window = openings.window_of(slot)
    that_day = [other.clock for other in openings.starts if other.day == slot.day] or [slot.clock]
    arguments: dict[str, object] = {
        "host": offer.host.host,
        "service_id": offer.service.service_id,
        "start": slot.written,
        "earliest_start": _on_day(slot, window.earliest or min(that_day)),
        "latest_start": _on_day(slot, window.latest or max(that_day)),
    }
    if offer.named is not None:
        arguments["with"] = offer.named
    if ceiling.argument is not None:
        arguments["max_price"] = ceiling.argument
    if asked := _asked(window):
        arguments["asked_start"] = _on_day(slot, asked)
    return Call("hold_slot", arguments)


def _asked(window: TimeWindow) -> time | None:
    """The time the person named, where they named one."""
    return window.near or (window.earliest if window.earliest == window.latest else None)


def _on_day(slot: Slot, clock: time) -> str:
    return f"{slot.day.isoformat()}T{clock:%H:%M}"


def _approve(turn: Turn, held: Fact) -> Step:
    call = Call("approve_and_book", {"hold_id": text_in(held.result, "hold_id")})
    fact = turn.find(call)
    if fact is None:
        return Call(call.tool, call.arguments, said=" ".join(texts_in(held.result, "differs_from_request")))
    if fact.is_error:
        if read_no(fact).reason in UNREACHABLE:
            return no_of(fact, then="Whether it was booked I cannot tell. Ask me later what you have booked.")
        return no_of(fact, then="Nothing was booked.")
    return done(_said_of(fact.result))


def _said_of(result: object) -> str:
    """The last sentence, from what the tool says was agreed."""
    verb = {"requested": "Asked for, not yet confirmed"}.get(text_in(result, "outcome"), "Booked")
    facts = [text_in(result, "what"), text_in(result, "when")]
    lead = sentence(f"{verb}: {', '.join(filter(None, facts)) or 'the held time'}")
    more = [text_in(result, name) for name in ("price", "reconfirm", "cancelling")]
    return " ".join([lead, *(sentence(text) for text in more if text)])
