"""Placing and releasing a hold, so that either can be done again after a crash (spec sections 8 and 9.6).

A hold is kept only with an offer that stands up to checking; one whose offer does not is given back at once and nobody
is asked about it (SCH-149, SCH-158).
"""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Literal

import msgspec

from sayso.core.durations import write_duration
from sayso.core.instants import parse_instant
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.guest.kept import KeptHold, KeptMandate
from sayso.scheduling.guest.party import Guest
from sayso.scheduling.terms.discovery import Discovery, SelectableResource
from sayso.scheduling.terms.guest_details import GuestDetails
from sayso.scheduling.terms.hold import HoldRequest, HoldView, ReleaseRequest
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.scheduling.terms.offer_checks import ExpectedOffer, VerifiedOffer, check_offer_matches, verify_offer
from sayso.scheduling.terms.participant import ALONE, Company

__all__ = ("HoldAsk", "place_hold", "release_hold")


class HoldAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What to hold: a start (RFC 3339) of a service, with `resource` where the person asked for somebody in particular.
    `asked` is kept beside the hold, word for word; `details` are what the limits let the host be told with a booking.
    """

    service_id: str
    start: str
    ttl: timedelta
    asked: bytes
    resource: SelectableResource | None = None
    company: Company = ALONE
    details: GuestDetails | None = None


async def place_hold(guest: Guest, document: Discovery, ask: HoldAsk, mandate: KeptMandate) -> KeptHold:
    """A held slot with a checked offer. PeerRefused, PeerUnreachable; Refused: answer_invalid, offer_invalid."""
    subject = f"hold:{mandate.jti}:{sha256_b64u(ask.asked)}"
    request = HoldRequest(
        idempotency_key=await guest.book.intent(subject),
        service_id=ask.service_id,
        start=ask.start,
        ttl=write_duration(ask.ttl),
        callback_url=guest.callback_url,
        resource_id=None if ask.resource is None else ask.resource.id,
        participants=ask.company.participants,
        invitation=ask.company.invitation,
        answers=ask.company.answers,
    )
    try:
        view = await guest.client(document).hold(request, mandate.token)
    except PeerRefused as error:
        await guest.book.forget_intent(subject, guest.notes.refusal(document.host, "hold", error))
        if error.refusal.reason == "revoked":
            await guest.book.end_mandate(mandate.jti)
        raise
    try:
        offer = await _checked_offer(guest, document, ask, mandate, view)
    except Refused:
        await _give_back(guest, document, view.hold_id, subject)
        raise
    hold = KeptHold(
        hold_id=view.hold_id,
        host=document.host,
        state="held",
        mandate=mandate.jti,
        view=view,
        asked=ask.asked,
        offer=view.offer,
        offer_sha256=offer.sha256,
        expires=parse_instant(view.expires_at),
        details=ask.details,
    )
    await guest.book.keep_hold(hold, guest.notes.hold(document, hold), intent=subject)
    return hold


async def _checked_offer(
    guest: Guest, document: Discovery, ask: HoldAsk, mandate: KeptMandate, view: HoldView
) -> VerifiedOffer:
    offer = await guest.documents.checked(document.host, lambda found: verify_offer(view.offer, found))
    expected = ExpectedOffer(
        principal=verify_mandate(mandate.token).principal,
        agent=guest.agent,
        service_id=ask.service_id,
        start=parse_instant(ask.start),
        resource_name=None if ask.resource is None else ask.resource.title,
        company=ask.company,
    )
    check_offer_matches(offer, view, expected)
    return offer


async def _give_back(guest: Guest, document: Discovery, hold_id: str, subject: str) -> None:
    """Best effort: a host whose offer is wrong may also refuse this, and the hold then runs out by itself."""
    release = ReleaseRequest(idempotency_key=await guest.book.intent(f"release:{hold_id}"))
    with contextlib.suppress(PeerRefused, PeerUnreachable, Refused):
        await guest.client(document).release(hold_id, release)
    await guest.book.forget_intent(f"release:{hold_id}")
    await guest.book.forget_intent(subject)


async def release_hold(guest: Guest, document: Discovery, hold: KeptHold) -> Literal["released", "over", "booked"]:
    """Gives a hold back, and tells what the host made of it. PeerUnreachable; Refused: answer_invalid.

    `booked`: the host confirmed it without our hearing of it; then it stays as it is here, to be found.
    """
    subject = f"release:{hold.hold_id}"
    release = ReleaseRequest(idempotency_key=await guest.book.intent(subject))
    how: Literal["released", "over"] = "released"
    try:
        await guest.client(document).release(hold.hold_id, release)
    except PeerRefused as error:
        if error.refusal.reason == "hold_confirmed":
            await guest.book.forget_intent(subject)
            return "booked"
        how = "over"
    note = guest.notes.released(hold.host, hold.hold_id, how)
    await guest.book.mark_released(hold.hold_id, note, intent=subject)
    return how
