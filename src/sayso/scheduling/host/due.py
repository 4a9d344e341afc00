"""What the clock has ended: holds, change offers and waitlist entries whose time is over, marked, their time freed.

Every change of a host's state begins with this, in its own unit of work, so that nothing is decided on time that is no
longer anybody's; no sweeper has to have run (SCH-123). Lapsed rows count for nothing even before. Whoever waits for
what was freed is served first (`waiting`).
"""

from __future__ import annotations

from sqlalchemy import bindparam, literal_column, select

from sayso.core.refusal import Corrupt
from sayso.scheduling.host import allocations, bookings, changes, holds, overdue, reputation, waiting
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.whole import note_proposal_over
from sayso.scheduling.rules import change, hold, moving, settling, waitlist
from sayso.scheduling.rules.change import ChangeState
from sayso.scheduling.rules.settling import StoredBooking
from sayso.scheduling.rules.spans import DAY, micros
from sayso.store.statements import statement
from sayso.store.tables.scheduling import host_change, host_freed, host_hold, host_waitlist
from sayso.store.unit import Unit

__all__ = ("lapse_due", "settle_if_due")

_held = (host_hold.c.state == literal_column("'held'"), host_hold.c.expires_us <= bindparam("now"))
_offered = (
    host_change.c.state.in_([literal_column("'offered'"), literal_column("'awaiting_host'")]),
    host_change.c.expires_us <= bindparam("now"),
)
_waiting = (host_waitlist.c.state == literal_column("'waiting'"), host_waitlist.c.expires_us <= bindparam("now"))
# Nearly always nothing is due, and one look says so.
_ANY = statement(
    select(
        select(literal_column("1")).where(host_hold.c.host == bindparam("of_host"), *_held).limit(1).scalar_subquery(),
        select(literal_column("1"))
        .where(host_change.c.host == bindparam("of_host"), *_offered)
        .limit(1)
        .scalar_subquery(),
        select(literal_column("1"))
        .where(host_waitlist.c.host == bindparam("of_host"), *_waiting)
        .limit(1)
        .scalar_subquery(),
        select(literal_column("1"))
        .where(host_freed.c.host == bindparam("of_host"), host_freed.c.start_us > bindparam("a_day_ago"))
        .limit(1)
        .scalar_subquery(),
        *overdue.LOOKS,
    )
)


def _at(unit: Unit, desk: Desk) -> dict[str, str | int]:
    now = micros(unit.now)
    return {"of_host": desk.host, "now": now, "a_day_ago": now - DAY}


def lapse_due(unit: Unit, desk: Desk) -> None:
    """Marks every hold, change offer and waitlist entry of the host that has run out by the unit's now."""
    if not any(unit.one(_ANY, _at(unit, desk)) or ()):
        return
    while found := holds.due(unit, desk.host):
        for held in found:
            after, record = settling.lapsed(held, unit.now)
            holds.save(unit, desk.host, after)
            at = held.machine.expires_at
            reputation.note(unit, desk.host, *reputation.of_hold(held), abandoned=True, at=at)
            allocations.follow(unit, desk.host, after.hold_id, hold.COUPLED[after.machine.state])
            desk.record(unit, (record,))
            waiting.follow_hold(unit, desk, after.hold_id, waitlist.Lapse())
    while offered := changes.due(unit, desk.host):
        for each in offered:
            made = bookings.find(unit, desk.host, each.booking_id)
            if made is None:
                raise Corrupt("a change offer without its booking", each.offer_id)
            if each.machine.state is ChangeState.AWAITING:
                overdue.lapse_move(unit, desk, made, each)
                continue
            ended, record = moving.lapsed(each, made.principal, unit.now)
            changes.save(unit, desk.host, ended)
            allocations.follow(unit, desk.host, ended.offer_id, change.COUPLED[ended.machine.state])
            desk.record(unit, (record,))
            note_proposal_over(unit, desk, made, ended)
    overdue.settle_overdue(unit, desk)
    waiting.lapse_entries(unit, desk)
    waiting.serve(unit, desk)


def settle_if_due(unit: Unit, desk: Desk, made: StoredBooking) -> StoredBooking:
    """The booking as the clock has left it: one whose deadline to answer has passed is settled before it is read."""
    dues = (made.standing.answer_by, made.standing.reconfirm_by)
    if not any(by is not None and unit.now >= by for by in dues):
        return made
    unit.lock(desk.lock)
    lapse_due(unit, desk)
    return bookings.find(unit, desk.host, made.booking_id) or made
