"""Cancelling and moving bookings: the units of work around `rules.settling` and `rules.moving`.

Protocol sections 11.4 and 13. Buying and management mandates are honoured alike: `terms.mandate_checks` says which
booking each of them reaches.
"""

from __future__ import annotations

from dataclasses import dataclass

from sayso.scheduling.host import allocations, bookings, changes, guests
from sayso.scheduling.host.admission import Operation, Plan
from sayso.scheduling.host.call import Call, NoBody
from sayso.scheduling.host.contacts import check_admitted
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.looking import day_around, find_booking, may_read
from sayso.scheduling.host.personal import check_asks, move_at_once
from sayso.scheduling.host.whole import drop_open, end_change, keep_while_silent, note_proposal_over
from sayso.scheduling.rules import change, moving, settling
from sayso.scheduling.rules.booking import COUPLED
from sayso.scheduling.rules.change import ChangeState
from sayso.scheduling.rules.limits import granted_ttl
from sayso.scheduling.rules.moving import AcceptChange, OfferChange, StoredChange, ask_to_accept, ask_to_manage
from sayso.scheduling.rules.placing import check_bookable
from sayso.scheduling.rules.settling import CancelBooking, StoredBooking
from sayso.scheduling.rules.spans import micros
from sayso.scheduling.terms.booking import CancelRequest
from sayso.scheduling.terms.change import AbandonRequest, AcceptRequest, ChangeRequest
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.mandate_checks import Action, Checked, check_mandate
from sayso.scheduling.terms.offer import OfferClaims
from sayso.store.unit import Unit

__all__ = ("ABANDON_CHANGE", "ACCEPT_CHANGE", "CANCEL_BOOKING", "READ_CHANGE", "REQUEST_CHANGE", "call_off")


@dataclass(frozen=True, slots=True)
class _Booked:
    booking: StoredBooking
    checked: Checked


@dataclass(frozen=True, slots=True)
class _Offered:
    booking: StoredBooking
    change: StoredChange
    terms: OfferClaims
    checked: Checked


@dataclass(frozen=True, slots=True)
class _Kept:
    booking: StoredBooking
    change: StoredChange


def _may_cancel(unit: Unit, desk: Desk, call: Call[CancelRequest]) -> _Booked:
    return _may_manage(unit, desk, call, Action.CANCEL)


def _may_request(unit: Unit, desk: Desk, call: Call[ChangeRequest]) -> _Booked:
    return _may_manage(unit, desk, call, Action.REQUEST_CHANGE)


def _may_manage(unit: Unit, desk: Desk, call: Call[CancelRequest] | Call[ChangeRequest], action: Action) -> _Booked:
    found = find_booking(unit, desk, call)
    checked = check_mandate(call.mandate, ask_to_manage(desk.profile, found, call.agent, action), unit.now)
    if action is not Action.CANCEL:
        check_admitted(unit, desk, found.principal)
    return _Booked(found, checked)


def _cancel(unit: Unit, desk: Desk, call: Call[CancelRequest], found: _Booked) -> Plan:
    return call_off(unit, desk, found.booking, found.checked, call.request.message)


def call_off(unit: Unit, desk: Desk, made: StoredBooking, checked: Checked, message: str | None = None) -> Plan:
    """The guest's own end of a booking, whichever of their messages says so: its time is free at once (SCH-213)."""
    decision = settling.cancel(
        made,
        bookings.own_offer(made.offer.token),
        bookings.own_receipt(made.receipt),
        desk.pen,
        CancelBooking(checked=checked, receipt_id=desk.ids.new("r"), message=message),
        unit.now,
    )
    coupling = COUPLED[decision.state.standing.state]

    def write() -> None:
        bookings.save(unit, desk.host, decision.state)
        guests.expect_words(unit, desk.host, decision.state)
        if not coupling.changes_stay_open:
            drop_open(unit, desk, made)
        if not coupling.occupies_time:
            allocations.free(unit, desk.host, made.owner)
        desk.keep_documents(unit, checked.mandate, decision.state.receipt)

    return Plan(status=200, reply=decision.reply, records=decision.records, write=write)


def _request(unit: Unit, desk: Desk, call: Call[ChangeRequest], found: _Booked) -> Plan:
    profile, made = desk.profile, found.booking
    start, wished = moving.read_move(call.request)
    moving.check_movable(made, unit.now)
    earlier = changes.find_open(unit, desk.host, made.booking_id)
    if earlier is not None and earlier.machine.state is ChangeState.AWAITING:
        raise refused("move_awaits_host")
    ttl = granted_ttl(wished, profile.ceilings)
    check_bookable(profile, start, unit.now)
    decision = moving.offer(
        profile,
        desk.pen,
        made,
        bookings.own_offer(made.offer.token),
        allocations.read_picture(unit, desk.host, profile.premises, day_around(profile.premises, micros(start))),
        OfferChange(
            start=start,
            ttl=ttl,
            offer_id=desk.ids.new("o"),
            agent=call.agent,
            units=allocations.units_of(unit, desk.host, made.owner),
        ),
        unit.now,
    )
    offered = decision.state

    def write() -> None:
        earlier = changes.find_open(unit, desk.host, made.booking_id)
        if earlier is not None:
            end_change(unit, desk, made, earlier)
        changes.add(unit, desk.host, offered.change)
        allocations.take(
            unit,
            desk.host,
            offered.granted,
            owner=offered.change.offer_id,
            family=made.hold_id,
            expires_at=offered.change.machine.expires_at,
        )

    return Plan(status=201, reply=decision.reply, records=decision.records, write=write)


def _find_change(unit: Unit, desk: Desk, call: Call[object], made: StoredBooking) -> StoredChange:
    found = changes.find(unit, desk.host, made.booking_id, call.named["offer_id"])
    if found is None:
        raise refused("no_such_offer")
    return found


def _may_accept(unit: Unit, desk: Desk, call: Call[AcceptRequest]) -> _Offered:
    made = find_booking(unit, desk, call)
    offered = _find_change(unit, desk, call, made)
    terms = bookings.own_offer(offered.offer.token)
    ask = ask_to_accept(desk.profile, made, offered, terms, call.agent)
    checked = check_mandate(call.mandate, ask, unit.now)
    check_admitted(unit, desk, made.principal)
    check_asks(desk, terms)
    return _Offered(made, offered, terms, checked)


def _accept(unit: Unit, desk: Desk, call: Call[AcceptRequest], found: _Offered) -> Plan:
    decision = moving.accept(
        found.booking,
        found.change,
        found.terms,
        bookings.own_offer(found.booking.offer.token),
        bookings.own_receipt(found.booking.receipt),
        desk.pen,
        AcceptChange(offer_sha256=call.request.offer_sha256, checked=found.checked, receipt_id=desk.ids.new("r")),
        unit.now,
    )
    moved = decision.state
    at_once = move_at_once(unit, desk, moved)
    if at_once is not None:
        moved = at_once[0]

    def write() -> None:
        changes.save(unit, desk.host, moved.change)
        bookings.save(unit, desk.host, moved.booking)
        if moved.change.machine.state is ChangeState.AWAITING:
            allocations.keep_until(unit, desk.host, moved.change.offer_id, moved.change.machine.expires_at)
        else:
            allocations.free(unit, desk.host, found.booking.owner)
            allocations.follow(unit, desk.host, moved.booking.owner, change.COUPLED[moved.change.machine.state])
            keep_while_silent(unit, desk, moved.booking)
            guests.follow_move(unit, desk.host, moved.booking)
        desk.keep_documents(unit, found.checked.mandate, moved.change.offer.token, moved.booking.receipt)
        if at_once is not None:
            desk.keep_own(unit, decision.state.booking.receipt)
            at_once[1].answer.keep(unit, desk)

    if at_once is not None:
        settled = at_once[1]
        return Plan(status=200, reply=settled.reply, records=(*decision.records, *settled.records), write=write)
    return Plan(status=200, reply=decision.reply, records=decision.records, write=write)


def _find_asked(unit: Unit, desk: Desk, call: Call[AbandonRequest]) -> _Kept:
    """The change offer, if this agent asked for it; anybody else's does not exist."""
    made = find_booking(unit, desk, call)
    found = _find_change(unit, desk, call, made)
    if bookings.own_offer(found.offer.token).agent != call.agent:
        raise refused("no_such_offer")
    return _Kept(made, found)


def _abandon(unit: Unit, desk: Desk, call: Call[AbandonRequest], kept: _Kept) -> Plan:
    terms = bookings.own_offer(kept.change.offer.token)
    if kept.change.machine.state is ChangeState.AWAITING:
        raise refused("move_awaits_host")
    decision = moving.drop(kept.change, terms, kept.booking.principal, unit.now)

    def write() -> None:
        if decision.records:
            changes.save(unit, desk.host, decision.state)
            allocations.follow(unit, desk.host, kept.change.offer_id, change.COUPLED[decision.state.machine.state])
            note_proposal_over(unit, desk, kept.booking, kept.change)

    return Plan(status=200, reply=decision.reply, records=decision.records, write=write)


def _may_read_change(unit: Unit, desk: Desk, call: Call[NoBody]) -> _Kept:
    made = may_read(unit, desk, call)
    return _Kept(made, _find_change(unit, desk, call, made))


def _read_change(unit: Unit, desk: Desk, call: Call[NoBody], kept: _Kept) -> Plan:
    return Plan(
        status=200, reply=moving.change_view(kept.change, bookings.own_offer(kept.change.offer.token), unit.now)
    )


CANCEL_BOOKING = Operation(CancelRequest, _may_cancel, _cancel, lambda found: found.booking.principal)
REQUEST_CHANGE = Operation(ChangeRequest, _may_request, _request, lambda found: found.booking.principal)
ACCEPT_CHANGE = Operation(AcceptRequest, _may_accept, _accept, lambda found: found.booking.principal)
READ_CHANGE = Operation(NoBody, _may_read_change, _read_change)
ABANDON_CHANGE = Operation(AbandonRequest, _find_asked, _abandon, lambda kept: kept.booking.principal)
