"""Which service of which host is meant: the person's words against the names that discover_host revealed.

Exactly one has to fit. Several fit or none: one question that names what there is. A host or person who was named
narrows the choice; a name nobody here bears is said to be unknown rather than dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sayso.control.provider.planner.found import Catalog, KnownHost, Service
from sayso.control.provider.planner.matching import find_named, is_named_in, name_words
from sayso.control.provider.planner.request import Request
from sayso.control.provider.planner.spoken import sentence, spoken_list
from sayso.control.provider.planner.steps import Choice, Say, Topic, asks, refused

__all__ = ("ServiceAt", "all_offers", "pick_hosts", "pick_offer", "spoken_offer", "unread")

_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class ServiceAt:
    """A service at a host; `named` is whom of its people the person asked for."""

    host: KnownHost
    service: Service
    named: str | None = None

    @property
    def key(self) -> str:
        """Names it among all offers."""
        return f"{self.host.host} {self.service.service_id}"


def all_offers(hosts: Sequence[KnownHost]) -> tuple[ServiceAt, ...]:
    """Every service of every host, in the order the tool gave."""
    return tuple(ServiceAt(host, service) for host in hosts for service in host.services)


def pick_hosts(request: Request, catalog: Catalog) -> tuple[KnownHost, ...] | Say:
    """The hosts the wish can be about."""
    if not catalog.hosts:
        why = unread(catalog) or catalog.note or "I know no business to ask."
        return refused(f"{why} Nothing was booked.")
    named = tuple(host for host in catalog.hosts if is_named_in(request.text, host.name))
    phrase = request.seen.host or request.seen.person
    if named or phrase is None:
        return named or catalog.hosts
    found = find_named(name_words(phrase), catalog.hosts, lambda host: host.name).fitting
    if found:
        return found
    if request.seen.host and name_words(phrase):
        known = spoken_list([host.name for host in catalog.hosts], "and")
        choices = tuple(Choice(host.name, host.name) for host in catalog.hosts)
        return asks(f"I know no business called “{phrase}”. I know {known}. Where shall it be?", Topic.HOST, choices)
    return catalog.hosts


def unread(catalog: Catalog) -> str:
    """What could not be looked at, as sentences; empty where everything could."""
    return " ".join(sentence(f"I could not read {each}") for each in catalog.unread)


def pick_offer(request: Request, hosts: Sequence[KnownHost]) -> ServiceAt | Say:
    """The one service that is meant."""
    offers = all_offers(hosts)
    settled = [offer for offer in offers if offer.key == request.offer]
    if settled:
        return _with_named(request, settled[0])
    if not offers:
        return refused("Nobody I know offers anything to book. Nothing was booked.")
    words = name_words(request.seen.service or "")
    if not words:
        if len(offers) == 1:
            return _with_named(request, offers[0])
        return _ask_which(offers, "Which service would you like")
    fitting, near = _matching(words, request, offers)
    if len(fitting) == 1:
        return _with_person(request, fitting[0])
    if fitting:
        return _ask_which(fitting, "More than one fits. Which do you mean")
    asked = request.seen.service
    if near:
        return _ask_which(near, f"Nobody I know offers “{asked}” by that name. Do you mean")
    return _ask_which(offers, f"Nobody I know offers “{asked}”. There is")


def _with_named(request: Request, offer: ServiceAt) -> ServiceAt:
    """The offer with whoever of its people was named after "with", where exactly one fits."""
    words = name_words(request.seen.person or "")
    found = find_named(words, offer.service.choose_from, str).fitting if words else ()
    return replace(offer, named=found[0]) if len(found) == 1 else offer


def _with_person(request: Request, offer: ServiceAt) -> ServiceAt | Say:
    """What came after "with" may be one of the host's people, the business, or part of the service's name."""
    person = request.seen.person
    offer = _with_named(request, offer)
    if offer.named is not None:
        return offer
    named = f"{offer.service.title} {offer.host.name}"
    if person is None or any(find_named((word,), [named], str).near for word in name_words(person)):
        return offer
    there = f" There: {spoken_list(offer.service.choose_from, 'or')}." if offer.service.choose_from else ""
    return asks(f"I cannot ask for “{person}” in particular.{there} Shall I go on without that?", Topic.PERSON)


def _matching(words: Sequence[str], request: Request, offers: Sequence[ServiceAt]) -> tuple[tuple[ServiceAt, ...], ...]:
    """What fits the service's words, else what is named anywhere in the wish; and what comes near."""
    found = find_named(words, offers, lambda offer: offer.service.title)
    if len(found.fitting) > 1 and request.seen.person:
        # "a facial with vitamin c": what came after "with" may tell two services apart.
        words = (*words, *name_words(request.seen.person))
        closer = find_named(words, found.fitting, lambda offer: offer.service.title)
        return closer.fitting or found.fitting, found.near
    if found.fitting:
        return found.fitting, found.near
    anywhere = tuple(offer for offer in offers if is_named_in(request.text, offer.service.title))
    return anywhere, found.near


def _ask_which(offers: Sequence[ServiceAt], lead: str) -> Say:
    several = len({offer.host.host for offer in offers}) > 1
    choices = tuple(Choice(offer.key, spoken_offer(offer, with_host=several)) for offer in offers[:_MOST_NAMED])
    more = f", and {len(offers) - _MOST_NAMED} more" if len(offers) > _MOST_NAMED else ""
    return asks(f"{lead}: {spoken_list([choice.label for choice in choices])}{more}?", Topic.SERVICE, choices)


def spoken_offer(offer: ServiceAt, *, with_host: bool = True) -> str:
    """A service in a list: its title, and where."""
    return f"{offer.service.title} at {offer.host.name}" if with_host else offer.service.title
