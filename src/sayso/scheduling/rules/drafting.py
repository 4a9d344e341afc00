"""Drawing up the host's documents: the offer from what was granted, the booking and its receipt from the offer.

Nothing is added on the way: a booking says what its contract says, so that a policy edited later cannot reach it
(SCH-159). Protocol sections 9, 11 and 12.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import structs

from sayso.core.instants import epoch, write_local
from sayso.core.money import MoneyText, write_money
from sayso.scheduling.rules.allocate import Granted
from sayso.scheduling.rules.booking import BookingState, Standing
from sayso.scheduling.rules.premises import BookableService
from sayso.scheduling.rules.profile import HostProfile
from sayso.scheduling.rules.spans import instant
from sayso.scheduling.terms.booking import Answered, Booking, BookingStatus, DeclinedChange
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.event import event_of
from sayso.scheduling.terms.offer import Change, OfferClaims, OfferedService
from sayso.scheduling.terms.participant_checks import booked
from sayso.scheduling.terms.place import Place
from sayso.scheduling.terms.receipt import Agreement, ReceiptClaims, Settlement

__all__ = ("draw_booking", "draw_offer", "draw_receipt", "ends", "list_price", "redraw_booking")


def ends(service: BookableService, start: datetime) -> datetime | None:
    """The agreed end, or None for an open one. Refused: not_bookable, for an end beyond the calendar."""
    try:
        return None if service.duration is None else start + service.duration
    except OverflowError:
        raise refused("not_bookable", place="$.start") from None


def draw_offer(
    profile: HostProfile,
    service: BookableService,
    granted: Granted,
    *,
    offer_id: str,
    guest: str,
    agent: str,
    place: Place,
    now: datetime,
    expires_at: datetime,
    hold_id: str | None = None,
    change: Change | None = None,
    answer_by: datetime | None = None,
) -> OfferClaims:
    """The terms of one grant. Local times carry the offset the host's zone has then (SCH-275). `answer_by` is the
    deadline of a host that answers each request (SCH-177).
    """
    zone = profile.premises.zone
    price = profile.quotes[service.id]
    return OfferClaims(
        iss=profile.host,
        aud=guest,
        iat=epoch(now),
        exp=epoch(expires_at),
        jti=offer_id,
        agent=agent,
        title=profile.title,
        service=OfferedService(id=service.id, title=service.title),
        start=write_local(instant(granted.start), zone),
        timezone=zone.key,
        place=place,
        retention=profile.retention,
        hold_id=hold_id,
        change=change,
        end=None if granted.open_end else write_local(instant(granted.until), zone),
        open_end=True if granted.open_end else None,
        resource_name=_with(service, granted),
        total=None if price is None else write_money(price.total),
        lines=None if price is None else price.lines,
        answer_by=None if answer_by is None else write_local(answer_by, zone),
        owner=profile.owner,
        reconfirm=profile.reconfirmation(instant(granted.start), max(expires_at, answer_by or expires_at)),
    )


def _with(service: BookableService, granted: Granted) -> str | None:
    """The everyday name of whoever was chosen, where guests choose at all (SCH-160)."""
    chosen = (seat.unit for seat in granted.seats if seat.unit.id in service.choose_from)
    return next((unit.name for unit in chosen if unit.name is not None), None)


def draw_booking(
    standing: Standing,
    terms: OfferClaims,
    offer_sha256: str,
    *,
    booking_id: str,
    mandate: str,
    now: datetime,
    declined_change: DeclinedChange | None = None,
    answered: Answered | None = None,
) -> Booking:
    """The booking as both sides see it: the machine's state, the contract's terms. `answered` is who said yes for the
    host, where it did not answer by its published terms.
    """
    status: BookingStatus = standing.state.value
    return Booking(
        booking_id=booking_id,
        status=status,
        sequence=standing.sequence,
        version=standing.version,
        host=terms.iss,
        service=terms.service,
        start=terms.start,
        place=terms.place,
        offer_sha256=offer_sha256,
        event=event_of(booking_id=booking_id, terms=terms, sequence=standing.sequence, status=status, updated=now),
        mandate=mandate,
        end=terms.end,
        open_end=terms.open_end,
        resource_name=terms.resource_name,
        total=terms.total,
        lines=terms.lines,
        answered=answered or _standing_answer(standing, terms),
        declined_change=declined_change,
        reconfirm=terms.reconfirm,
        participants=booked(terms),
    )


def _standing_answer(standing: Standing, terms: OfferClaims) -> Answered | None:
    """Who said yes without being asked: a business by its terms, an owner who books their own calendar (SCH-183)."""
    asked_later = standing.state is BookingState.TENTATIVE and terms.answer_by is not None and terms.change is None
    if standing.state is BookingState.PENDING_HOST or asked_later:
        return None
    return Answered(by="person" if terms.aud == terms.owner else "host")


def redraw_booking(last: Booking, standing: Standing, terms: OfferClaims, *, now: datetime, **changed: Any) -> Booking:
    """The booking after something that leaves its contract: what was last shown, with its new standing and `changed`.

    Nothing is read from the host's settings, so that no edit of them reaches a booking (SCH-159).
    """
    status: BookingStatus = standing.state.value
    event = event_of(booking_id=last.booking_id, terms=terms, sequence=standing.sequence, status=status, updated=now)
    facts = {"status": status, "sequence": standing.sequence, "version": standing.version, "event": event, **changed}
    return structs.replace(last, **facts)


def draw_receipt(
    booking: Booking, terms: OfferClaims, *, act: Settlement, consent: Agreement, receipt_id: str, now: datetime
) -> ReceiptClaims:
    """The receipt of a booking that stands on `terms`."""
    return ReceiptClaims(
        iss=terms.iss,
        aud=terms.aud,
        iat=epoch(now),
        jti=receipt_id,
        act=act,
        booking=booking,
        consent=consent,
        retention=terms.retention,
    )


def list_price(terms: OfferClaims) -> MoneyText | None:
    """The service's own line of a contract, or None where nothing is said about money."""
    return next((line.amount for line in terms.lines or () if line.kind == "service"), None)
