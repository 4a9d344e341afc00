"""From what an assistant asks to hold to the limits a person would sign (spec section 16.2; SCH-077, SCH-345).

Pure but for the document handed in. The same arguments always give the same draft, so that a question asked once can
be recognised when its answer comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from sayso.core import strictjson
from sayso.core.durations import parse_duration
from sayso.core.instants import write_local
from sayso.core.money import MINOR_DIGITS, Money, MoneyText, percent, read_money, write_money
from sayso.core.refusal import Refused
from sayso.core.zones import find_zone
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.consent_text import tells_sentence
from sayso.scheduling.terms.discovery import Discovery, SelectableResource, Service, Tax, find_service
from sayso.scheduling.terms.draft import LimitsDraft, Telling
from sayso.scheduling.terms.guest_details import GuestDetails
from sayso.scheduling.terms.mandate import TimeWindow
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.scheduling.terms.quoted import named
from sayso.scheduling.terms.spoken import spoken_clock, spoken_day, spoken_money
from sayso.scheduling.tools.arguments import Ceiling, HoldSlot
from sayso.scheduling.tools.moments import read_moment

__all__ = (
    "LIFETIME",
    "Wanted",
    "all_in",
    "asked_bytes",
    "differences",
    "may_tell",
    "named_resource",
    "named_service",
    "read_ceiling",
    "read_wanted",
    "span_of",
)

_TOLD: Final[tuple[Telling, ...]] = ("name", "contact", "attendee")
LIFETIME = "PT1H"
"""How long a buying mandate lives (SCH-085, SCH-102)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A slot to hold and the limits around it. `mentioned` says whether the person named a price."""

    service: Service
    start: datetime
    end: datetime | None
    asked_start: datetime | None
    ceiling: Money | None
    mentioned: bool
    draft: LimitsDraft
    resource: SelectableResource | None = None

    @property
    def document(self) -> bytes:
        """The draft's bytes, which the key app reads."""
        return strictjson.encode(self.draft)

    @property
    def subject(self) -> str:
        """The draft's hash: what a mandate for it is kept under."""
        return sha256_b64u(self.document)


def named_service(document: Discovery, service_id: str) -> Service:
    """Refused: unknown_service, naming those there are."""
    service = find_service(document, service_id)
    if service is None:
        known = ", ".join(f"{named(each.title)} ({each.id})" for each in document.services)
        raise refused("unknown_service", f"{named(document.title)} offers no {service_id!r}. It offers: {known}.")
    return service


def named_resource(document: Discovery, service: Service, wished: str | None) -> SelectableResource | None:
    """Whom or what the person asked for, by name or id. Refused: unknown_resource, naming those there are."""
    if wished is None:
        return None
    choices = [each for each in document.resources if each.id in service.choose_from]
    for choice in choices:
        if wished.casefold() in (choice.title.casefold(), choice.id.casefold()):
            return choice
    there = f"There: {', '.join(named(each.title) for each in choices)}." if choices else "Nobody can be chosen for it."
    what = named(service.title)
    raise refused("unknown_resource", f"{named(document.title)} has no {wished!r} for {what}. {there}", place="$.with")


def span_of(service: Service) -> timedelta:
    """How long the window reaches past the latest start: the service's length, nothing for an open-ended one."""
    return timedelta(0) if service.duration == "open" else parse_duration(service.duration)


def all_in(service: Service, taxes: tuple[Tax, ...]) -> Money | None:
    """The total that the stated price and taxes come to; the offer's own total is what counts."""
    if service.price is None:
        return None
    price = read_money(service.price)
    return Money(price.minor + sum(percent(price, tax.basis_points).minor for tax in taxes), price.currency)


def read_ceiling(ceiling: Ceiling, currency: str | None) -> Money:
    """The amount in its currency's own digits: `100` is 100.00. Refused: outside_request."""
    code = ceiling.currency or currency
    if code is None:
        raise refused("outside_request", "max_price needs a currency here.", place="$.max_price.currency")
    whole, _, fraction = ceiling.amount.partition(".")
    digits = MINOR_DIGITS.get(code, 0)
    amount = f"{whole}.{fraction.ljust(digits, '0')}" if digits else ceiling.amount
    try:
        return read_money(MoneyText(amount=amount, currency=code))
    except Refused as error:
        raise refused("outside_request", f"max_price: {error.refusal.message}.", place="$.max_price") from None


def read_wanted(
    ask: HoldSlot, document: Discovery, agent: str, now: datetime, details: GuestDetails | None = None
) -> Wanted:
    """What is to be held, and the draft of limits.

    Refused: unknown_service, unknown_resource, outside_request, in_the_past.
    """
    service, zone = named_service(document, ask.service_id), find_zone(document.timezone)
    start = read_moment(ask.start, zone, "start")
    earliest = read_moment(ask.earliest_start, zone, "earliest_start") if ask.earliest_start else start
    latest = read_moment(ask.latest_start, zone, "latest_start") if ask.latest_start else start
    if start <= now:
        raise refused("in_the_past", f"{spoken_day(start, zone)} at {spoken_clock(start, zone)} has passed.")
    if not earliest <= start <= latest:
        raise refused("outside_request", "The start is outside what the person would accept.", place="$.start")
    span = span_of(service)
    total = all_in(service, document.taxes)
    ceiling = total if ask.max_price is None else read_ceiling(ask.max_price, total.currency if total else None)
    # An open-ended appointment is bounded by its start alone, so its window must still hold that one instant.
    closes = latest + (span or timedelta(minutes=1))
    draft = LimitsDraft(
        host=document.host,
        agent=agent,
        scope=("hold", "book", "cancel", "reschedule"),
        services=(service.id,),
        window=TimeWindow(not_before=write_local(earliest, zone), not_after=write_local(closes, zone)),
        max_bookings=1,
        lifetime=LIFETIME,
        max_price=None if ceiling is None else write_money(ceiling),
        tells=() if details is None else tuple(each for each in _TOLD if getattr(details, each) is not None),
    )
    return Wanted(
        service=service,
        start=start,
        end=start + span if span else None,
        asked_start=read_moment(ask.asked_start, zone, "asked_start") if ask.asked_start else None,
        ceiling=ceiling,
        mentioned=ask.max_price is not None,
        draft=draft,
        resource=named_resource(document, service, ask.named),
    )


def may_tell(wanted: Wanted, document: Discovery, limits: str) -> bool:
    """Whether the limits a hold is placed under say that this host may be told what there is to tell. Limits that were
    signed for something else, or for several hosts at once, may cover the hold and say nothing of it (SCH-208).
    """
    tells = wanted.draft.tells
    return bool(tells) and tells_sentence(tells, document.title) in verify_mandate(limits).claims.consent.statement


def differences(wanted: Wanted, document: Discovery, total: MoneyText | None) -> list[str]:
    """What is not as the person asked, in sentences: another time, a price not mentioned or above their limit."""
    zone = find_zone(document.timezone)
    found = []
    if wanted.asked_start is not None and wanted.asked_start != wanted.start:
        found.append(
            f"It starts on {spoken_day(wanted.start, zone)} at {spoken_clock(wanted.start, zone)}, and not on "
            f"{spoken_day(wanted.asked_start, zone)} at {spoken_clock(wanted.asked_start, zone)} as asked."
        )
    if total is not None and not wanted.mentioned:
        found.append(f"It costs {spoken_money(read_money(total))} in total, and no price was mentioned.")
    if total is not None and wanted.ceiling is not None and wanted.mentioned:
        money = read_money(total)
        if money.currency != wanted.ceiling.currency or money.minor > wanted.ceiling.minor:
            found.append(f"It costs {spoken_money(money)}, above the limit of {spoken_money(wanted.ceiling)}.")
    return found


def asked_bytes(ask: msgspec.Struct) -> bytes:
    """The arguments as they are kept beside what they led to."""
    return strictjson.encode(ask)
