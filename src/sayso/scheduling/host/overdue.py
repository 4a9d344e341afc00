"""What the clock does to bookings: a request nobody answered lapses, and a booking whose booker does not reconfirm it
where silence ends it; an appointment that is over completes.

Part of `due`. SCH-177, SCH-201, SCH-209, SCH-226, SCH-248. An end that has passed frees nothing: what is left of its
time is the buffer, which runs out by itself.
"""

from __future__ import annotations

from sqlalchemy import bindparam, literal_column, select

from sayso.core.refusal import Corrupt
from sayso.scheduling.host import allocations, bookings, changes, reputation
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.personal import answer_at_once
from sayso.scheduling.host.whole import drop_open, follow_answers, note_outcome, read_whole, save_settled
from sayso.scheduling.rules import answering, change, inviting, reconfirming
from sayso.scheduling.rules.booking import BookingState
from sayso.scheduling.rules.moving import StoredChange
from sayso.scheduling.rules.settling import StoredBooking
from sayso.store.tables.scheduling import host_booking
from sayso.store.unit import Unit

__all__ = ("LOOKS", "lapse_move", "settle_overdue")

_b = host_booking.c
_of_host = _b.host == bindparam("of_host")

LOOKS = (
    select(literal_column("1"))
    .where(_of_host, _b.answer_us.is_not(None), _b.answer_us <= bindparam("now"))
    .limit(1)
    .scalar_subquery(),
    select(literal_column("1"))
    .where(_of_host, _b.state == literal_column("'confirmed'"), _b.until_us <= bindparam("now"))
    .limit(1)
    .scalar_subquery(),
    select(literal_column("1"))
    .where(_of_host, _b.reconfirm_us.is_not(None), _b.reconfirm_us <= bindparam("now"))
    .limit(1)
    .scalar_subquery(),
)
"""Whether any booking of the host is to be settled by now: each is 1 or null, and part of the one look of `due`."""


def settle_overdue(unit: Unit, desk: Desk) -> None:
    """Settles all of them. Change offers whose time is over have been marked before."""
    while found := bookings.unanswered(unit, desk.host):
        for made in found:
            if made.standing.state is BookingState.TENTATIVE:
                _settle_silence(unit, desk, made)
                continue
            decision = answering.lapse(read_whole(made), desk.pen, desk.ids.new("r"), unit.now)
            drop_open(unit, desk, made)
            allocations.free(unit, desk.host, made.owner)
            save_settled(unit, desk, decision.state)
            desk.record(unit, decision.records)
    while silent := bookings.unreconfirmed(unit, desk.host):
        for made in silent:
            _lapse_unreconfirmed(unit, desk, made)
    while over := bookings.over(unit, desk.host):
        for made in over:
            decision = answering.complete(read_whole(made), desk.pen, desk.ids.new("r"), unit.now)
            save_settled(unit, desk, decision.state)
            desk.record(unit, decision.records)


def _settle_silence(unit: Unit, desk: Desk, made: StoredBooking) -> None:
    """Participants' silence at their deadline, taken as the contract says (SCH-245); where it ends the booking, that
    counts against the booker like an expired hold (SCH-144).
    """
    whole = read_whole(made)
    decision = inviting.settle_silence(whole, desk.pen, desk.ids.new("r"), unit.now)
    at_once = answer_at_once(unit, desk, decision.state)
    save_settled(unit, desk, decision.state if at_once is None else at_once.booking)
    follow_answers(unit, desk, made, decision.state if at_once is None else at_once.booking)
    if at_once is not None:
        desk.keep_own(unit, decision.state.receipt)
        at_once.answer.keep(unit, desk)
    if inviting.counts_as_abandoned(whole, decision.state):
        at = made.standing.answer_by or unit.now
        note_outcome(unit, desk, made, abandoned=True, at=at)
    desk.record(unit, decision.records if at_once is None else (*decision.records, *at_once.records))


def _lapse_unreconfirmed(unit: Unit, desk: Desk, made: StoredBooking) -> None:
    """A booking whose booker did not reconfirm: like a hold that ran out, its time is free and it counts (SCH-252)."""
    by = made.standing.reconfirm_by
    if by is None:
        raise Corrupt("a booking that lapses by silence, and no moment at which", made.booking_id)
    decision = reconfirming.lapse(read_whole(made), desk.pen, desk.ids.new("r"), unit.now)
    drop_open(unit, desk, made)
    allocations.free(unit, desk.host, made.owner)
    save_settled(unit, desk, decision.state)
    reputation.note(unit, desk.host, *reputation.subjects(made.agent, made.principal), abandoned=True, at=by)
    desk.record(unit, decision.records)


def lapse_move(unit: Unit, desk: Desk, made: StoredBooking, waiting: StoredChange) -> None:
    """A move that the host did not answer: its time is free again, and the booking says so (SCH-226)."""
    start = bookings.own_offer(waiting.offer.token).start
    after, decision = answering.refuse_move(
        read_whole(made), waiting, start, desk.pen, desk.ids.new("r"), unit.now, reason="not_answered"
    )
    changes.save(unit, desk.host, after)
    allocations.follow(unit, desk.host, after.offer_id, change.COUPLED[after.machine.state])
    save_settled(unit, desk, decision.state)
    desk.record(unit, decision.records)
