"""The guard's rows: one reading for the whole standing of a key, and what a request leaves behind (GTW-012, GTW-013).

Everything is written inside the caller's unit, under the agent's lock, so that rates, replays and violations are exact
across processes.
"""

from __future__ import annotations

from sqlalchemy import and_, bindparam, delete, func, select, update

from sayso.gateway.guard.rules.ladder import Knock
from sayso.gateway.guard.rules.limits import Limits
from sayso.gateway.guard.rules.standing import ACTIVE, NOBODY, SUSPENDED, Charged, Standing, counting_since
from sayso.store.tables import micros
from sayso.store.tables.gateway import (
    gateway_agents,
    gateway_keys,
    gateway_rates,
    gateway_signatures,
    gateway_violations,
)
from sayso.store.unit import Reading, Unit, insert, statement

__all__ = ("charge", "count_violation", "lock", "prune", "read_standing", "spend", "suspend", "violations_left")

_PRUNED_AT_ONCE = 32
_TIDIES = b"\x10"
"""Signatures that begin below this, one in sixteen, pay for the removal of old ones, two for each that comes."""

_a, _k, _r, _s, _v = (
    table.c for table in (gateway_agents, gateway_keys, gateway_rates, gateway_signatures, gateway_violations)
)
_FIND = statement(
    select(
        _a.agent,
        _a.name,
        _a.state,
        _a.scopes,
        _a.term,
        _k.key_id,
        _k.revoked_us,
        _r.coarse_us,
        _r.minute_us,
        _r.second_us,
        _s.stamp_us,
    )
    .select_from(gateway_keys)
    .join(gateway_agents, and_(_a.owner == _k.owner, _a.agent == _k.agent))
    .join(gateway_rates, and_(_r.owner == _k.owner, _r.agent == _k.agent))
    .outerjoin(
        gateway_signatures,
        and_(
            _s.owner == _k.owner,
            _s.agent == _k.agent,
            _s.stamp_us == bindparam("stamp"),
            _s.signature == bindparam("signature"),
        ),
    )
    .where(_k.owner == bindparam("owner"), _k.key_sha256 == bindparam("key"))
)
_CHARGE = statement(
    update(gateway_rates)
    .where(_r.owner == bindparam("of"), _r.agent == bindparam("who"))
    .values(coarse_us=bindparam("coarse"), minute_us=bindparam("minute"), second_us=bindparam("second"))
)
_SPEND = statement(insert(gateway_signatures).on_conflict_do_nothing())
_mine = and_(_s.owner == bindparam("owner"), _s.agent == bindparam("agent"))
_last_of_some = select(_s.stamp_us).where(_mine).order_by(_s.stamp_us).limit(1).offset(_PRUNED_AT_ONCE - 1)
_PRUNE = statement(
    delete(gateway_signatures).where(
        _mine,
        _s.stamp_us < bindparam("horizon"),
        _s.stamp_us <= func.coalesce(_last_of_some.scalar_subquery(), bindparam("horizon")),
    )
)
_VIOLATE = statement(insert(gateway_violations).on_conflict_do_nothing())
_COUNT = statement(
    select(func.count()).where(
        _v.owner == bindparam("owner"),
        _v.agent == bindparam("agent"),
        _v.term == bindparam("term"),
        _v.at_us > bindparam("since"),
    )
)
_SUSPEND = statement(
    update(gateway_agents)
    .where(_a.owner == bindparam("of"), _a.agent == bindparam("who"), _a.state == ACTIVE)
    .values(
        state=SUSPENDED,
        suspended_us=bindparam("at"),
        suspended_by=bindparam("by"),
        suspended_for=bindparam("reason"),
    )
)


def lock(unit: Unit, owner: str, agent: str) -> None:
    """Serialises what changes an agent's standing; taken before the standing is read, and before the log's lock."""
    unit.lock(f"gateway {owner} {agent}")


def read_standing(view: Reading, owner: str, knock: Knock) -> Standing:
    """Where the key's agent stands, and whether this signature of its was used; `NOBODY` for a key nobody has."""
    values = {"owner": owner, "key": knock.key_sha256, "stamp": knock.timestamp_us or 0, "signature": knock.signature}
    row = view.one(_FIND, values)
    return NOBODY if row is None else Standing._make(row)


def charge(unit: Unit, owner: str, agent: str, charged: Charged) -> None:
    """Stores the arrival times that were judged in this unit."""
    coarse, minute, second = charged
    unit.execute(_CHARGE, {"of": owner, "who": agent, "coarse": coarse, "minute": minute, "second": second})


def spend(unit: Unit, owner: str, agent: str, knock: Knock, limits: Limits) -> bool:
    """Uses a signature up; False where it was already, whoever used it a moment ago."""
    stamp = knock.timestamp_us or 0
    values = {"owner": owner, "agent": agent, "stamp_us": stamp, "signature": knock.signature}
    # Invariant G-01: a signature is inserted in the unit that has its effect, and by one unit only.
    if not unit.execute(_SPEND, values):
        return False
    if knock.signature[:1] < _TIDIES:
        prune(unit, owner, agent, limits)
    return True


def prune(unit: Unit, owner: str, agent: str, limits: Limits) -> int:
    """Forgets some of the signatures that can do nothing any more; how many went.

    A request is fresh for `signature_age` after its own time, and may be under way for `settle_within` after that.
    """
    horizon = micros(unit.now - limits.signature_age - limits.settle_within)
    return unit.execute(_PRUNE, {"owner": owner, "agent": agent, "horizon": horizon})


def count_violation(unit: Unit, owner: str, standing: Standing, knock: Knock, *, code: str) -> None:
    """Writes a violation down, once for a signature."""
    unit.execute(
        _VIOLATE,
        {
            "owner": owner,
            "agent": standing.agent,
            "fingerprint": knock.fingerprint,
            "code": code,
            "door": knock.crossing.door,
            "term": standing.term,
            "at_us": micros(unit.now),
        },
    )


def violations_left(view: Reading, owner: str, standing: Standing, limits: Limits) -> int:
    """How many more the agent has before it is suspended; none where it is."""
    if standing.state == SUSPENDED:
        return 0
    values = {"owner": owner, "agent": standing.agent, "term": standing.term}
    row = view.one(_COUNT, {**values, "since": counting_since(limits, micros(view.now))})
    return max(0, limits.violations - (row[0] if row else 0))


def suspend(unit: Unit, owner: str, agent: str, *, by: str, reason: str) -> bool:
    """Suspends an active agent; whether it was one."""
    values = {"of": owner, "who": agent, "at": micros(unit.now), "by": by, "reason": reason}
    return unit.execute(_SUSPEND, values) == 1
