"""Replay slots: one effect and one answer for each idempotency key (SCH-063 to SCH-071).

A slot is claimed in the transaction that has the effect, and the answer is kept in it, so that a key and its booking
commit together and of two concurrent duplicates one waits for the other (SCH-069). What the slot is called decides
who may share it: `slot("agent", "principal", "POST /holds", key)` hands no answer to another agent or principal
(SCH-067). How long a key means something is the caller's window; after it the key means nothing (SCH-070). Whether a
replay is still covered by the mandate is judged by the caller before it answers (SCH-068).
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from sqlalchemy import bindparam, delete, or_, select, update

from sayso.core.refusal import Misuse
from sayso.store.tables import micros
from sayso.store.tables.store import replay_slots
from sayso.store.unit import Unit, insert, statement

__all__ = ("Claim", "Conflict", "Fresh", "Running", "Stored", "claim", "keep", "prune", "release", "slot")

_PRUNED_AT_ONCE = 32
_TIDIES = b"\x10"
"""Claims whose fingerprint begins below this, one in sixteen, pay for the removal of old slots, two for each claim."""
_TOO_MANY_REQUESTS = 429
_SERVER_FAILURES = 500


@dataclass(frozen=True, slots=True)
class Fresh:
    """The key was not in use: the caller acts, then keeps the answer or releases the slot, in the same unit."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The same request was answered before: answer these bytes again, marked as replayed, and change nothing."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Running:
    """The same request was claimed in an earlier unit that kept no answer yet.

    Only callers that split intent and outcome over two units ever see it.
    """


@dataclass(frozen=True, slots=True)
class Conflict:
    """The key was used for another request."""


Claim: TypeAlias = Fresh | Stored | Running | Conflict

_this = replay_slots.c.scope == bindparam("scope")
_stale = replay_slots.c.keep_until <= bindparam("now")
_unanswered = replay_slots.c.status.is_(None)
_oldest = (
    select(replay_slots.c.scope)
    .where(_stale)
    .order_by(replay_slots.c.keep_until)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)
_PRUNE = statement(delete(replay_slots).where(_stale, or_(_this, replay_slots.c.scope.in_(_oldest))))
_CLAIM = statement(insert(replay_slots).on_conflict_do_nothing(), "scope", "fingerprint", "keep_until")
_FIND = statement(
    select(replay_slots.c.fingerprint, replay_slots.c.keep_until, replay_slots.c.status, replay_slots.c.body).where(
        _this
    )
)
_KEEP = statement(update(replay_slots).where(_this, _unanswered), "status", "body")
_RELEASE = statement(delete(replay_slots).where(_this, _unanswered))


def slot(*parts: str) -> str:
    """The scope of a key: a digest of its parts in order, each with its length, so that no two lists look alike."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()


def claim(unit: Unit, scope: str, fingerprint: bytes, keep_until: datetime) -> Claim:
    """Takes the slot, or says what stands in it. `fingerprint` is the SHA-256 of the raw request body (SCH-071).

    Waits for a concurrent claim of the same slot to commit or roll back. `keep_until` ends the window of a fresh
    claim; an earlier claim keeps the end it was given.
    """
    now = micros(unit.now)
    wanted = {"scope": scope, "fingerprint": fingerprint, "keep_until": micros(keep_until)}
    while not unit.execute(_CLAIM, wanted):
        found = unit.one(_FIND, {"scope": scope})
        if found is None:
            continue  # released between the two statements, which only Postgres can show
        stored, until, status, body = found
        if until <= now:
            unit.execute(_PRUNE, {"scope": scope, "now": now, "limit": _PRUNED_AT_ONCE})
        elif stored != fingerprint:
            return Conflict()
        else:
            return Running() if status is None else Stored(status, body)
    if fingerprint[:1] < _TIDIES:
        prune(unit, _PRUNED_AT_ONCE)
    return Fresh()


def keep(unit: Unit, scope: str, status: int, body: bytes) -> None:
    """Keeps the answer of a claimed slot, deterministic refusals included (SCH-066).

    Raises `Misuse` for a 429 or a 5xx, which a retry must be able to pass, and for a slot that was not claimed or is
    answered already.
    """
    if status == _TOO_MANY_REQUESTS or status >= _SERVER_FAILURES:
        raise Misuse(f"an answer with status {status} is not kept: release the slot")
    if unit.execute(_KEEP, {"scope": scope, "status": status, "body": body}) != 1:
        raise Misuse("an answer was kept for a slot that nobody holds")


def release(unit: Unit, scope: str) -> None:
    """Gives a claimed slot back, where the answer is one that is not kept. Raises `Misuse` as `keep`."""
    if unit.execute(_RELEASE, {"scope": scope}) != 1:
        raise Misuse("a slot was released that nobody holds")


def prune(unit: Unit, limit: int = 256) -> int:
    """Forgets up to `limit` slots whose window is over; how many went."""
    return unit.execute(_PRUNE, {"scope": "", "now": micros(unit.now), "limit": limit})
