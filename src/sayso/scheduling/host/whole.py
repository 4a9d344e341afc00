"""A booking with its documents read, and what ends beside it: the units of work that host, guest and clock share."""

from __future__ import annotations

from sayso.scheduling.host import allocations, bookings, changes
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.rules import answering, change, moving
from sayso.scheduling.rules.answering import Whole
from sayso.scheduling.rules.moving import StoredChange
from sayso.scheduling.rules.settling import StoredBooking
from sayso.store.unit import Unit

__all__ = ("drop_open", "end_change", "note_proposal_over", "read_whole", "save_settled")


def read_whole(made: StoredBooking) -> Whole:
    """The booking with its contract and its newest receipt."""
    return Whole(booking=made, terms=bookings.own_offer(made.offer.token), last=bookings.own_receipt(made.receipt))


def save_settled(unit: Unit, desk: Desk, after: StoredBooking) -> None:
    """Writes a booking after an act of its host or of the clock, and keeps the receipt of it."""
    bookings.save(unit, desk.host, after)
    desk.keep_own(unit, after.receipt)


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
