"""What a host's key still has to answer for: the last of its open offers, and its last appointment (spec section 4.5).

SCH-027. Read when a key is replaced: until the first of these instants the earlier key stays published for signing,
and for as long after the second as the records are kept it stays published for checking.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import bindparam, func, select

from sayso.store.statements import Statement, statement
from sayso.store.tables import from_micros
from sayso.store.tables.scheduling import host_booking, host_change, host_hold
from sayso.store.unit import Reading

__all__ = ("last_appointment", "last_offer")

_h, _c = host_hold.c, host_change.c
_HOLDS = statement(select(func.max(_h.expires_us)).where(_h.host == bindparam("of_host"), _h.state == "held"))
_CHANGES = statement(
    select(func.max(_c.expires_us)).where(_c.host == bindparam("of_host"), _c.state.in_(("offered", "awaiting_host")))
)
_ENDS = tuple(
    statement(select(func.max(table.c.until_us)).where(table.c.host == bindparam("of_host")))
    for table in (host_booking, host_hold, host_change)
)


def last_offer(view: Reading, host: str) -> datetime | None:
    """When the last offer that is still open ends; None where none is."""
    return _latest(view, host, _HOLDS, _CHANGES)


def last_appointment(view: Reading, host: str) -> datetime | None:
    """When the last appointment ends that is booked or was offered; None where there is none."""
    return _latest(view, host, *_ENDS)


def _latest(view: Reading, host: str, *asked: Statement) -> datetime | None:
    rows = [view.one(each, {"of_host": host}) for each in asked]
    found = [row[0] for row in rows if row is not None and row[0] is not None]
    return from_micros(max(found)) if found else None
