"""Reading a booking back, and believing what is newer and proved (spec section 11.1; SCH-006, SCH-007, SCH-230).

What may have happened without our hearing of it: the host answered, called it off, ended, marked or proposed something,
the clock completed it, or a change that we accepted was made. Anything else at a higher sequence was never agreed here,
and is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from sayso.core.refusal import Corrupt
from sayso.scheduling.guest.kept import KeptBooking, KeptChange, KeptMandate
from sayso.scheduling.guest.party import Guest
from sayso.scheduling.guest.receipting import BOOKING_MOVED
from sayso.scheduling.guest.settling import checked_receipt, with_receipt
from sayso.scheduling.guest.shown import shown, waits_for_others
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.hold import Settled
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.scheduling.terms.receipt_checks import ExpectedReceipt

__all__ = ("refresh",)


async def refresh(guest: Guest, document: Discovery, booking: KeptBooking) -> KeptBooking:
    """The booking as its host has it now; kept when it is newer. Errors as `settling.confirm`."""
    settled = await guest.client(document).read_booking(booking.booking_id)
    inner = settled.booking
    if (inner.sequence, inner.version) <= (booking.sequence, booking.version):
        return booking
    if inner.sequence == booking.sequence:
        return await _same_contract(guest, document, booking, settled)
    for change in await guest.book.open_changes(booking.booking_id):
        if change.offer_sha256 == inner.offer_sha256:
            return await _made(guest, document, booking, change, settled)
    raise refused("receipt_invalid", f"{document.title} shows a change of this booking that was never agreed here.")


async def _same_contract(guest: Guest, document: Discovery, booking: KeptBooking, settled: Settled) -> KeptBooking:
    expected = ExpectedReceipt(
        act=None,
        principal=await _principal(guest, booking),
        sequence=booking.sequence,
        booking_id=booking.booking_id,
        counted_under=booking.limits,
    )
    newer = with_receipt(booking, await checked_receipt(guest, document, settled, booking.offer, expected))
    await guest.book.keep_booking(newer, guest.notes.receipt(document, newer))
    refused_move = settled.booking.declined_change
    for change in await guest.book.open_changes(booking.booking_id):
        if refused_move is not None and change.offer_sha256 == refused_move.offer_sha256:
            await guest.book.mark_dropped(change.offer_id, guest.notes.dropped(change))
    return newer


async def _made(
    guest: Guest, document: Discovery, booking: KeptBooking, change: KeptChange, settled: Settled
) -> KeptBooking:
    """A change we accepted and whose answer was lost: proved by a mandate over its offer that we were given."""
    expected = ExpectedReceipt(
        # Where participants were asked anew, they may have answered since.
        act=None if waits_for_others(change.offer) else "changed",
        principal=await _principal(guest, booking),
        sequence=booking.sequence + 1,
        booking_id=booking.booking_id,
        counted_under=booking.limits,
    )
    receipt = await checked_receipt(guest, document, settled, change.offer, expected)
    agreed = await guest.book.mandate(receipt.claims.consent.mandate)
    if agreed is None or not _was_accepted(booking, change, agreed, receipt.claims.consent.approved):
        raise refused("receipt_invalid", "The receipt names a mandate that was never given.", place="$.consent")
    moved = replace(with_receipt(booking, receipt), offer=change.offer, approved=_approved(agreed), agreed=agreed.jti)
    note = guest.notes.settled(BOOKING_MOVED, document, moved)
    await guest.book.keep_booking(moved, note, change=change.offer_id)
    return moved


def _approved(agreed: KeptMandate) -> Literal["offer", "limits"]:
    return "offer" if agreed.kind == "closed" else "limits"


def _was_accepted(booking: KeptBooking, change: KeptChange, agreed: KeptMandate, said: str) -> bool:
    """Our person signed this very offer, or we accepted it under their limits and saw that it waited for the host."""
    if agreed.kind == "closed":
        return said == "offer" and agreed.subject == change.offer_sha256
    waits = shown(booking).awaiting_host
    return said == "limits" and waits is not None and waits.offer_sha256 == change.offer_sha256


async def _principal(guest: Guest, booking: KeptBooking) -> str:
    buying = await guest.book.mandate(booking.limits)
    if buying is None:
        raise Corrupt("a booking without the mandate it was made under", booking.booking_id)
    return verify_mandate(buying.token).principal
