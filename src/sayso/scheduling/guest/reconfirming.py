"""Answering a host that asks whether its guest is still coming (spec section 23; SCH-248, SCH-249).

Believed only with a receipt that says so, as everything else. A no is a cancellation and is kept as one.
"""

from __future__ import annotations

from typing import Literal

from sayso.core.refusal import PeerRefused
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.guest.kept import KeptBooking, KeptMandate
from sayso.scheduling.guest.party import Guest
from sayso.scheduling.guest.receipting import BOOKING_CANCELLED, BOOKING_RECONFIRMED
from sayso.scheduling.guest.settling import checked_receipt, with_receipt
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.scheduling.terms.receipt_checks import ExpectedReceipt
from sayso.scheduling.terms.reconfirm import ReconfirmRequest

__all__ = ("reconfirm",)


async def reconfirm(
    guest: Guest, document: Discovery, booking: KeptBooking, mandate: KeptMandate, answer: Literal["yes", "no"]
) -> KeptBooking:
    """The booking as the host has it after the answer.

    PeerRefused; PeerUnreachable (calling again tells); Refused: answer_invalid, receipt_invalid, unknown_key.
    """
    subject = f"reconfirm:{answer}:{booking.booking_id}:{booking.sequence}"
    ask = ReconfirmRequest(
        idempotency_key=await guest.book.intent(subject), offer_sha256=sha256_b64u(booking.offer), answer=answer
    )
    try:
        settled = await guest.client(document).reconfirm(booking.booking_id, ask, mandate.token)
    except PeerRefused as error:
        await guest.book.forget_intent(subject, guest.notes.refusal(booking.host, "reconfirm", error))
        raise
    expected = ExpectedReceipt(
        act="reconfirmed" if answer == "yes" else "cancelled",
        principal=verify_mandate(mandate.token).principal,
        sequence=booking.sequence,
        booking_id=booking.booking_id,
        counted_under=booking.limits,
    )
    after = with_receipt(booking, await checked_receipt(guest, document, settled, booking.offer, expected))
    kind = BOOKING_RECONFIRMED if answer == "yes" else BOOKING_CANCELLED
    await guest.book.keep_booking(after, guest.notes.settled(kind, document, after), intent=subject)
    return after
