"""What the clock has ended: holds and change offers whose time is over, marked and their time freed.

Every change of a host's state begins with this, in its own unit of work, so that nothing is decided on time that is no
longer anybody's; no sweeper has to have run (SCH-123). Lapsed rows count for nothing even before.
"""

from __future__ import annotations

from sqlalchemy import bindparam, literal_column, select

from sayso.core.refusal import Corrupt
from sayso.scheduling.host import allocations, bookings, changes, holds
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.rules import change, hold, moving, settling
from sayso.scheduling.rules.spans import micros
from sayso.store.statements import statement
from sayso.store.tables.scheduling import host_change, host_hold
from sayso.store.unit import Unit

__all__ = ("lapse_due",)

_held = (host_hold.c.state == literal_column("'held'"), host_hold.c.expires_us <= bindparam("now"))
_offered = (host_change.c.state == literal_column("'offered'"), host_change.c.expires_us <= bindparam("now"))
# Nearly always nothing is due, and one look says so.
_ANY = statement(
    select(
        select(literal_column("1")).where(host_hold.c.host == bindparam("of_host"), *_held).limit(1).scalar_subquery(),
        select(literal_column("1"))
        .where(host_change.c.host == bindparam("of_host"), *_offered)
        .limit(1)
        .scalar_subquery(),
    )
)


def lapse_due(unit: Unit, desk: Desk) -> None:
    """Marks every hold and change offer of the host that has run out by the unit's now."""
    if unit.one(_ANY, {"of_host": desk.host, "now": micros(unit.now)}) == (None, None):
        return
    while found := holds.due(unit, desk.host):
        for held in found:
            after, record = settling.lapsed(held, unit.now)
            holds.save(unit, desk.host, after)
            allocations.follow(unit, desk.host, after.hold_id, hold.COUPLED[after.machine.state])
            desk.record(unit, (record,))
    while offered := changes.due(unit, desk.host):
        for each in offered:
            made = bookings.find(unit, desk.host, each.booking_id)
            if made is None:
                raise Corrupt("a change offer without its booking", each.offer_id)
            ended, record = moving.lapsed(each, made.principal, unit.now)
            changes.save(unit, desk.host, ended)
            allocations.follow(unit, desk.host, ended.offer_id, change.COUPLED[ended.machine.state])
            desk.record(unit, (record,))
