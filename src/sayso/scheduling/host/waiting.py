"""Serving the waitlist: freed time is held for the first in line whom it suits, in the unit of work that freed it.

Spec section 20; SCH-239 to SCH-241. `serve` runs at the end of every change of a host's state and after what is due has
lapsed, so nobody else's request can come in between. Nothing outside is asked in here: a mandate counts as it was
presented when its agent joined, and is judged again, status included, when the hold is confirmed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sayso.core.refusal import Refused
from sayso.scheduling.host import allocations, bookings, claims, entries, holds, links, reputation
from sayso.scheduling.host.contacts import check_admitted
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.lanes import find_lane
from sayso.scheduling.rules import placing, waitlist
from sayso.scheduling.rules.eligibility import check_eligible
from sayso.scheduling.rules.limits import granted_ttl
from sayso.scheduling.rules.placing import StoredHold
from sayso.scheduling.rules.spans import DAY, Span, instant, micros
from sayso.scheduling.rules.waitlist import WAITLIST_ENDED, WAITLIST_OFFERED, EntryState, StoredEntry
from sayso.scheduling.terms.mandate_checks import Action, Mandate, check_mandate, verify_mandate
from sayso.scheduling.terms.waitlist import WaitlistEntry
from sayso.store.unit import Reading, Unit

__all__ = ("around", "follow_hold", "lapse_entries", "offered_hold", "serve", "view_of")


def serve(unit: Unit, desk: Desk) -> None:
    """Offers everything freed and not yet looked at, until it suits nobody in line."""
    if not entries.has_waiting(unit, desk.host):
        return
    while freed := entries.take_freed(unit, desk.host):
        for span, units in freed:
            if span.end > micros(unit.now):
                _offer(unit, desk, span, units)


def _offer(unit: Unit, desk: Desk, freed: Span, units: tuple[str, ...]) -> None:
    """Goes down the line once: what the first one leaves of the time may suit the next."""
    for entry in entries.waiting_in(unit, desk.host, freed):
        try:
            _offer_to(unit, desk, entry, freed, units)
        except Refused:
            # Its mandate has ended or does not reach, its caps are full, or its agent is suspended: the next in line.
            continue


def _offer_to(unit: Unit, desk: Desk, entry: StoredEntry, freed: Span, units: tuple[str, ...]) -> None:
    """Places the hold of an entry that the time suits. Refused where a hold of its agent would be."""
    profile = desk.profile
    wanted = waitlist.read_join(profile, entry.request)
    picture = allocations.read_picture(unit, desk.host, profile.premises, around(freed))
    slots = waitlist.starts_in(profile, picture, wanted, freed, unit.now)
    if not slots:
        return
    start = instant(slots[0].start)
    # Its status was asked when the agent joined and is asked again when the hold is confirmed.
    mandate = replace(verify_mandate(entry.token), standing="not_asked")
    _check(unit, desk, entry, wanted, mandate)
    check_admitted(unit, desk, entry.principal)
    use = holds.read_use(unit, desk.host, entry.agent, mandate)
    check_eligible(wanted.wish.service, is_proven=use.is_proven)
    attester = find_lane(unit, desk, mandate, use)
    decision = placing.decide(
        profile,
        desk.pen,
        picture,
        waitlist.offer_for(
            entry,
            wanted,
            mandate,
            start=start,
            ttl=_ttl(unit, desk, entry, attester, start - unit.now),
            hold_id=desk.ids.new("h"),
            offer_id=desk.ids.new("o"),
            proven=use.is_proven,
            prefer=units,
            attester=attester,
        ),
        unit.now,
    )
    placed = decision.state
    holds.add(unit, desk.host, placed.hold)
    links.add(unit, desk.host, placed.hold.hold_id, mandate)
    claims.note_shared(unit, desk.host, placed.hold.hold_id, mandate)
    allocations.take(
        unit,
        desk.host,
        placed.granted,
        owner=placed.hold.hold_id,
        family=placed.hold.hold_id,
        expires_at=placed.hold.machine.expires_at,
    )
    offered = _moved(unit, desk, entry, waitlist.Offer(), placed.hold.hold_id)
    desk.record(unit, (*decision.records, waitlist.entry_record(WAITLIST_OFFERED, offered)))


def _check(unit: Unit, desk: Desk, entry: StoredEntry, wanted: waitlist.JoinWish, mandate: Mandate) -> None:
    """The whole window was covered when the agent joined; what can have changed since is the time."""
    for action in (Action.HOLD, Action.CONFIRM):
        check_mandate(mandate, waitlist.ask_to_wait(desk.profile, wanted, entry.agent, action), unit.now)


def _ttl(unit: Unit, desk: Desk, entry: StoredEntry, attester: str | None, left: timedelta) -> timedelta:
    """The longest hold this host gives, as far as reputation allows, never past the start (SCH-250)."""
    ceilings = desk.profile.ceilings
    allowed = reputation.may_hold_for(unit, desk.host, *reputation.subjects(entry.agent, entry.principal, attester))
    return min(granted_ttl(ceilings.ttl_max, ceilings, allowed), left)


def around(span: Span) -> Span:
    """What has to be known to give time near a span: a day before it, and two after, for buffers past closing."""
    return Span(span.start - 2 * DAY, span.end + 3 * DAY)


def follow_hold(unit: Unit, desk: Desk, hold_id: str, command: waitlist.Command) -> None:
    """The entry a hold was placed for goes where the hold goes; most holds were placed for none."""
    entry = entries.find_offered(unit, desk.host, hold_id)
    if entry is not None:
        ended = _moved(unit, desk, entry, command, hold_id)
        desk.record(unit, (waitlist.entry_record(WAITLIST_ENDED, ended),))


def lapse_entries(unit: Unit, desk: Desk) -> None:
    """Marks every entry whose time to wait is over."""
    while found := entries.due(unit, desk.host):
        for entry in found:
            lapsed = _moved(unit, desk, entry, waitlist.Lapse(), None)
            desk.record(unit, (waitlist.entry_record(WAITLIST_ENDED, lapsed),))


def _moved(unit: Unit, desk: Desk, entry: StoredEntry, command: waitlist.Command, hold_id: str | None) -> StoredEntry:
    after = waitlist.moved(entry, command, hold_id, unit.now)
    entries.save(unit, desk.host, after)
    return after


def offered_hold(view: Reading, desk: Desk, entry: StoredEntry) -> StoredHold | None:
    """The hold placed for an entry, if one was."""
    return None if entry.hold_id is None else holds.find(view, desk.host, entry.hold_id)


def view_of(view: Reading, desk: Desk, entry: StoredEntry) -> WaitlistEntry:
    """The entry with its hold as it stands at the unit's now; what has run out is said to have, marked or not."""
    held = offered_hold(view, desk, entry)
    if held is None:
        if entry.machine.state is EntryState.WAITING and view.now >= entry.machine.expires_at:
            entry = waitlist.moved(entry, waitlist.Lapse(), None, view.now)
        return waitlist.entry_view(desk.profile, entry, None)
    hold = placing.hold_view(held, bookings.own_offer(held.offer.token), view.now)
    if entry.machine.state is EntryState.OFFERED and hold.status == "expired":
        entry = waitlist.moved(entry, waitlist.Lapse(), entry.hold_id, view.now)
    return waitlist.entry_view(desk.profile, entry, hold)
