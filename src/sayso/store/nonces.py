"""Nonces: each may be spent once while it is remembered, by whichever process sees it first (SCH-062, GTW-012).

Spent only after the signature it stands in has verified, or strangers could burn other people's nonces; that order is
the verifier's, which calls `spend` through its `seen`. Memory is bounded by time, because a nonce is kept only until
its message is stale, and by scope, because a scope at its cap is refused: a live entry is never evicted.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from sqlalchemy import bindparam, delete, or_, select, update

from sayso.core.refusal import Refused
from sayso.store.tables import micros
from sayso.store.tables.store import nonce_scopes, nonces
from sayso.store.unit import Unit, insert, statement

__all__ = ("CAP", "prune", "spend")

CAP = 10_000
"""Live nonces a scope may hold: 140 requests a second for the 70 s that SchCP remembers them."""

_TIDIED_EVERY = 16
_PRUNED_AT_ONCE = 2 * _TIDIED_EVERY

_mine = nonces.c.scope == bindparam("scope")
_stale = nonces.c.keep_until <= bindparam("now")
_oldest = (
    select(nonces.c.nonce)
    .where(_mine, _stale)
    .order_by(nonces.c.keep_until)
    .limit(_PRUNED_AT_ONCE)
    .with_for_update(skip_locked=True)
)
# The very nonce is among what goes, however many older ones there are: once stale it means nothing.
_PRUNE_SCOPE = statement(
    delete(nonces).where(_mine, _stale, or_(nonces.c.nonce == bindparam("nonce"), nonces.c.nonce.in_(_oldest)))
)
_SPEND = statement(insert(nonces).on_conflict_do_nothing())
_FORGET = statement(delete(nonces).where(_mine, nonces.c.nonce == bindparam("nonce")))
_first = insert(nonce_scopes).values(scope=bindparam("scope"), kept=1)
_COUNT = statement(
    _first.on_conflict_do_update(
        index_elements=["scope"],
        set_={"kept": nonce_scopes.c.kept + 1},
        where=nonce_scopes.c.kept < bindparam("cap"),
    ).returning(nonce_scopes.c.kept)
)
_UNCOUNT = statement(
    update(nonce_scopes)
    .where(nonce_scopes.c.scope == bindparam("scope"))
    .values(kept=nonce_scopes.c.kept - bindparam("gone"))
)
_EMPTY = statement(delete(nonce_scopes).where(nonce_scopes.c.scope == bindparam("scope"), nonce_scopes.c.kept <= 0))
_STALE = statement(
    select(nonces.c.scope, nonces.c.nonce)
    .where(_stale)
    .order_by(nonces.c.keep_until)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)


def spend(unit: Unit, scope: str, nonce: str, keep_until: datetime, *, cap: int = CAP) -> bool:
    """Spends a nonce of the scope (a key's thumbprint): True where it was fresh, False where it was spent before.

    `keep_until` is when its message stops being acceptable; a message that is already past it is not fresh. Raises
    `Refused` (`nonce_memory_full`) where the scope holds `cap` live nonces; the nonce is then not spent.
    """
    now = micros(unit.now)
    until = micros(keep_until)
    if until <= now:
        return False
    fresh = {"scope": scope, "nonce": nonce, "keep_until": until}
    # One that is there already means nothing if it is stale. Otherwise nobody looks at stale ones on the way: the
    # scope forgets them when it is full, and two for each that it adds, sixteen of those at a time.
    if unit.execute(_SPEND, fresh) == 0 and not (_tidy(unit, scope, nonce) and unit.execute(_SPEND, fresh)):
        return False
    # Invariant I-STORE-1: nonce_scopes.kept counts the scope's rows; locking that row also serialises the scope here.
    counting = {"scope": scope, "cap": cap}
    counted = unit.one(_COUNT, counting)
    if counted is None and _tidy(unit, scope, nonce):
        counted = unit.one(_COUNT, counting)
    if counted is None:
        unit.execute(_FORGET, {"scope": scope, "nonce": nonce})
        raise Refused.because(
            "nonce_memory_full",
            f"more than {cap} requests within the time nonces are remembered",
            help="Send fewer requests, or reuse none of the refused nonces and wait.",
        )
    if counted[0] % _TIDIED_EVERY == 0:
        _tidy(unit, scope, nonce)
    return True


def _tidy(unit: Unit, scope: str, nonce: str) -> int:
    """Forgets the oldest stale nonces of a scope, and `nonce` if it is stale; how many went."""
    gone = unit.execute(_PRUNE_SCOPE, {"scope": scope, "nonce": nonce, "now": micros(unit.now)})
    if gone:
        unit.execute(_UNCOUNT, {"scope": scope, "gone": gone})
    return gone


def prune(unit: Unit, limit: int = 256) -> int:
    """Forgets up to `limit` stale nonces of any scope, also of those that never come back; how many went."""
    rows = unit.all(_STALE, {"now": micros(unit.now), "limit": limit})
    unit.many(_FORGET, ({"scope": scope, "nonce": nonce} for scope, nonce in rows))
    gone = Counter(scope for scope, _ in rows)
    for scope in sorted(gone):
        unit.execute(_UNCOUNT, {"scope": scope, "gone": gone[scope]})
        unit.execute(_EMPTY, {"scope": scope})
    return len(rows)
