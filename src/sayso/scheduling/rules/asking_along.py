"""From a hold request's participants to the terms in its offer, and on to the offers that change it (spec section 24).

SCH-185, SCH-203, SCH-245, SCH-246, SCH-251. Judged before any time is looked at; nothing here writes.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import structs

from sayso.core.durations import parse_duration
from sayso.core.instants import parse_instant, write_local
from sayso.core.zones import find_zone
from sayso.scheduling.rules.profile import HostProfile
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.hold import HoldRequest
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.participant import Company, InvitationTerms, OfferedInvitation, Participants
from sayso.scheduling.terms.participant_checks import company_of, waits_for_participants

__all__ = ("LONGEST_NAMES", "carried_on", "check_not_booker", "read_company", "with_company")

_SHORTEST = timedelta(minutes=1)
LONGEST_NAMES = 1000
"""Characters that names and attendees come to together: what the booker approves has to be shown whole."""


def read_company(profile: HostProfile, request: HoldRequest) -> Company:
    """Refused: invitation_invalid; malformed_duration; no_person_answers, where the host is nobody's own calendar."""
    named = [each.principal for each in request.participants]
    if (request.invitation is None) != (not named) or len(set(named)) != len(named):
        raise refused("invitation_invalid", place="$.participants")
    if sum(len(each.name) + len(each.attendee or "") for each in request.participants) > LONGEST_NAMES:
        raise refused("invitation_invalid", f"Their names come to at most {LONGEST_NAMES} characters together.",
                      place="$.participants")  # fmt: skip
    if request.invitation is not None and parse_duration(request.invitation.answer_within) < _SHORTEST:
        raise refused("invitation_invalid", place="$.invitation.answer_within")
    if request.answers is not None and (profile.owner is None or profile.answer_within is None):
        raise refused("no_person_answers", place="$.answers")
    return Company(participants=request.participants, invitation=request.invitation, answers=request.answers)


def check_not_booker(company: Company, principal: str) -> None:
    """Nobody asks themselves along. Refused: invitation_invalid."""
    if any(each.principal == principal for each in company.participants):
        raise refused("invitation_invalid", place="$.participants")


def with_company(claims: OfferClaims, company: Company, profile: HostProfile, expires_at: datetime) -> OfferClaims:
    """The offer of a hold with everybody it asks along. Participants answer first; the host, where it answers each
    request, has its whole time after them, and neither has longer than until the start (SCH-185, SCH-246).
    """
    start = parse_instant(claims.start)
    fresh = _invited(claims, company.participants, company.invitation, expires_at, start)
    fresh = structs.replace(fresh, answers=company.answers)
    if fresh.invitation is None or not waits_for_participants(fresh):
        return fresh
    settled_by = parse_instant(fresh.invitation.answer_by)
    after = profile.answer_by(settled_by, start, guest=claims.aud)
    if after is not None:
        settled_by = after
        fresh = structs.replace(fresh, answer_by=write_local(after, find_zone(claims.timezone)))
    return structs.replace(fresh, reconfirm=profile.reconfirmation(start, settled_by))


def carried_on(fresh: OfferClaims, contract: OfferClaims, booked_start: datetime, expires_at: datetime) -> OfferClaims:
    """A change offer asks along whom its contract asked, on the same terms, with a deadline of its own (SCH-203)."""
    company = company_of(contract)
    starts = min(booked_start, parse_instant(fresh.start))
    # A host that answers moves does so first: nothing is asked of anybody before it is a contract.
    settled = expires_at if fresh.answer_by is None else parse_instant(fresh.answer_by)
    invited = _invited(fresh, company.participants, company.invitation, settled, starts)
    return structs.replace(invited, answers=company.answers)


def _invited(
    claims: OfferClaims,
    participants: Participants,
    terms: InvitationTerms | None,
    expires_at: datetime,
    start: datetime,
) -> OfferClaims:
    if terms is None:
        return claims
    answer_by = min(expires_at + parse_duration(terms.answer_within), start)
    return structs.replace(
        claims,
        participants=participants,
        invitation=OfferedInvitation(
            answer_within=terms.answer_within,
            answer_by=write_local(answer_by, find_zone(claims.timezone)),
            silence=terms.silence,
        ),
    )
