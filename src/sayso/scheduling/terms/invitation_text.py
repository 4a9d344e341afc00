"""The sentences a participant says yes to: that their assistant may read an invitation, and each of the two answers.

Spec section 24.7; SCH-104, SCH-169, SCH-243, SCH-244, SCH-247. Written from the contract's own bytes and from the
reader's side: what it is, for whom they answer, who else is asked, what becomes of it, who pays and who keeps what.
"""

from __future__ import annotations

from datetime import timedelta

from sayso.core.durations import write_duration
from sayso.core.instants import parse_instant
from sayso.core.money import read_money
from sayso.core.zones import find_zone
from sayso.scheduling.terms.company_text import said_names, said_until
from sayso.scheduling.terms.consent_text import Identity, revocation
from sayso.scheduling.terms.draft import InvitationDraft
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.participant import Participant
from sayso.scheduling.terms.place import AtGuest, Elsewhere, Place
from sayso.scheduling.terms.quoted import named
from sayso.scheduling.terms.spoken import spoken_money, spoken_period, spoken_span

__all__ = ("READS_FOR", "coming_text", "invitation_text", "not_coming_text")

READS_FOR = timedelta(days=7)
"""How long a permission to read one invitation lasts."""


def invitation_text(draft: InvitationDraft, identity: Identity, *, revocable: bool = False) -> str:
    """What a mandate to read one invitation allows."""
    lasts = spoken_period(write_duration(READS_FOR))
    return (
        f"I allow my assistant to read the invitation to booking {draft.booking_id} at {identity.said}. "
        "It may not answer it: whether I come, I say myself. "
        f"My permission lasts {lasts} from when I sign. {revocation(identity, revocable=revocable)}"
    )


def coming_text(claims: OfferClaims, identity: Identity, entry: Participant) -> str:
    """What accepting exactly this contract means to one of its participants."""
    sentences = [f"I accept this invitation: {_what(claims, identity)}."]
    sentences += _about_me(entry)
    others = [each for each in claims.participants if each.principal != entry.principal]
    if others:
        verb = "is" if len(others) == 1 else "are"
        sentences.append(f"{said_names(others)} {verb} asked along, too.")
    if claims.total is not None:
        total = spoken_money(read_money(claims.total))
        sentences.append(f"Whoever made the booking pays {identity.called} {total}; I pay nothing.")
    if claims.answer_by is not None and claims.change is None:
        sentences.append(
            f"{identity.called} answers by {said_until(claims, claims.answer_by)}; if it does not, nothing is booked."
        )
    kept = spoken_period(claims.retention)
    sentences.append(f"{identity.called} keeps the booking's details for {kept} after the booking.")
    return " ".join(sentences)


def not_coming_text(claims: OfferClaims, identity: Identity, entry: Participant) -> str:
    """What declining it means."""
    sentences = [f"I decline this invitation: {_what(claims, identity)}.", *_about_me(entry)]
    sentences.append("Without my yes nothing is booked." if entry.required else "The booking stands without me.")
    return " ".join(sentences)


def _what(claims: OfferClaims, identity: Identity) -> str:
    person = f" with {named(claims.resource_name)}" if claims.resource_name else ""
    end = None if claims.end is None else parse_instant(claims.end)
    when = spoken_span(parse_instant(claims.start), end, find_zone(claims.timezone))
    return f"{named(claims.service.title)}{person} at {identity.said}, {when}{_place(claims.place)}"


def _about_me(entry: Participant) -> list[str]:
    return [] if entry.attendee is None else [f"I answer for {named(entry.attendee)}."]


def _place(place: Place) -> str:
    if isinstance(place, Elsewhere):
        return f", at {named(place.name)}"
    if isinstance(place, AtGuest):
        return f", at the address of whoever made the booking ({named(place.postal_code)}, {place.country})"
    return ""
