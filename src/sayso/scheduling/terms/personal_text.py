"""What the owner of a person's calendar reads before they sign: a rule, a yes, a no (spec section 25.4; SCH-105).

Written by the key app from the document's own bytes and the calendar's verified discovery document.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sayso.core.instants import parse_instant
from sayso.core.money import read_money
from sayso.core.zones import find_zone
from sayso.scheduling.terms.consent_text import Identity
from sayso.scheduling.terms.discovery import Discovery, Weekday, find_service
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.place import AtGuest, Elsewhere
from sayso.scheduling.terms.quoted import named, quoted
from sayso.scheduling.terms.rule import RuleDraft
from sayso.scheduling.terms.spoken import either, spoken_clock, spoken_day, spoken_money, spoken_span, spoken_zone

__all__ = ("answer_text", "rule_text")

_DAYS: dict[Weekday, str] = {
    "mon": "Mondays",
    "tue": "Tuesdays",
    "wed": "Wednesdays",
    "thu": "Thursdays",
    "fri": "Fridays",
    "sat": "Saturdays",
    "sun": "Sundays",
}


def rule_text(draft: RuleDraft, document: Discovery, identity: Identity) -> str:
    """What signing this rule means."""
    zone = find_zone(document.timezone)
    if draft.services is None:
        what = "anything that can be asked for there"
    else:
        what = either([_service(document, each) for each in draft.services])
    days = "" if draft.weekdays is None else f", on {_days(draft.weekdays)} ({spoken_zone(zone.key)})"
    whom = "anybody on my contact list"
    if draft.organisers is not None:
        whom = f"the person with the key {either([each.rpartition(':')[2] for each in draft.organisers])}"
    until = "It lasts until I withdraw it."
    if draft.expires is not None:
        ends = parse_instant(draft.expires)
        until = f"It lasts until {spoken_day(ends, zone)} at {spoken_clock(ends, zone)} {spoken_zone(zone.key)}."
    return " ".join(
        (
            f"My rule {quoted(draft.words)}: at my calendar {identity.said}, my assistant may say yes for me without "
            f"asking me, to {what}{days}, if {whom} asks for it.",
            "That goes for new appointments and for moving them. I may not have seen what it said yes to.",
            "It can never say no for me.",
            until,
            "I can withdraw it at my calendar at any time; what it said yes to by then stays booked until somebody "
            "cancels it.",
            f"The assistant is the one with the key {draft.agent}.",
        )
    )


def _service(document: Discovery, service_id: str) -> str:
    service = find_service(document, service_id)
    return quoted(service_id) if service is None else named(service.title)


def _days(weekdays: Sequence[Weekday]) -> str:
    return either([name for day, name in _DAYS.items() if day in weekdays], "and")


def answer_text(claims: OfferClaims, answer: Literal["yes", "no"], message: str | None, identity: Identity) -> str:
    """What signing this answer to an offer of one's own calendar means."""
    zone = find_zone(claims.timezone)
    end = None if claims.end is None else parse_instant(claims.end)
    person = f" with {named(claims.resource_name)}" if claims.resource_name else ""
    verb = "I accept" if answer == "yes" else "I decline"
    move = "" if claims.change is None else " this move"
    sentences = [
        f"{verb}{move}: {named(claims.service.title)}{person} at my calendar {identity.said}, "
        f"{spoken_span(parse_instant(claims.start), end, zone)}{_place(claims)}, "
        f"asked for by the person with the key {claims.aud.rpartition(':')[2]}."
    ]
    if claims.total is not None:
        sentences.append(f"They pay me {spoken_money(read_money(claims.total))} directly.")
    if answer == "no" and claims.change is not None:
        sentences.append("The appointment stays as it was.")
    if message is not None:
        sentences.append(f"I tell them: {quoted(message)}")
    return " ".join(sentences)


def _place(claims: OfferClaims) -> str:
    if isinstance(claims.place, Elsewhere):
        return f", at {named(claims.place.name)}"
    if isinstance(claims.place, AtGuest):
        return f", at their address ({named(claims.place.postal_code)}, {claims.place.country})"
    return ""
