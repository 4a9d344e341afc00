"""Joining a waitlist, reading an entry, leaving: the units of work around `rules.waitlist` (spec section 20)."""

from __future__ import annotations

from dataclasses import dataclass

from sayso.core.instants import from_epoch
from sayso.scheduling.host import allocations, bookings, entries, holds, links, reputation, waiting
from sayso.scheduling.host.admission import Operation, Plan
from sayso.scheduling.host.call import Call, NoBody
from sayso.scheduling.host.contacts import check_admitted
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.rules import hold, settling, waitlist
from sayso.scheduling.rules.eligibility import check_eligible
from sayso.scheduling.rules.placing import hold_view
from sayso.scheduling.rules.reputation import is_abandoned
from sayso.scheduling.rules.waitlist import WAITLIST_ENDED, EntryState, JoinWish, Leave, StoredEntry
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.mandate_checks import Action, Checked, check_limit, check_mandate
from sayso.scheduling.terms.waitlist import JoinRequest, LeaveRequest
from sayso.store.unit import Reading, Unit

__all__ = ("JOIN_WAITLIST", "LEAVE_WAITLIST", "READ_ENTRY")


@dataclass(frozen=True, slots=True)
class _Wanted:
    wish: JoinWish
    checked: Checked


def _want(unit: Unit, desk: Desk, call: Call[JoinRequest]) -> _Wanted:
    wanted = waitlist.read_join(desk.profile, call.request)
    # The hold that may come is confirmed without another word to the person: both scopes over the whole window.
    check_mandate(call.mandate, waitlist.ask_to_wait(desk.profile, wanted, call.agent, Action.CONFIRM), unit.now)
    ask = waitlist.ask_to_wait(desk.profile, wanted, call.agent, Action.HOLD)
    checked = check_mandate(call.mandate, ask, unit.now)
    check_admitted(unit, desk, checked.mandate.principal)
    return _Wanted(wanted, checked)


def _join(unit: Unit, desk: Desk, call: Call[JoinRequest], wanted: _Wanted) -> Plan:
    profile, wish, mandate = desk.profile, wanted.wish, wanted.checked.mandate
    waitlist.check_entries(entries.count_waiting(unit, desk.host, call.agent), profile.waitlist_entries)
    use = holds.read_use(unit, desk.host, call.agent, mandate)
    check_eligible(wish.wish.service, is_proven=use.is_proven)
    check_limit(mandate, use.under_mandate, *links.count(unit, desk.host, mandate))
    decision = waitlist.join(
        profile,
        allocations.read_picture(unit, desk.host, profile.premises, waiting.around(wish.window)),
        wish,
        call.request,
        mandate,
        entry_id=desk.ids.new("w"),
        agent=call.agent,
        expires=from_epoch(min(claims.exp for claims in mandate.all_claims)),
        now=unit.now,
    )

    def write() -> None:
        entries.add(unit, desk.host, decision.state, wish.window)
        links.add(unit, desk.host, decision.state.entry_id, mandate)
        desk.keep_documents(unit, mandate)

    return Plan(status=201, reply=decision.reply, records=decision.records, write=write)


def _find(view: Reading, desk: Desk, call: Call[object]) -> StoredEntry:
    """The entry the path names, if this agent joined with it; anybody else's does not exist."""
    found = entries.find(view, desk.host, call.named["entry_id"])
    if found is None or found.agent != call.agent:
        raise refused("no_such_entry")
    return found


def _read(unit: Unit, desk: Desk, call: Call[NoBody], found: StoredEntry) -> Plan:
    return Plan(status=200, reply=waiting.view_of(unit, desk, found))


def _leave(unit: Unit, desk: Desk, call: Call[LeaveRequest], found: StoredEntry) -> Plan:
    """What is over stays as it is; an offered hold is released with its entry. Refused: entry_taken."""
    if found.machine.state is EntryState.TAKEN:
        raise refused("entry_taken")
    held = waiting.offered_hold(unit, desk, found)
    if found.machine.state not in (EntryState.WAITING, EntryState.OFFERED):
        return Plan(status=200, reply=waiting.view_of(unit, desk, found))
    after = waitlist.moved(found, Leave(), found.hold_id, unit.now)
    records = (waitlist.entry_record(WAITLIST_ENDED, after),)
    if held is None:
        reply = waitlist.entry_view(desk.profile, after, None)
        return Plan(status=200, reply=reply, records=records, write=lambda: entries.save(unit, desk.host, after))
    terms = bookings.own_offer(held.offer.token)
    released = settling.release(held, terms, unit.now)
    abandoned = is_abandoned(from_epoch(terms.iat), held.machine.expires_at, unit.now)

    def write() -> None:
        reputation.note(unit, desk.host, *reputation.of_hold(held), abandoned=abandoned, at=unit.now)
        entries.save(unit, desk.host, after)
        holds.save(unit, desk.host, released.state)
        allocations.follow(unit, desk.host, held.hold_id, hold.COUPLED[released.state.machine.state])

    reply = waitlist.entry_view(desk.profile, after, hold_view(released.state, terms, unit.now))
    return Plan(status=200, reply=reply, records=(*released.records, *records), write=write)


JOIN_WAITLIST = Operation(JoinRequest, _want, _join, lambda wanted: wanted.checked.mandate.principal)
READ_ENTRY = Operation(NoBody, _find, _read)
LEAVE_WAITLIST = Operation(LeaveRequest, _find, _leave, lambda found: found.principal)
