"""Placing, releasing and confirming holds: the units of work around `rules.placing` and `rules.settling`.

Protocol sections 8 and 10. `ground` loads and judges the mandate, `decide` loads the rest, decides, and says what to
write.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sayso.core.instants import from_epoch, parse_instant
from sayso.core.money import read_money
from sayso.scheduling.host import allocations, bookings, claims, guests, holds, links, reputation, waiting
from sayso.scheduling.host.admission import Operation, Plan
from sayso.scheduling.host.call import Call
from sayso.scheduling.host.contacts import check_admitted
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.lanes import find_lane
from sayso.scheduling.host.looking import day_around, find_own_hold
from sayso.scheduling.host.personal import answer_at_once, check_asks
from sayso.scheduling.host.whole import keep_while_silent
from sayso.scheduling.rules import hold, placing, settling, waitlist
from sayso.scheduling.rules.booking import BookingState
from sayso.scheduling.rules.eligibility import check_eligible
from sayso.scheduling.rules.limits import granted_ttl
from sayso.scheduling.rules.placing import HoldWish, PlaceHold, StoredHold
from sayso.scheduling.rules.profile import HostProfile
from sayso.scheduling.rules.reputation import is_abandoned
from sayso.scheduling.rules.settling import ConfirmHold
from sayso.scheduling.rules.spans import micros
from sayso.scheduling.terms.hold import ConfirmRequest, HoldRequest, ReleaseRequest
from sayso.scheduling.terms.mandate_checks import Action, Ask, Checked, check_limit, check_mandate
from sayso.scheduling.terms.offer import OfferClaims
from sayso.store.unit import Unit

__all__ = ("CONFIRM_HOLD", "PLACE_HOLD", "RELEASE_HOLD")


@dataclass(frozen=True, slots=True)
class _Wanted:
    wish: HoldWish
    checked: Checked


@dataclass(frozen=True, slots=True)
class _Held:
    hold: StoredHold
    terms: OfferClaims
    checked: Checked


def _want(unit: Unit, desk: Desk, call: Call[HoldRequest]) -> _Wanted:
    wish = placing.read_wish(desk.profile, call.request)
    ask = placing.ask_of(desk.profile, wish.service, wish.start, call.agent)
    checked = check_mandate(call.mandate, ask, unit.now)
    check_admitted(unit, desk, checked.mandate.principal)
    return _Wanted(wish, checked)


def _place(unit: Unit, desk: Desk, call: Call[HoldRequest], wanted: _Wanted) -> Plan:
    profile, wish, mandate = desk.profile, wanted.wish, wanted.checked.mandate
    use = holds.read_use(unit, desk.host, call.agent, mandate)
    check_limit(mandate, use.under_mandate, *links.count(unit, desk.host, mandate))
    check_eligible(wish.service, is_proven=use.is_proven)
    placing.check_bookable(profile, wish.start, unit.now)
    attester = find_lane(unit, desk, mandate, use)
    judged = reputation.subjects(call.agent, mandate.principal, attester)
    ttl = granted_ttl(wish.ttl, profile.ceilings, reputation.may_hold_for(unit, desk.host, *judged))
    span = day_around(profile.premises, micros(wish.start))
    decision = placing.decide(
        profile,
        desk.pen,
        allocations.read_picture(unit, desk.host, profile.premises, span),
        PlaceHold(
            wish=wish,
            hold_id=desk.ids.new("h"),
            offer_id=desk.ids.new("o"),
            agent=call.agent,
            mandate=mandate,
            proven=use.is_proven,
            ttl=ttl,
            attester=attester,
        ),
        unit.now,
    )
    placed = decision.state

    def write() -> None:
        hold_id = placed.hold.hold_id
        holds.add(unit, desk.host, placed.hold)
        links.add(unit, desk.host, hold_id, mandate)
        claims.note_shared(unit, desk.host, hold_id, mandate)
        allocations.take(
            unit,
            desk.host,
            placed.granted,
            owner=hold_id,
            family=hold_id,
            expires_at=placed.hold.machine.expires_at,
        )

    return Plan(status=201, reply=decision.reply, records=decision.records, write=write)


def _release(unit: Unit, desk: Desk, call: Call[ReleaseRequest], held: StoredHold) -> Plan:
    terms = bookings.own_offer(held.offer.token)
    decision = settling.release(held, terms, unit.now)
    abandoned = is_abandoned(from_epoch(terms.iat), held.machine.expires_at, unit.now)

    def write() -> None:
        if decision.records:
            reputation.note(unit, desk.host, *reputation.of_hold(held), abandoned=abandoned, at=unit.now)
            holds.save(unit, desk.host, decision.state)
            allocations.follow(unit, desk.host, held.hold_id, hold.COUPLED[decision.state.machine.state])
            waiting.follow_hold(unit, desk, held.hold_id, waitlist.Leave())

    return Plan(status=200, reply=decision.reply, records=decision.records, write=write)


def _ask_to_confirm(profile: HostProfile, held: StoredHold, terms: OfferClaims, agent: str) -> Ask:
    return Ask(
        action=Action.CONFIRM,
        host=profile.host,
        agent=agent,
        principal=held.principal,
        service_id=held.service_id,
        start=parse_instant(terms.start),
        end=None if terms.end is None else parse_instant(terms.end),
        total=None if terms.total is None else read_money(terms.total),
        booked_under=held.mandate,
        offer_sha256=held.offer.sha256,
        closed_mandate=profile.closed_mandate,
    )


def _may_confirm(unit: Unit, desk: Desk, call: Call[ConfirmRequest]) -> _Held:
    held = find_own_hold(unit, desk, call)
    terms = bookings.own_offer(held.offer.token)
    ask = _ask_to_confirm(desk.profile, held, terms, call.agent)
    checked = check_mandate(call.mandate, ask, unit.now)
    check_admitted(unit, desk, held.principal)
    check_asks(desk, terms)
    if held.machine.state is hold.HoldState.HELD:
        claims.check_claim(unit, desk.host, held.hold_id, call.claim)
    return _Held(held, terms, checked)


def _confirm(unit: Unit, desk: Desk, call: Call[ConfirmRequest], found: _Held) -> Plan:
    desk.profile.check_note(call.request.note)
    decision = settling.confirm(
        found.hold,
        found.terms,
        desk.pen,
        ConfirmHold(
            offer_sha256=call.request.offer_sha256,
            checked=found.checked,
            booking_id=desk.ids.new("b"),
            receipt_id=desk.ids.new("r"),
        ),
        unit.now,
    )
    confirmed = decision.state
    at_once = answer_at_once(unit, desk, confirmed.booking)
    if at_once is not None:
        confirmed = replace(confirmed, booking=at_once.booking)

    def write() -> None:
        if confirmed.booking.standing.state is not BookingState.TENTATIVE:
            # What waits for its participants is no outcome yet: their silence may still make it one (SCH-144).
            reputation.note(unit, desk.host, *reputation.of_hold(found.hold), abandoned=False, at=unit.now)
        holds.save(unit, desk.host, confirmed.hold)
        bookings.add(unit, desk.host, confirmed.booking)
        guests.expect(unit, desk.host, confirmed.booking, guests.Expected(call.request.guest, call.request.note))
        allocations.follow(unit, desk.host, confirmed.booking.owner, hold.COUPLED[confirmed.hold.machine.state])
        if confirmed.booking.standing.answer_by is not None and at_once is None:
            allocations.keep_until(unit, desk.host, confirmed.booking.owner, confirmed.booking.standing.answer_by)
        keep_while_silent(unit, desk, confirmed.booking)
        waiting.follow_hold(unit, desk, confirmed.hold.hold_id, waitlist.Take())
        desk.keep_documents(unit, found.checked.mandate, confirmed.booking.offer.token, confirmed.booking.receipt)
        if at_once is not None:
            desk.keep_own(unit, decision.state.booking.receipt)
            at_once.answer.keep(unit, desk)

    if at_once is not None:
        return Plan(status=201, reply=at_once.reply, records=(*decision.records, *at_once.records), write=write)
    return Plan(status=201, reply=decision.reply, records=decision.records, write=write)


PLACE_HOLD = Operation(HoldRequest, _want, _place, lambda wanted: wanted.checked.mandate.principal, frees=False)
RELEASE_HOLD = Operation(ReleaseRequest, find_own_hold, _release, lambda held: held.principal)
CONFIRM_HOLD = Operation(ConfirmRequest, _may_confirm, _confirm, lambda held: held.hold.principal)
