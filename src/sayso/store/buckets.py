"""Rate limits over rows: several limiters judged at one instant, and either all charged or none (GTW-020, GTW-020a).

The arithmetic is `core.gcra`; here it becomes exact across threads and processes, because a bucket is read and written
in one transaction that holds it. Keyed by whoever is limited (an agent, not its key), never by what it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from sqlalchemy import bindparam, delete, select

from sayso.core.gcra import Limit, Pass, Wait, test
from sayso.core.refusal import Misuse
from sayso.store.tables import from_micros, micros
from sayso.store.tables.store import buckets
from sayso.store.unit import Unit, insert, statement

__all__ = ("Admitted", "Limited", "Verdict", "charge", "prune")

_PRUNED_AT_ONCE = 8
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Admitted:
    """Every limiter let the call through and was charged for it."""


@dataclass(frozen=True, slots=True)
class Limited:
    """At least one limiter said no, and none was charged.

    `retry_after` is in whole seconds, at least 1: a retry after exactly that long passes if nobody else was let
    through meanwhile. `key` is the limiter that asks for the longest wait.
    """

    retry_after: int
    key: str


Verdict: TypeAlias = Admitted | Limited

_FIND = statement(select(buckets.c.tat).where(buckets.c.key == bindparam("key")))
_write = insert(buckets)
_CHARGE = statement(_write.on_conflict_do_update(index_elements=["key"], set_={"tat": _write.excluded.tat}))
_empty = (
    select(buckets.c.key)
    .where(buckets.c.tat <= bindparam("now"))
    .order_by(buckets.c.tat)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)
_PRUNE = statement(delete(buckets).where(buckets.c.tat <= bindparam("now"), buckets.c.key.in_(_empty)))


def charge(unit: Unit, limits: Sequence[tuple[str, Limit]]) -> Verdict:
    """Tests all limiters at the unit's now, then charges them all, or none where any refuses.

    Raises `Misuse` for no limiter at all, which would let everything through, and for a key named twice.
    """
    keys = sorted(key for key, _ in limits)
    if not keys or len(set(keys)) != len(keys):
        raise Misuse("a charge names at least one limiter, and each once")
    for key in keys:
        unit.lock(f"bucket {key}")
    times = {key: unit.one(_FIND, {"key": key}) for key in keys}
    passes: list[tuple[str, Pass]] = []
    waits: list[tuple[timedelta, str]] = []
    for key, limit in limits:
        row = times[key]
        match test(limit, from_micros(row[0]) if row else None, unit.now):
            case Pass() as passed:
                passes.append((key, passed))
            case Wait(retry_after):
                waits.append((retry_after, key))
    if waits:
        longest, key = max(waits)
        return Limited(max(1, -(-longest // _SECOND)), key)
    for key, passed in passes:
        unit.execute(_CHARGE, {"key": key, "tat": micros(passed.tat)})
    if None in times.values():
        # Every new key pays for the removal of old ones, so that strangers' addresses do not pile up.
        prune(unit, _PRUNED_AT_ONCE)
    return Admitted()


def prune(unit: Unit, limit: int = 256) -> int:
    """Removes up to `limit` buckets that are empty again, which changes no verdict; how many went."""
    return unit.execute(_PRUNE, {"now": micros(unit.now), "limit": limit})
