"""A limit that several hosts share, counted by the key app (spec section 6.11; SCH-092, SCH-099, SCH-107).

A unit is named by the host and its own id for what it confirms, so that a retry takes no second one and nobody gives
back what another host took. Units count until they are given back or the mandate is over.
"""

from __future__ import annotations

from typing import Literal

from sqlalchemy import bindparam, delete, func, select

from sayso.scheduling.keyapp.issued import IssuedMandate
from sayso.scheduling.terms.claim import ClaimRequestClaims
from sayso.store.statements import insert, statement
from sayso.store.tables import micros
from sayso.store.tables.scheduling_keyapp import keyapp_unit
from sayso.store.unit import Unit

__all__ = ("count_unit",)

_u = keyapp_unit.c
_of = _u.handle == bindparam("of_handle")
_this = (_of, _u.host == bindparam("of_host"), _u.unit == bindparam("of_unit"))
_FIND = statement(select(_u.unit).where(*_this))
_COUNT = statement(select(func.count()).where(_of))
_ADD = statement(insert(keyapp_unit))
_REMOVE = statement(delete(keyapp_unit).where(*_this))


def count_unit(
    unit: Unit, mandate: IssuedMandate, asked: ClaimRequestClaims
) -> Literal["taken", "returned", "refused"]:
    """Takes or gives back one unit of the mandate's limit, in the unit of work that counts."""
    assert mandate.handle is not None
    unit.lock(f"shared limit {mandate.handle}")
    at = {"of_handle": mandate.handle, "of_host": asked.iss, "of_unit": asked.unit}
    if asked.act == "return":
        unit.execute(_REMOVE, at)
        return "returned"
    if unit.one(_FIND, at) is not None:
        return "taken"
    used = unit.one(_COUNT, {"of_handle": mandate.handle})
    allowed = mandate.claims.constraints.max_bookings or 0
    if mandate.revoked_at is not None or mandate.expires <= unit.now or (used is not None and used[0] >= allowed):
        return "refused"
    row = {"handle": mandate.handle, "host": asked.iss, "unit": asked.unit, "taken_us": micros(unit.now)}
    unit.execute(_ADD, row)
    return "taken"
