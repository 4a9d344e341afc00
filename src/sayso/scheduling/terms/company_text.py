"""Who comes along, in the words of the text that the booker approves (spec section 24.7; SCH-169, SCH-245, SCH-247)."""

from __future__ import annotations

from collections.abc import Sequence

from sayso.core.instants import parse_instant
from sayso.core.zones import find_zone
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.participant import Participant
from sayso.scheduling.terms.quoted import named
from sayso.scheduling.terms.spoken import either, spoken_clock, spoken_day

__all__ = ("company_sentences", "said_names", "said_until")


def company_sentences(claims: OfferClaims) -> list[str]:
    """Whose yes is needed by when and what their silence does, who else is asked, and who has to answer."""
    found: list[str] = []
    required = [each for each in claims.participants if each.required]
    others = [each for each in claims.participants if not each.required]
    if required and claims.invitation is not None:
        verb, each = ("has", "") if len(required) == 1 else ("have", ", each for themselves")
        lost = "nothing is booked" if claims.change is None else "my booking is over"
        silence = "a yes" if claims.invitation.silence == "yes" else f"a no, and {lost}"
        found.append(
            f"{said_names(required)} {verb} to say yes by {said_until(claims, claims.invitation.answer_by)}{each}; "
            f"no answer by then counts as {silence}."
        )
    if others:
        verb, answer = ("is", "that answer") if len(others) == 1 else ("are", "their answers")
        found.append(f"{said_names(others)} {verb} asked along; nothing waits for {answer}.")
    if claims.answers is not None:
        found.append("I ask to be answered in person: no rule may say yes instead.")
    return found


def said_names(participants: Sequence[Participant]) -> str:
    """`Lee and Noor (for Maya)`."""
    names = [
        f"{named(each.name)} (for {named(each.attendee)})" if each.attendee else named(each.name)
        for each in participants
    ]
    return either(names, "and")


def said_until(claims: OfferClaims, instant: str) -> str:
    """A moment on the host's clock, as people say it."""
    zone, at = find_zone(claims.timezone), parse_instant(instant)
    return f"{spoken_day(at, zone)} at {spoken_clock(at, zone)}"
