"""What was held or asked for under a mandate that was passed on: each link's own limit counts (SCH-080, SCH-091).

The root counts everything, as if nothing had been passed on; a link counts what came through it. So passing a mandate
on twice never makes more of it.
"""

from __future__ import annotations

from sqlalchemy import bindparam, func, literal_column, select

from sayso.scheduling.rules.spans import micros
from sayso.scheduling.terms.mandate_checks import Mandate
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_booking, host_hold, host_link, host_waitlist
from sayso.store.unit import Reading, Unit

__all__ = ("add", "count")

_l, _h, _b, _w = host_link.c, host_hold.c, host_booking.c, host_waitlist.c
_of_link = (
    _l.host == bindparam("of_host"),
    _l.signer == bindparam("of_signer"),
    _l.jti == bindparam("of_jti"),
)
_ADD = statement(insert(host_link))
_held = (
    select(func.count())
    .select_from(host_link.join(host_hold, (_h.host == _l.host) & (_h.hold_id == _l.owner)))
    .where(*_of_link, _h.state == literal_column("'held'"), _h.expires_us > bindparam("now"))
)
_booked = (
    select(func.count())
    .select_from(host_link.join(host_booking, (_b.host == _l.host) & (_b.hold_id == _l.owner)))
    .where(*_of_link, ~_b.state.in_(["cancelled", "declined", "expired"]))
)
_waiting = (
    select(func.count())
    .select_from(host_link.join(host_waitlist, (_w.host == _l.host) & (_w.entry_id == _l.owner)))
    .where(*_of_link, _w.state == literal_column("'waiting'"))
)
_COUNT = statement(select(_held.scalar_subquery(), _booked.scalar_subquery(), _waiting.scalar_subquery()))


def add(unit: Unit, host: str, owner: str, mandate: Mandate) -> None:
    """Notes through which links a hold or a waitlist entry came. `owner` is its id."""
    for link in mandate.links:
        unit.execute(_ADD, {"host": host, "owner": owner, "signer": link.signer, "jti": link.claims.jti})


def count(view: Reading, host: str, mandate: Mandate) -> tuple[int, ...]:
    """What lives under each link behind the root, in their order."""
    found = []
    for link in mandate.links:
        at = {"of_host": host, "of_signer": link.signer, "of_jti": link.claims.jti, "now": micros(view.now)}
        found.append(sum(view.one(_COUNT, at) or (0, 0, 0)))
    return tuple(found)
