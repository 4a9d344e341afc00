"""Moving a booking in two steps: asking for a change offer, then accepting or abandoning it (spec section 13).

The booking that is kept changes only with a receipt at the next sequence, standing on the change offer that was
accepted (SCH-221 to SCH-223, SCH-230).
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import datetime, timedelta

from sayso.core.durations import write_duration
from sayso.core.instants import parse_instant
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.guest.kept import KeptBooking, KeptChange, KeptMandate
from sayso.scheduling.guest.party import Guest
from sayso.scheduling.guest.receipting import BOOKING_MOVED
from sayso.scheduling.guest.settling import checked_receipt, with_receipt
from sayso.scheduling.guest.shown import is_answered_at_once, waits_for_host
from sayso.scheduling.terms.booking import Proposed
from sayso.scheduling.terms.change import AbandonRequest, AcceptRequest, ChangeRequest
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.hold import Settled
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.scheduling.terms.offer import Change
from sayso.scheduling.terms.offer_checks import ExpectedOffer, check_offer_matches, verify_offer
from sayso.scheduling.terms.participant_checks import company_of
from sayso.scheduling.terms.receipt_checks import ExpectedReceipt

__all__ = ("abandon_change", "accept_change", "read_proposal", "request_change")


async def request_change(
    guest: Guest, document: Discovery, booking: KeptBooking, start: str, ttl: timedelta, mandate: KeptMandate
) -> KeptChange:
    """A checked change offer for another start. Errors as `place_hold`."""
    subject = f"change:{booking.booking_id}:{booking.sequence}:{start}"
    ask = ChangeRequest(idempotency_key=await guest.book.intent(subject), start=start, ttl=write_duration(ttl))
    try:
        view = await guest.client(document).request_change(booking.booking_id, ask, mandate.token)
    except PeerRefused as error:
        await guest.book.forget_intent(subject, guest.notes.refusal(booking.host, "change", error))
        raise
    change = KeptChange(
        offer_id=view.offer_id,
        booking_id=booking.booking_id,
        state="offered",
        view=view,
        offer=view.offer,
        offer_sha256=sha256_b64u(view.offer),
        expires=parse_instant(view.expires_at),
    )
    try:
        await _check_offer(guest, document, booking, change, parse_instant(start), mandate)
    except Refused:
        with contextlib.suppress(PeerUnreachable, Refused):
            await abandon_change(guest, document, change)
        await guest.book.forget_intent(subject)
        raise
    await guest.book.keep_change(change, guest.notes.change(document, change), intent=subject)
    return change


async def _check_offer(
    guest: Guest, document: Discovery, booking: KeptBooking, change: KeptChange, start: datetime, mandate: KeptMandate
) -> None:
    host = document.host
    contract = await guest.documents.checked(host, lambda found: verify_offer(booking.offer, found, is_new=False))
    offer = await guest.documents.checked(host, lambda found: verify_offer(change.offer, found))
    expected = ExpectedOffer(
        principal=verify_mandate(mandate.token).principal,
        agent=guest.agent,
        service_id=contract.claims.service.id,
        start=start,
        change=Change(booking_id=booking.booking_id, replaces=contract.sha256),
        company=company_of(contract.claims),
    )
    check_offer_matches(offer, change.view, expected)


async def accept_change(
    guest: Guest, document: Discovery, booking: KeptBooking, change: KeptChange, mandate: KeptMandate
) -> KeptBooking:
    """The booking at its new time. Errors as `settling.confirm`; the booking is unchanged after any of them."""
    subject = f"accept:{change.offer_id}:{mandate.jti}"
    ask = AcceptRequest(idempotency_key=await guest.book.intent(subject), offer_sha256=change.offer_sha256)
    try:
        settled = await guest.client(document).accept_change(booking.booking_id, change.offer_id, ask, mandate.token)
    except PeerRefused as error:
        await guest.book.forget_intent(subject, guest.notes.refusal(booking.host, "accept", error))
        raise
    if waits_for_host(change.offer) and not is_answered_at_once(settled.booking, change.offer_sha256):
        return await _asked_host(guest, document, booking, change, mandate, settled, subject)
    receipt = await checked_receipt(
        guest,
        document,
        settled,
        change.offer,
        ExpectedReceipt(
            act="changed",
            principal=verify_mandate(mandate.token).principal,
            sequence=booking.sequence + 1,
            booking_id=booking.booking_id,
            approved="offer" if mandate.kind == "closed" else "limits",
            mandate=mandate.jti,
            counted_under=booking.limits,
        ),
    )
    moved = replace(
        booking,
        state=receipt.booking.status,
        sequence=receipt.booking.sequence,
        version=receipt.booking.version,
        approved="offer" if mandate.kind == "closed" else "limits",
        agreed=mandate.jti,
        offer=change.offer,
        receipt=settled.receipt,
        start=receipt.start,
    )
    note = guest.notes.settled(BOOKING_MOVED, document, moved)
    await guest.book.keep_booking(moved, note, change=change.offer_id, intent=subject)
    return moved


async def _asked_host(
    guest: Guest,
    document: Discovery,
    booking: KeptBooking,
    change: KeptChange,
    mandate: KeptMandate,
    settled: Settled,
    subject: str,
) -> KeptBooking:
    """The booking as it was, with the move that waits beside it; nothing else may have changed (SCH-224, SCH-230)."""
    receipt = await checked_receipt(
        guest,
        document,
        settled,
        booking.offer,
        ExpectedReceipt(
            act="move_requested",
            principal=verify_mandate(mandate.token).principal,
            sequence=booking.sequence,
            booking_id=booking.booking_id,
            counted_under=booking.limits,
        ),
    )
    waits = receipt.booking.awaiting_host
    if waits is None or waits.offer_sha256 != change.offer_sha256:
        raise refused("receipt_invalid", "The receipt says that another move waits.", place="$.booking.awaiting_host")
    asked = with_receipt(booking, receipt)
    await guest.book.keep_booking(asked, guest.notes.receipt(document, asked), intent=subject)
    return asked


async def read_proposal(
    guest: Guest, document: Discovery, booking: KeptBooking, proposed: Proposed, mandate: KeptMandate
) -> KeptChange:
    """The change offer that the host made by itself, checked like any other (SCH-222, SCH-234). Errors as
    `request_change`.
    """
    view = await guest.client(document).read_change(booking.booking_id, proposed.offer_id)
    change = KeptChange(
        offer_id=view.offer_id,
        booking_id=booking.booking_id,
        state="offered",
        view=view,
        offer=view.offer,
        offer_sha256=sha256_b64u(view.offer),
        expires=parse_instant(view.expires_at),
    )
    if view.status != "offered" or change.offer_sha256 != proposed.offer_sha256:
        raise refused("offer_dropped", f"{document.title} took its proposal back.")
    await _check_offer(guest, document, booking, change, parse_instant(proposed.start), mandate)
    await guest.book.keep_change(change, guest.notes.change(document, change), intent=f"proposal:{change.offer_id}")
    return change


async def abandon_change(guest: Guest, document: Discovery, change: KeptChange) -> None:
    """Gives the other time back; the booking stays as it was. PeerUnreachable."""
    subject = f"abandon:{change.offer_id}"
    ask = AbandonRequest(idempotency_key=await guest.book.intent(subject))
    # A no means that it lapsed or was dropped already, which is what was wanted.
    with contextlib.suppress(PeerRefused):
        await guest.client(document).abandon_change(change.booking_id, change.offer_id, ask)
    await guest.book.mark_dropped(change.offer_id, guest.notes.dropped(change), intent=subject)
