"""Whether an offer's invitation is whole, and whether a booking's answers fit it (spec sections 24.2 and 24.6).

Pure. The same facts on both sides: a host draws them up with `booked`, a guest judges them with the checks.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sayso.core.durations import parse_duration
from sayso.core.instants import parse_instant
from sayso.core.refusal import Refused
from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.participant import BookedParticipant, Company, InvitationTerms

__all__ = (
    "all_agreed",
    "asks_along",
    "booked",
    "check_answers",
    "check_invitation",
    "company_of",
    "fits_contract",
    "is_same_company",
    "waits_for_participants",
)


def waits_for_participants(claims: OfferClaims) -> bool:
    """Whether accepting this offer leaves the booking tentative: somebody required has to say yes first (SCH-243)."""
    return any(each.required for each in claims.participants)


def asks_along(claims: OfferClaims, company: Company) -> bool:
    """Whether the offer asks along exactly these, on these terms, and leaves the answer to whom the guest asked for."""
    asked, wanted = claims.invitation, company.invitation
    terms = None if asked is None else (asked.answer_within, asked.silence)
    same_terms = terms == (None if wanted is None else (wanted.answer_within, wanted.silence))
    return same_terms and claims.participants == company.participants and claims.answers == company.answers


def company_of(claims: OfferClaims) -> Company:
    """What an offer asks, as it was asked for: what every change of it carries on."""
    asked = claims.invitation
    terms = None if asked is None else InvitationTerms(answer_within=asked.answer_within, silence=asked.silence)
    return Company(participants=claims.participants, invitation=terms, answers=claims.answers)


def booked(claims: OfferClaims) -> tuple[BookedParticipant, ...]:
    """The contract's participants as a booking shows them before anybody answered."""
    return tuple(
        BookedParticipant(principal=each.principal, name=each.name, required=each.required, attendee=each.attendee)
        for each in claims.participants
    )


def all_agreed(participants: Iterable[BookedParticipant]) -> bool:
    """Whether every required one has said yes, or their silence has."""
    return all(each.answer is not None and each.answer.said == "yes" for each in participants if each.required)


def check_invitation(claims: OfferClaims) -> None:
    """That participants and invitation stand together, nobody twice, the deadline no later than the start (SCH-246).

    Refused: offer_invalid.
    """
    if (claims.invitation is None) != (not claims.participants):
        raise _offer("it asks people along without terms, or states terms for nobody", "$.invitation")
    named = [claims.aud, *(each.principal for each in claims.participants)]
    if len(set(named)) != len(named):
        raise _offer("it asks somebody along twice, or the booker", "$.participants")
    if claims.invitation is not None:
        parse_duration(claims.invitation.answer_within)
        if parse_instant(claims.invitation.answer_by) > parse_instant(claims.start):
            raise _offer("its participants could answer after the start", "$.invitation.answer_by")


def fits_contract(booking: Booking, claims: OfferClaims) -> bool:
    """Whether the booking names exactly the contract's participants; what they answered aside."""
    return is_same_company(booking.participants, claims)


def is_same_company(shown: Iterable[BookedParticipant], claims: OfferClaims) -> bool:
    """Whether these are the contract's participants, in its order; what they answered aside."""
    return tuple(msgspec.structs.replace(each, answer=None) for each in shown) == booked(claims)


def check_answers(booking: Booking) -> None:
    """That status and answers agree: nothing is settled while a required yes is missing, and a participant's no is
    somebody's. Refused: receipt_invalid.
    """
    asked = booking.participants
    settled = booking.status in ("confirmed", "pending_host", "completed", "no_show")
    if settled and not all_agreed(asked):
        raise _receipt("it is settled though a required participant has not said yes")
    if booking.status == "tentative" and (not asked or all_agreed(asked)):
        raise _receipt("it waits for participants and shows nobody it waits for")
    by_participant = booking.declined is not None and booking.declined.by == "participant"
    said_no = any(
        each.required and each.answer is not None and each.answer.said == "no" and not each.answer.by_default
        for each in asked
    )
    if by_participant != said_no:
        raise _receipt("it says that a participant declined in one place only")


def _offer(message: str, place: str) -> Refused:
    return refused("offer_invalid", f"The host's offer does not hold: {message}.", place=place)


def _receipt(message: str) -> Refused:
    return refused("receipt_invalid", f"The host's receipt does not hold: {message}.", place="$.booking.participants")
