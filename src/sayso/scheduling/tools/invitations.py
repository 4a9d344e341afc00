"""What an assistant may do with an invitation to somebody else's booking: read it, and carry the person's answer.

Spec section 24.3; SCH-243, SCH-244. Two questions, each with its own bytes: may it be read, and then whether the
person comes, over the contract itself. A no is signed like a yes; a refusal to sign is neither, and leaves it open.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sayso.core import strictjson
from sayso.core.instants import parse_instant
from sayso.core.zones import find_zone
from sayso.governance.consent import Answer, Consent, Question
from sayso.scheduling.guest.invitations import Invitation, answer_invitation, read_invitation
from sayso.scheduling.guest.kept import KeptMandate
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.consent_text import verified_identity
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.draft import INVITATION_MEDIA_TYPE, OFFER_MEDIA_TYPE, InvitationDraft
from sayso.scheduling.terms.invitation_text import coming_text, invitation_text, not_coming_text
from sayso.scheduling.terms.mandate import Constraints, Scope
from sayso.scheduling.terms.participant import Participant
from sayso.scheduling.terms.quoted import named
from sayso.scheduling.tools.arguments import AnswerInvitation
from sayso.scheduling.tools.assistant import Assistant
from sayso.scheduling.tools.company import people
from sayso.scheduling.tools.evidence import Expected, consent_of
from sayso.scheduling.tools.moments import said_until
from sayso.scheduling.tools.results import terms_result

__all__ = ("InvitationOperations", "to_answer")

Result = Mapping[str, Any]
_OUTCOMES = {None: "read", "yes": "accepted", "no": "declined"}


class InvitationOperations:
    """The operation of one assistant."""

    def __init__(self, assistant: Assistant) -> None:
        self._assistant = assistant

    async def answer(self, ask: AnswerInvitation, consent: Consent | None) -> Result:
        """The invitation, with the person's answer in it where one was given; one that was given already stands."""
        guest = self._assistant.guest
        document = await guest.document(ask.host)
        reading = await _reading(self._assistant, document, ask.booking_id)
        if reading is None:
            raise refused("consent_unsigned")
        found = await read_invitation(guest, document, ask.booking_id, reading)
        if ask.answer is not None and not _is_given(found, ask):
            signed = await self._assistant.signed(consent)
            found = await answer_invitation(guest, document, found, ask.answer, signed)
        return _result(found, document, guest.clock.now())


def _is_given(found: Invitation, ask: AnswerInvitation) -> bool:
    said = found.entry.answer
    return said is not None and said.said == ask.answer


def _deadline(found: Invitation, now: datetime) -> Result:
    """Until when our person can answer, and what their silence means where it means anything (SCH-245)."""
    claims = found.offer.claims
    if claims.invitation is None:
        return {}
    until = said_until(parse_instant(claims.invitation.answer_by), find_zone(claims.timezone), now)
    silence = {"no_answer_counts_as": f"a {claims.invitation.silence}"} if found.entry.required else {}
    return {"answer_by": until, **silence}


def _result(found: Invitation, document: Discovery, now: datetime) -> Result:
    view, claims, said = found.view, found.offer.claims, found.entry.answer
    return {
        "outcome": _OUTCOMES[None if said is None else said.said],
        "booking_id": view.booking_id,
        "host": view.host,
        "status": view.status,
        **terms_result(claims, verified_identity(document), paid_by_reader=False),
        "participants": people(view.participants),
        **_deadline(found, now),
        "offer_sha256": found.offer.sha256,
    }


async def to_answer(assistant: Assistant, ask: AnswerInvitation, answers: Answer | None) -> Consent | Question:
    """Evidence for one answer, or the next of the two questions. Refused as the reading."""
    guest = assistant.guest
    document = await guest.document(ask.host)
    reading = await _reading(assistant, document, ask.booking_id)
    if reading is None:
        if answers is None:
            return _ask_to_read(assistant, document, ask.booking_id)
        reading = await assistant.keep(answers, _expected_reading(document.host, ask.booking_id))
    found = await read_invitation(guest, document, ask.booking_id, reading)
    if ask.answer is None or _is_given(found, ask):
        return consent_of(reading)
    subject = f"{ask.answer} {found.offer.sha256}"
    for kept in await guest.book.mandates("answer", document.host, subject):
        return consent_of(kept)
    if answers is None or await assistant.was_kept(answers):
        return _ask_to_answer(found, document, ask)
    return consent_of(await assistant.keep(answers, _expected_answer(found, ask, subject)))


async def _reading(assistant: Assistant, document: Discovery, booking_id: str) -> KeptMandate | None:
    kept = await assistant.guest.book.mandates("invitation", document.host, booking_id)
    return kept[0] if kept else None


def _expected_reading(host: str, booking_id: str) -> Expected:
    return Expected("invitation", booking_id, host, ("book",), Constraints(bookings=(booking_id,)))


def _expected_answer(found: Invitation, ask: AnswerInvitation, subject: str) -> Expected:
    claims, accepts = found.offer.claims, ask.answer == "yes"
    yes: tuple[Scope, ...] = ("book",) if claims.change is None else ("reschedule",)
    bookings = (claims.change.booking_id,) if accepts and claims.change is not None else None
    constraints = Constraints(offer_sha256=found.offer.sha256, bookings=bookings)
    return Expected("answer", subject, claims.iss, yes if accepts else ("cancel",), constraints)


def _ask_to_read(assistant: Assistant, document: Discovery, booking_id: str) -> Question:
    draft = InvitationDraft(host=document.host, agent=assistant.guest.agent, booking_id=booking_id)
    return Question(
        kind="invitation",
        title=f"Let your assistant read an invitation at {named(document.title)}?",
        text=invitation_text(draft, verified_identity(document)),
        document=strictjson.encode(draft),
        media_type=INVITATION_MEDIA_TYPE,
    )


def _ask_to_answer(found: Invitation, document: Discovery, ask: AnswerInvitation) -> Question:
    accepts = ask.answer == "yes"
    entry = found.entry
    me = Participant(principal=entry.principal, name=entry.name, required=entry.required, attendee=entry.attendee)
    text = coming_text if accepts else not_coming_text
    return Question(
        kind="coming" if accepts else "not_coming",
        title=f"{'Accept' if accepts else 'Decline'} this invitation at {named(document.title)}?",
        text=text(found.offer.claims, verified_identity(document), me),
        document=found.offer.token.encode("ascii"),
        media_type=OFFER_MEDIA_TYPE,
    )
