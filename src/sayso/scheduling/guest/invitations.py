"""Somebody else's booking that our person is asked along to: reading it, and carrying their answer (spec section 24).

What is read is believed only as far as the contract proves it: the host's signature, our person among its participants,
and the same participants beside it. The answer goes out under a mandate of our own person, never of the booker's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sayso.core.refusal import PeerRefused
from sayso.ledger.rules.kinds import declare
from sayso.scheduling.guest.kept import KeptMandate
from sayso.scheduling.guest.party import Guest
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.scheduling.terms.offer_checks import VerifiedOffer, verify_offer
from sayso.scheduling.terms.participant import AnswerInvitationRequest, BookedParticipant, InvitationView
from sayso.scheduling.terms.participant_checks import is_same_company

__all__ = ("Invitation", "answer_invitation", "read_invitation")

ANSWERED = declare("guest.invitation_answered", "Our person said whether they come along to somebody else's booking.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """An invitation as its host has it now, its contract proved; `entry` is our own person's."""

    view: InvitationView
    offer: VerifiedOffer
    entry: BookedParticipant


async def read_invitation(guest: Guest, document: Discovery, booking_id: str, mandate: KeptMandate) -> Invitation:
    """The contract, the status and the answers. PeerRefused, PeerUnreachable; Refused: answer_invalid, offer_invalid,
    unknown_key.
    """
    view = await guest.client(document).read_invitation(booking_id, mandate.token)
    return await _checked(guest, document, booking_id, view, verify_mandate(mandate.token).principal)


async def _checked(
    guest: Guest, document: Discovery, booking_id: str, view: InvitationView, principal: str
) -> Invitation:
    offer = await guest.documents.checked(document.host, lambda found: verify_offer(view.offer, found, is_new=False))
    change = offer.claims.change
    is_that_one = view.booking_id == booking_id and view.host == document.host
    if not is_that_one or (change is not None and change.booking_id != booking_id):
        raise refused("answer_invalid", f"{document.title} answered about another booking.", place="$.booking_id")
    entry = next((each for each in view.participants if each.principal == principal), None)
    if entry is None or not is_same_company(view.participants, offer.claims):
        raise refused("answer_invalid", f"{document.title} names others than its contract.", place="$.participants")
    return Invitation(view=view, offer=offer, entry=entry)


async def answer_invitation(
    guest: Guest, document: Discovery, invitation: Invitation, said: Literal["yes", "no"], mandate: KeptMandate
) -> Invitation:
    """The invitation with our person's answer in it. Errors as `read_invitation`; and answer_invalid where the host
    shows another answer than the one that was given.
    """
    booking_id, sha256 = invitation.view.booking_id, invitation.offer.sha256
    subject = f"answer:{booking_id}:{mandate.jti}"
    ask = AnswerInvitationRequest(idempotency_key=await guest.book.intent(subject), offer_sha256=sha256, answer=said)
    try:
        view = await guest.client(document).answer_invitation(booking_id, ask, mandate.token)
    except PeerRefused as error:
        await guest.book.forget_intent(subject, guest.notes.refusal(document.host, "answer", error))
        raise
    answered = await _checked(guest, document, booking_id, view, invitation.entry.principal)
    found = answered.entry.answer
    if answered.offer.sha256 != sha256 or found is None or found.said != said or found.by_default:
        raise refused("answer_invalid", f"{document.title} shows another answer than yours.", place="$.participants")
    await guest.book.forget_intent(subject, guest.notes.answered(ANSWERED, document, view, said, mandate.jti))
    return answered
