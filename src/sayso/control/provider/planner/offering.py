"""Answers to what is offered, what it costs and when it is free, without holding or booking anything."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sayso.control.provider.planner.booking import discover
from sayso.control.provider.planner.conversation import Fact, Turn
from sayso.control.provider.planner.found import KnownHost, Slot, read_catalog
from sayso.control.provider.planner.language.sheet import tidy
from sayso.control.provider.planner.limits import Ceiling
from sayso.control.provider.planner.matching import find_named, name_words
from sayso.control.provider.planner.openings import Openings, Wanted, find_openings, offer_others, wanted_of
from sayso.control.provider.planner.picking import ServiceAt, all_offers, pick_hosts, pick_offer
from sayso.control.provider.planner.request import Request, Setting
from sayso.control.provider.planner.spoken import sentence, spoken_day, spoken_list, spoken_moment, spoken_time
from sayso.control.provider.planner.steps import Say, Step, done
from sayso.control.provider.planner.telling_no import find_trouble

__all__ = ("tell_offers",)

_MOST_TIMES = 8
_ASKS_WHEN = re.compile(r"\b(?:when|how soon|earliest|soonest|free|availab\w+|openings?|slots?|times)\b")


def tell_offers(request: Request, turn: Turn, setting: Setting) -> Step:
    """The next step towards an answer."""
    if trouble := find_trouble(request, setting):
        return trouble
    fact = discover(turn, "")
    if not isinstance(fact, Fact):
        return fact
    hosts = pick_hosts(request, read_catalog(fact.result))
    if isinstance(hosts, Say):
        return hosts
    named = find_named(name_words(request.seen.service or ""), all_offers(hosts), lambda offer: offer.service.title)
    asks_when = bool(_ASKS_WHEN.search(tidy(request.text)) or request.seen.days or request.seen.soonest)
    if len(named.fitting) > 1 and not asks_when:
        return done("\n".join(_told(offer) for offer in named.fitting))
    if not named.fitting and not request.seen.service:
        return done("\n".join(_told_host(host) for host in hosts))
    offer = pick_offer(request, hosts)
    if isinstance(offer, Say):
        return offer
    return _tell_times(request, turn, setting, offer) if asks_when else done(_told(offer))


def _told_host(host: KnownHost) -> str:
    offers = [_about(ServiceAt(host, service)) for service in host.services]
    return f"{host.name} offers: {'; '.join(offers)}." if offers else f"{host.name} offers nothing to book."


def _told(offer: ServiceAt) -> str:
    return f"{_about(offer, at=f' at {offer.host.name}')}."


def _about(offer: ServiceAt, at: str = "") -> str:
    service = offer.service
    about = ", ".join(filter(None, (service.takes, service.price_in_words)))
    return f"{service.title}{at}{f' ({about})' if about else ''}"


def _tell_times(request: Request, turn: Turn, setting: Setting, offer: ServiceAt) -> Step:
    today = setting.now.astimezone(setting.zone).date()
    wanted = wanted_of(request, offer, today) or wanted_of(request.soon(), offer, today)
    assert wanted is not None
    openings = find_openings(turn, offer, wanted, Ceiling())
    if not isinstance(openings, Openings):
        return openings
    if not openings.starts:
        return offer_others(turn, offer, openings.wanted, Ceiling())
    return done(_told_times(offer, openings.wanted, openings.starts))


def _told_times(offer: ServiceAt, wanted: Wanted, starts: Sequence[Slot]) -> str:
    first = sorted(starts, key=lambda slot: slot.start)
    one_day = len(wanted.days) == 1
    named = [spoken_time(slot.clock) if one_day else spoken_moment(slot.start) for slot in first[:_MOST_TIMES]]
    more = f", and {len(first) - _MOST_TIMES} more" if len(first) > _MOST_TIMES else ""
    day = f" on {spoken_day(wanted.days[0])}" if one_day else ""
    return sentence(f"{_about(offer, at=f' at {offer.host.name}')}, free{day}: {spoken_list(named, 'and')}{more}")
