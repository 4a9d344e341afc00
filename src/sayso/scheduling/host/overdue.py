"""What the clock does to bookings: a request nobody answered lapses, an appointment that is over completes.

Part of `due`, with its own look whether there is anything. SCH-177, SCH-201, SCH-209, SCH-226. An end that has passed
frees nothing: what is left of its time is the buffer, which runs out by itself.
"""

from __future__ import annotations

from sqlalchemy import bindparam, literal_column, select

from sayso.scheduling.host import allocations, bookings, changes
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.whole import drop_open, read_whole, save_settled
from sayso.scheduling.rules import answering, change
from sayso.scheduling.rules.moving import StoredChange
from sayso.scheduling.rules.settling import StoredBooking
from sayso.scheduling.rules.spans import micros
from sayso.store.statements import statement
from sayso.store.tables.scheduling import host_booking
from sayso.store.unit import Unit

__all__ = ("has_overdue", "lapse_move", "settle_overdue")

_b = host_booking.c
_of_host = _b.host == bindparam("of_host")
_ANY = statement(
    select(
        select(literal_column("1"))
        .where(_of_host, _b.answer_us.is_not(None), _b.answer_us <= bindparam("now"))
        .limit(1)
        .scalar_subquery(),
        select(literal_column("1"))
        .where(_of_host, _b.state == literal_column("'confirmed'"), _b.until_us <= bindparam("now"))
        .limit(1)
        .scalar_subquery(),
    )
)


def has_overdue(unit: Unit, desk: Desk) -> bool:
    """Whether any booking of the host is to be settled by the unit's now."""
    return unit.one(_ANY, {"of_host": desk.host, "now": micros(unit.now)}) != (None, None)


def settle_overdue(unit: Unit, desk: Desk) -> None:
    """Settles all of them. Change offers whose time is over have been marked before."""
    while found := bookings.unanswered(unit, desk.host):
        for made in found:
            decision = answering.lapse(read_whole(made), desk.pen, desk.ids.new("r"), unit.now)
            drop_open(unit, desk, made)
            allocations.free(unit, desk.host, made.owner)
            save_settled(unit, desk, decision.state)
            desk.record(unit, decision.records)
    while over := bookings.over(unit, desk.host):
        for made in over:
            decision = answering.complete(read_whole(made), desk.pen, desk.ids.new("r"), unit.now)
            save_settled(unit, desk, decision.state)
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
