"""Questions about what is kept: the offer of a hold or a change, and the management of a booking.

Shared by the consent source, which asks before an act, and by the operations, which ask midway.
"""

from __future__ import annotations

from dataclasses import replace

from sayso.core.refusal import Refused
from sayso.governance.consent import Answer, Question
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.guest.kept import KeptBooking
from sayso.scheduling.guest.shown import shown
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.offer_checks import verify_offer
from sayso.scheduling.terms.receipt_checks import verify_receipt
from sayso.scheduling.tools.assistant import Assistant
from sayso.scheduling.tools.evidence import expected_management
from sayso.scheduling.tools.questions import management_question, offer_question

__all__ = ("ask_management", "ask_offer", "is_managed", "settle_management")

_LIVE = ("confirmed", "pending_host", "tentative")


async def ask_offer(assistant: Assistant, document: Discovery, token: str) -> Question:
    """The question over an offer, verified once more: keys may have been retired since it was kept."""
    offer = await assistant.guest.documents.checked(document.host, lambda found: verify_offer(token, found))
    return offer_question(offer, document)


async def ask_management(assistant: Assistant, document: Discovery, booking: KeptBooking) -> Question:
    """The question whether the assistant may manage a booking later."""
    receipt = await assistant.guest.documents.checked(
        document.host, lambda found: verify_receipt(booking.receipt, found)
    )
    buying = await assistant.buying(booking)
    return management_question(receipt, await assistant.limits_of(booking), buying.token, document)


def is_managed(booking: KeptBooking) -> bool:
    """Whether the person was asked about managing this booking as it now stands; or there is nothing to manage."""
    return booking.state not in _LIVE or booking.managed == sha256_b64u(booking.receipt)


async def settle_management(assistant: Assistant, booking: KeptBooking, answer: Answer | None) -> None:
    """Keeps the answer about managing a booking. A no is an answer too: the booking stands, and is asked about no more.

    An answer that belongs to an earlier question of the same call is left alone.
    """
    if answer is None or is_managed(booking) or await assistant.was_kept(answer):
        return
    reconfirms = shown(booking).reconfirm is not None
    limits = await assistant.limits_of(booking)
    expected = expected_management(booking.host, booking.booking_id, limits, reconfirms=reconfirms)
    try:
        await assistant.keep(answer, expected)
    except Refused as error:
        if error.refusal.code != "CONSENT_REFUSED":
            raise
    await assistant.guest.book.keep_booking(replace(booking, managed=sha256_b64u(booking.receipt)))
