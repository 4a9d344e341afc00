"""Moving a booking in two steps: another time is kept and offered, then accepted by its own hash (SCH-221..223).

The change offer may overlap the booking's own time, because the allocator ignores the booking's family; nobody else's.
Until it is accepted the booking is untouched, and whatever is refused leaves it so: nothing here writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sayso.core.durations import parse_duration
from sayso.core.instants import parse_instant, write_instant
from sayso.core.money import read_money
from sayso.core.refusal import Misuse
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft, Link
from sayso.scheduling.rules import booking, change
from sayso.scheduling.rules.allocate import AllocationAsk, Granted, NotFree, allocate
from sayso.scheduling.rules.asking_along import carried_on
from sayso.scheduling.rules.booking import BookingState, Standing
from sayso.scheduling.rules.change import ChangeOffer, ChangeState
from sayso.scheduling.rules.decision import Decision
from sayso.scheduling.rules.drafting import draw_booking, draw_offer, draw_receipt, list_price, redraw_booking
from sayso.scheduling.rules.picture import Picture
from sayso.scheduling.rules.placing import check_bookable
from sayso.scheduling.rules.premises import BookableService
from sayso.scheduling.rules.profile import HostPen, HostProfile, Signed
from sayso.scheduling.rules.settling import StoredBooking, agreement, booking_record, check_contract, host_record
from sayso.scheduling.rules.slots import not_free
from sayso.scheduling.rules.spans import instant, micros
from sayso.scheduling.terms.booking import Answered, AwaitingHost, Booking
from sayso.scheduling.terms.change import ChangeRequest, ChangeView
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.hold import Settled
from sayso.scheduling.terms.mandate_checks import Action, Ask, Checked
from sayso.scheduling.terms.offer import Change, OfferClaims
from sayso.scheduling.terms.participant_checks import waits_for_participants
from sayso.scheduling.terms.receipt import Agreement, ReceiptClaims
from sayso.scheduling.terms.reconfirm import lapses_at

__all__ = (
    "AcceptChange",
    "Moved",
    "OfferChange",
    "OfferedChange",
    "StoredChange",
    "accept",
    "approve",
    "ask_to_accept",
    "ask_to_manage",
    "change_view",
    "check_movable",
    "drop",
    "lapsed",
    "offer",
)

CHANGE_OFFERED = declare("change.offered", "The host kept another time beside a booking and signed an offer for it.")
CHANGE_ENDED = declare("change.ended", "Another time kept beside a booking was given up or ran out.")
MOVE_REQUESTED = declare("booking.move_requested", "A guest accepted a change, and the host is asked for its answer.")
BOOKING_MOVED = declare("booking.moved", "An accepted change moved a booking; the host signed a receipt.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChange:
    """A change offer as it is kept; `offer_id` is its token's jti and owns its time. `agreed` is how the guest's person
    said yes to it, where the host is asked after them.
    """

    offer_id: str
    booking_id: str
    machine: ChangeOffer
    until: datetime
    offer: Signed
    agreed: Agreement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferChange:
    """The command: this other start, for this long. `units` are those the booking stands on now. What the host offers
    itself (`by_host`) needs no answer of it afterwards, and may be with somebody else (`named`).
    """

    start: datetime
    ttl: timedelta
    offer_id: str
    agent: str
    units: tuple[str, ...]
    by_host: bool = False
    named: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedChange:
    """What an offered change adds to the store."""

    change: StoredChange
    granted: Granted


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptChange:
    """The guest's yes to exactly these bytes."""

    offer_sha256: str
    checked: Checked
    receipt_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What an accepted change leaves."""

    change: StoredChange
    booking: StoredBooking


def ask_to_manage(profile: HostProfile, made: StoredBooking, agent: str, action: Action) -> Ask:
    """What cancelling, or asking for a change, demands of a mandate: scope and this booking."""
    return Ask(
        action=action,
        host=profile.host,
        agent=agent,
        principal=made.principal,
        booking_id=made.booking_id,
        booked_under=made.mandate,
        closed_mandate=profile.closed_mandate,
    )


def ask_to_accept(
    profile: HostProfile, made: StoredBooking, offered: StoredChange, terms: OfferClaims, agent: str
) -> Ask:
    """What accepting a change demands: its window and total, or the person's signature over its hash (SCH-229)."""
    return Ask(
        action=Action.ACCEPT_CHANGE,
        host=profile.host,
        agent=agent,
        principal=made.principal,
        service_id=terms.service.id,
        start=parse_instant(terms.start),
        end=None if terms.end is None else parse_instant(terms.end),
        total=None if terms.total is None else read_money(terms.total),
        booking_id=made.booking_id,
        booked_under=made.mandate,
        offer_sha256=offered.offer.sha256,
        closed_mandate=profile.closed_mandate,
    )


def read_move(request: ChangeRequest) -> tuple[datetime, timedelta]:
    """The start and the time to live that are asked for. Refused: malformed_instant, malformed_duration."""
    return parse_instant(request.start), parse_duration(request.ttl)


def check_movable(made: StoredBooking, now: datetime) -> None:
    """Refused: already_cancelled, already_started, not_changeable. What may be moved is what the machine would move."""
    booking.step(made.standing, booking.Move(made.standing.start, made.standing.until), now)


def offer(
    profile: HostProfile,
    pen: HostPen,
    made: StoredBooking,
    terms: OfferClaims,
    picture: Picture,
    command: OfferChange,
    now: datetime,
) -> Decision[OfferedChange, ChangeView]:
    """Keeps the other time until the offer runs out, at the latest when the booking begins.

    Refused: as `check_movable`; unknown_service, not_bookable, slot_taken with what is free nearby.
    """
    check_movable(made, now)
    if not command.by_host and made.standing.state is BookingState.PENDING_HOST:
        raise refused("not_changeable")
    service = profile.service(terms.service.id)
    check_bookable(profile, command.start, now)
    ask = AllocationAsk(service, micros(command.start), _named(service, terms, command), made.hold_id, command.units)
    granted = allocate(ask, picture, now)
    if isinstance(granted, NotFree):
        raise not_free(profile, service, granted)
    limits = [made.standing.start]
    if made.standing.answer_by is not None and made.standing.state is BookingState.PENDING_HOST:
        limits.append(made.standing.answer_by)
    expires_at = min(now.replace(microsecond=0) + command.ttl, *limits)
    fresh = draw_offer(
        profile,
        service,
        granted,
        offer_id=command.offer_id,
        guest=made.principal,
        agent=command.agent,
        place=terms.place,
        now=now,
        expires_at=expires_at,
        change=Change(booking_id=made.booking_id, replaces=made.offer.sha256),
        answer_by=None
        if command.by_host and not profile.is_person
        else profile.answer_by(expires_at, made.standing.start, command.start, guest=made.principal),
    )
    fresh = carried_on(fresh, terms, made.standing.start, expires_at)
    offered = StoredChange(
        offer_id=command.offer_id,
        booking_id=made.booking_id,
        machine=ChangeOffer(ChangeState.OFFERED, 1, expires_at),
        until=instant(granted.until),
        offer=pen.sign_offer(fresh),
    )
    return Decision(
        state=OfferedChange(change=offered, granted=granted),
        records=(_record(CHANGE_OFFERED, offered, made.principal),),
        reply=change_view(offered, fresh, now),
    )


def _named(service: BookableService, terms: OfferClaims, command: OfferChange) -> str | None:
    """Whom the contract names stays: only the start changes (SCH-232)."""
    if command.named is not None:
        return command.named
    if terms.resource_name is None:
        return None
    return next((unit for unit in command.units if unit in service.choose_from), None)


def accept(
    made: StoredBooking,
    offered: StoredChange,
    terms: OfferClaims,
    contract: OfferClaims,
    last: ReceiptClaims,
    pen: HostPen,
    command: AcceptChange,
    now: datetime,
) -> Decision[Moved, Settled]:
    """Moves the booking onto the offer: sequence + 1, the new contract, a receipt; or asks the host, where the offer
    states until when it answers (SCH-223, SCH-224). `contract` is what is in force, `last` the newest receipt.

    Refused: offer_expired, offer_dropped, move_awaits_host, contract_mismatch, and as `check_movable`; then nothing has
    changed.
    """
    asks_host = terms.answer_by is not None
    machine = change.step(offered.machine, change.AskHost() if asks_host else change.Accept(), now)
    check_contract(command.offer_sha256, offered.offer)
    if terms.change is None or terms.change.replaces != made.offer.sha256:
        raise refused("offer_dropped", "The offer replaces another contract than the one in force.")
    agreed = agreement(command.checked)
    if asks_host:
        waiting = replace(offered, machine=machine, agreed=agreed)
        return _ask_host(made, waiting, terms, contract, last, pen, command, now)
    moved, view, receipt = _move(made, offered, terms, last, pen, agreed, command.receipt_id, now)
    return Decision(
        state=Moved(change=replace(offered, machine=machine), booking=moved),
        records=(booking_record(BOOKING_MOVED, moved, command.checked, receipt),),
        reply=Settled(booking=view, receipt=receipt.token),
    )


def _move(
    made: StoredBooking,
    offered: StoredChange,
    terms: OfferClaims,
    last: ReceiptClaims,
    pen: HostPen,
    agreed: Agreement,
    receipt_id: str,
    now: datetime,
    answered: Answered | None = None,
) -> tuple[StoredBooking, Booking, Signed]:
    """The booking on its new contract. What the host refused before stays on record (SCH-227)."""
    standing = _moved(made, offered, terms, now)
    view = draw_booking(
        standing,
        terms,
        offered.offer.sha256,
        booking_id=made.booking_id,
        mandate=made.mandate,
        now=now,
        declined_change=last.booking.declined_change,
        answered=answered,
    )
    receipt = pen.sign_receipt(draw_receipt(view, terms, act="changed", consent=agreed, receipt_id=receipt_id, now=now))
    moved = replace(
        made,
        standing=replace(standing, reconfirm_by=lapses_at(terms.reconfirm)),
        owner=offered.offer_id,
        offer=offered.offer,
        receipt=receipt.token,
    )
    return moved, view, receipt


def _moved(made: StoredBooking, offered: StoredChange, terms: OfferClaims, now: datetime) -> Standing:
    """Agreed at its new time; or tentative again, because required participants had accepted another one (SCH-203).

    Refused: offer_expired, where they would have no time left to answer.
    """
    start, until = parse_instant(terms.start), offered.until
    if terms.invitation is None or not waits_for_participants(terms):
        return replace(booking.step(made.standing, booking.Move(start, until), now), answer_by=None)
    answer_by = parse_instant(terms.invitation.answer_by)
    if now >= answer_by:
        raise refused("offer_expired")
    return booking.step(made.standing, booking.MoveAndAsk(start, until, answer_by), now)


def _ask_host(
    made: StoredBooking,
    offered: StoredChange,
    terms: OfferClaims,
    contract: OfferClaims,
    last: ReceiptClaims,
    pen: HostPen,
    command: AcceptChange,
    now: datetime,
) -> Decision[Moved, Settled]:
    """The guest's yes waits for the host's; time, contract and sequence stay (SCH-224). The other time is kept until
    the deadline the offer states, which is never past the booking's own start (SCH-225).
    """
    answer_by = parse_instant(terms.answer_by or terms.start)
    if now >= answer_by:
        raise refused("offer_expired")
    standing = booking.step(made.standing, booking.Annotate(), now)
    waits = AwaitingHost(offer_sha256=offered.offer.sha256, start=terms.start, answer_by=write_instant(answer_by))
    view = redraw_booking(last.booking, standing, contract, now=now, awaiting_host=waits)
    receipt = pen.sign_receipt(
        draw_receipt(view, contract, act="move_requested", consent=last.consent, receipt_id=command.receipt_id, now=now)
    )
    asked = replace(made, standing=standing, receipt=receipt.token)
    waiting = replace(offered, machine=replace(offered.machine, expires_at=answer_by))
    return Decision(
        state=Moved(change=waiting, booking=asked),
        records=(booking_record(MOVE_REQUESTED, asked, command.checked, receipt),),
        reply=Settled(booking=view, receipt=receipt.token),
    )


def approve(
    made: StoredBooking,
    offered: StoredChange,
    terms: OfferClaims,
    last: ReceiptClaims,
    pen: HostPen,
    receipt_id: str,
    now: datetime,
    answered: Answered | None = None,
) -> Decision[Moved, Settled]:
    """The host's yes to a move that waits for it: the booking moves at once (SCH-226). Refused: offer_expired.

    `answered` is whose yes it is where that is not the host's as such (SCH-181).
    """
    machine = change.step(offered.machine, change.Approve(), now)
    if offered.agreed is None:
        raise Misuse("a move that waits for the host was agreed to by the guest")
    moved, view, receipt = _move(made, offered, terms, last, pen, offered.agreed, receipt_id, now, answered)
    return Decision(
        state=Moved(change=replace(offered, machine=machine), booking=moved),
        records=(host_record(BOOKING_MOVED, moved, terms.iss, receipt),),
        reply=Settled(booking=view, receipt=receipt.token),
    )


def drop(offered: StoredChange, terms: OfferClaims, guest: str, now: datetime) -> Decision[StoredChange, ChangeView]:
    """Gives the other time back. One that is over already stays as it is; refused: not_changeable once it was made."""
    ended = (ChangeState.DROPPED, ChangeState.LAPSED, ChangeState.DECLINED)
    is_over = offered.machine.state in ended or now >= offered.machine.expires_at
    if offered.machine.state is not ChangeState.MADE and is_over:
        return Decision(state=offered, records=(), reply=change_view(offered, terms, now))
    after = replace(offered, machine=change.step(offered.machine, change.Drop(), now))
    return Decision(state=after, records=(_record(CHANGE_ENDED, after, guest),), reply=change_view(after, terms, now))


def lapsed(offered: StoredChange, guest: str, now: datetime) -> tuple[StoredChange, Draft]:
    """A change offer whose time is over, marked so, and the record of it."""
    after = replace(offered, machine=change.step(offered.machine, change.Lapse(), now))
    return after, _record(CHANGE_ENDED, after, guest)


def change_view(offered: StoredChange, terms: OfferClaims, now: datetime) -> ChangeView:
    """The offer as its agent sees it at `now`: one whose time is over has lapsed, marked or not."""
    state = offered.machine.state
    if state in (ChangeState.OFFERED, ChangeState.AWAITING) and now >= offered.machine.expires_at:
        state = ChangeState.LAPSED
    return ChangeView(
        offer_id=offered.offer_id,
        booking_id=offered.booking_id,
        status=state.value,
        version=offered.machine.version,
        start=terms.start,
        expires_at=write_instant(offered.machine.expires_at),
        offer=offered.offer.token,
        end=terms.end,
        open_end=terms.open_end,
        price=list_price(terms),
        total=terms.total,
    )


def _record(kind: str, offered: StoredChange, guest: str) -> Draft:
    return Draft(
        kind=kind,
        actor=guest,
        links=(Link("offer", offered.offer.sha256),),
        body={
            "booking_id": offered.booking_id,
            "offer_id": offered.offer_id,
            "status": offered.machine.state.value,
            "expires_at": write_instant(offered.machine.expires_at),
        },
    )
