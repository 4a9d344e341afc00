"""Confirming and cancelling, each believed only with a receipt that stands up to checking (spec sections 10 to 12).

A confirm is never sent as something new once an answer was kept: called again it goes on from what is there. When a
host confirms with a receipt that proves something else, the booking is called off again as far as the host lets us,
and the person is told that it cannot be relied on (SCH-189, SCH-193).
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Literal

from sayso.core.refusal import Corrupt, PeerRefused, PeerUnreachable, Refused
from sayso.scheduling.guest.kept import KeptBooking, KeptHold, KeptMandate
from sayso.scheduling.guest.party import Guest
from sayso.scheduling.guest.receipting import BOOKING_CANCELLED, BOOKING_CONFIRMED
from sayso.scheduling.guest.shown import first_act, is_answered_at_once, waits_for_others
from sayso.scheduling.terms.booking import CancelRequest
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.hold import ConfirmRequest, Settled
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.scheduling.terms.offer_checks import verify_offer
from sayso.scheduling.terms.receipt_checks import (
    ExpectedReceipt,
    VerifiedReceipt,
    check_receipt_matches,
    verify_receipt,
)

__all__ = ("cancel", "checked_receipt", "confirm", "find_confirmed", "with_receipt")


async def confirm(
    guest: Guest, document: Discovery, hold: KeptHold, mandate: KeptMandate, note: str | None = None
) -> KeptBooking:
    """A booking with a checked receipt. `mandate` is the closed one, or the hold's own where limits are enough.
    The host is told what the hold's limits let it be told; `note` is in the person's own words.

    PeerRefused; PeerUnreachable (then it is unknown whether it was booked, and calling again tells); Refused:
    answer_invalid, receipt_invalid, unknown_key.
    """
    subject = f"confirm:{hold.hold_id}:{mandate.jti}"
    ask = ConfirmRequest(
        idempotency_key=await guest.book.intent(subject),
        offer_sha256=hold.offer_sha256,
        guest=hold.details,
        note=note,
    )
    try:
        settled = await guest.client(document).confirm(hold.hold_id, ask, mandate.token)
    except PeerRefused as error:
        # The answer to an earlier attempt may have been lost, and the mandate expired since: the hold knows.
        found = await find_confirmed(guest, document, hold)
        if found is not None:
            return found
        await guest.book.forget_intent(subject, guest.notes.refusal(hold.host, "confirm", error))
        raise
    except Refused as error:
        booking_id = await _booking_of(guest, document, hold)
        raise error if booking_id is None else await _called_off(guest, document, hold, booking_id, error) from None
    expected = ExpectedReceipt(
        act="confirmed" if is_answered_at_once(settled.booking, hold.offer_sha256) else first_act(hold.offer),
        principal=verify_mandate(mandate.token).principal,
        sequence=0,
        approved=_approved(mandate),
        mandate=mandate.jti,
        counted_under=hold.mandate,
    )
    try:
        receipt = await checked_receipt(guest, document, settled, hold.offer, expected)
    except Refused as error:
        raise await _called_off(guest, document, hold, settled.booking.booking_id, error) from None
    return await _keep(guest, document, hold, mandate, receipt)


async def find_confirmed(guest: Guest, document: Discovery, hold: KeptHold) -> KeptBooking | None:
    """The booking that a hold became without our hearing of it, checked and kept; None when it became none.

    PeerUnreachable; Refused: answer_invalid, receipt_invalid, unknown_key.
    """
    booking_id = await _booking_of(guest, document, hold)
    if booking_id is None:
        return None
    settled = await guest.client(document).read_booking(booking_id)
    buying = await guest.book.mandate(hold.mandate)
    if buying is None:
        raise Corrupt("a hold without the mandate it was placed under", hold.hold_id)
    expected = ExpectedReceipt(
        # Where the host or participants are asked, they may have answered since.
        act=None if waits_for_others(hold.offer) else "confirmed",
        principal=verify_mandate(buying.token).principal,
        sequence=0,
        booking_id=booking_id,
        counted_under=hold.mandate,
    )
    receipt = await checked_receipt(guest, document, settled, hold.offer, expected)
    agreed = await guest.book.mandate(receipt.claims.consent.mandate)
    if agreed is None or _approved(agreed) != receipt.claims.consent.approved:
        raise refused("receipt_invalid", "The receipt names a mandate that was never given.", place="$.consent")
    return await _keep(guest, document, hold, agreed, receipt)


def _approved(mandate: KeptMandate) -> Literal["offer", "limits"]:
    return "offer" if mandate.kind == "closed" else "limits"


async def _keep(
    guest: Guest, document: Discovery, hold: KeptHold, mandate: KeptMandate, receipt: VerifiedReceipt
) -> KeptBooking:
    inner = receipt.booking
    booking = KeptBooking(
        booking_id=inner.booking_id,
        host=hold.host,
        hold_id=hold.hold_id,
        state=inner.status,
        sequence=inner.sequence,
        version=inner.version,
        limits=hold.mandate,
        approved=_approved(mandate),
        agreed=mandate.jti,
        offer=hold.offer,
        receipt=receipt.token,
        start=receipt.start,
    )
    done = replace(hold, state="confirmed", booking_id=booking.booking_id)
    await guest.book.keep_booking(
        booking,
        guest.notes.settled(BOOKING_CONFIRMED, document, booking),
        hold=done,
        intent=f"confirm:{hold.hold_id}:{mandate.jti}",
    )
    return booking


async def _booking_of(guest: Guest, document: Discovery, hold: KeptHold) -> str | None:
    """The booking a hold became, if the host says it became one. PeerUnreachable."""
    with contextlib.suppress(PeerRefused, Refused):
        return (await guest.client(document).read_hold(hold.hold_id)).booking_id
    return None


async def checked_receipt(
    guest: Guest, document: Discovery, settled: Settled, offer: str, expected: ExpectedReceipt
) -> VerifiedReceipt:
    """The receipt of an answer, proved against the contract it should stand on."""
    host = document.host
    receipt = await guest.documents.checked(host, lambda found: verify_receipt(settled.receipt, found, settled.booking))
    contract = await guest.documents.checked(host, lambda found: verify_offer(offer, found, is_new=False))
    check_receipt_matches(receipt, contract, expected)
    return receipt


async def _called_off(guest: Guest, document: Discovery, hold: KeptHold, booking_id: str, error: Refused) -> Refused:
    """Undoes what cannot be proved, if the host lets us, and says plainly how it stands."""
    buying = await guest.book.mandate(hold.mandate)
    subject = f"cancel:{booking_id}"
    ask = CancelRequest(idempotency_key=await guest.book.intent(subject))
    how = "It may still stand there under that name: reach the host without an agent."
    if buying is not None:
        with contextlib.suppress(PeerRefused, PeerUnreachable, Refused):
            await guest.client(document).cancel(booking_id, ask, buying.token)
            how = "The host says it is called off again."
    await guest.book.forget_intent(subject)
    await guest.book.mark_released(hold.hold_id, guest.notes.released(hold.host, hold.hold_id, "unproved"))
    found = error.refusal
    message = f"{found.message} {document.title} calls the booking {booking_id}, and it cannot be relied on. {how}"
    return refused(found.reason or "receipt_invalid", message, place=found.place)


async def cancel(
    guest: Guest, document: Discovery, booking: KeptBooking, mandate: KeptMandate, message: str | None
) -> KeptBooking:
    """Cancels for free; believed with a receipt that says so. Errors as `confirm`."""
    subject = f"cancel:{booking.booking_id}"
    ask = CancelRequest(idempotency_key=await guest.book.intent(subject), message=message)
    try:
        settled = await guest.client(document).cancel(booking.booking_id, ask, mandate.token)
    except PeerRefused as error:
        await guest.book.forget_intent(subject, guest.notes.refusal(booking.host, "cancel", error))
        if error.refusal.reason != "already_cancelled":
            raise
        settled = await guest.client(document).read_booking(booking.booking_id)
    receipt = await checked_receipt(
        guest,
        document,
        settled,
        booking.offer,
        ExpectedReceipt(
            act="cancelled",
            principal=verify_mandate(mandate.token).principal,
            sequence=booking.sequence,
            booking_id=booking.booking_id,
            counted_under=booking.limits,
        ),
    )
    cancelled = with_receipt(booking, receipt)
    note = guest.notes.settled(BOOKING_CANCELLED, document, cancelled)
    await guest.book.keep_booking(cancelled, note, intent=subject)
    return cancelled


def with_receipt(booking: KeptBooking, receipt: VerifiedReceipt) -> KeptBooking:
    """The booking as its newest checked receipt has it; what was agreed stays."""
    inner = receipt.booking
    return replace(
        booking,
        state=inner.status,
        sequence=inner.sequence,
        version=inner.version,
        receipt=receipt.token,
        start=receipt.start,
    )
