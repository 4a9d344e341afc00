"""A booking with its documents read, and what ends beside it: the units of work that host, guest and clock share."""

from __future__ import annotations

from datetime import datetime

from sayso.scheduling.host import allocations, bookings, changes, holds, reputation
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.rules import answering, change, inviting, moving
from sayso.scheduling.rules.answering import Whole
from sayso.scheduling.rules.booking import COUPLED, BookingState
from sayso.scheduling.rules.moving import StoredChange
from sayso.scheduling.rules.settling import StoredBooking
from sayso.store.unit import Unit

__all__ = (
    "drop_open",
    "end_change",
    "follow_answers",
    "keep_while_asked",
    "keep_while_silent",
    "note_outcome",
    "note_proposal_over",
    "read_whole",
    "save_settled",
)


def read_whole(made: StoredBooking) -> Whole:
    """The booking with its contract and its newest receipt."""
    return Whole(booking=made, terms=bookings.own_offer(made.offer.token), last=bookings.own_receipt(made.receipt))


def save_settled(unit: Unit, desk: Desk, after: StoredBooking) -> None:
    """Writes a booking after an act of its host or of the clock, and keeps the receipt of it."""
    bookings.save(unit, desk.host, after)
    desk.keep_own(unit, after.receipt)


def note_outcome(unit: Unit, desk: Desk, made: StoredBooking, *, abandoned: bool, at: datetime) -> None:
    """What became of a tentative booking counts as the end of its hold would have (SCH-144)."""
    held = holds.find(unit, desk.host, made.hold_id)
    judged = reputation.subjects(made.agent, made.principal) if held is None else reputation.of_hold(held)
    reputation.note(unit, desk.host, *judged, abandoned=abandoned, at=at)


def follow_answers(unit: Unit, desk: Desk, before: StoredBooking, after: StoredBooking) -> None:
    """Does to the booking's time and change offers what its new state says of them, and counts that it was settled."""
    first = before.standing.state is BookingState.TENTATIVE and after.standing.sequence == 0
    if first and after.standing.state in (BookingState.CONFIRMED, BookingState.PENDING_HOST):
        note_outcome(unit, desk, after, abandoned=False, at=unit.now)
    coupling = COUPLED[after.standing.state]
    if not coupling.changes_stay_open:
        drop_open(unit, desk, before)
    if not coupling.occupies_time:
        allocations.free(unit, desk.host, before.owner)
    elif after.standing.state is BookingState.PENDING_HOST and after.standing.answer_by is not None:
        allocations.keep_until(unit, desk.host, after.owner, after.standing.answer_by)
    elif after.standing.state is BookingState.CONFIRMED and before.standing.state is not BookingState.CONFIRMED:
        allocations.keep(unit, desk.host, after.owner)
        keep_while_silent(unit, desk, after)


def keep_while_asked(unit: Unit, desk: Desk, after: StoredBooking) -> None:
    """Keeps a tentative booking's time as long as its participants' silence does not end it (SCH-201, SCH-245)."""
    if after.standing.state is not BookingState.TENTATIVE:
        return
    until = inviting.kept_until(bookings.own_offer(after.offer.token), after.standing)
    if until is None:
        allocations.keep(unit, desk.host, after.owner)
    else:
        allocations.keep_until(unit, desk.host, after.owner, until)


def keep_while_silent(unit: Unit, desk: Desk, after: StoredBooking) -> None:
    """Where the booker's silence ends a confirmed booking, its time is nobody's from that very instant (SCH-248)."""
    standing = after.standing
    keep_while_asked(unit, desk, after)
    if standing.state is BookingState.CONFIRMED and standing.reconfirm_by is not None:
        allocations.keep_until(unit, desk.host, after.owner, standing.reconfirm_by)


def drop_open(unit: Unit, desk: Desk, made: StoredBooking) -> None:
    """Gives back the time of the booking's open change offer, if there is one (SCH-216, SCH-231).

    The booking itself is the caller's to write: this is for when it is settled in the same breath.
    """
    found = changes.find_open(unit, desk.host, made.booking_id)
    if found is not None:
        _drop(unit, desk, made, found)


def end_change(unit: Unit, desk: Desk, made: StoredBooking, found: StoredChange) -> StoredBooking:
    """Drops one change offer and, where it was the host's own proposal, says on the booking that it is over."""
    _drop(unit, desk, made, found)
    return note_proposal_over(unit, desk, made, found)


def note_proposal_over(unit: Unit, desk: Desk, made: StoredBooking, found: StoredChange) -> StoredBooking:
    """The booking without the proposal, saved; as it was where the offer was none (SCH-236)."""
    whole = read_whole(made)
    shown = whole.last.booking.proposed
    if shown is None or shown.offer_id != found.offer_id:
        return made
    decision = answering.withdraw_proposal(whole, desk.pen, desk.ids.new("r"), unit.now)
    save_settled(unit, desk, decision.state)
    desk.record(unit, decision.records)
    return decision.state


def _drop(unit: Unit, desk: Desk, made: StoredBooking, found: StoredChange) -> None:
    terms = bookings.own_offer(found.offer.token)
    decision = moving.drop(found, terms, made.principal, unit.now)
    changes.save(unit, desk.host, decision.state)
    allocations.follow(unit, desk.host, found.offer_id, change.COUPLED[decision.state.machine.state])
    desk.record(unit, decision.records)
