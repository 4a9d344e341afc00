"""Who carries out which approved act, and until when: the `acts` table (GTW-033).

A claim is a lease: it counts an attempt and pushes the due time to its end, so that a worker that dies leaves nothing
behind but an act that is due again. The attempt is the proof of the claim: whoever writes an outcome shows it, and a
worker whose lease was taken over writes nothing. `intent` tells that an attempt was about to touch the world and left
no outcome; what that means for the next one is the act's to say (`acts.Repeats`).

A unit holds the proposal's row before the act's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import bindparam, delete, select, update

from sayso.core.refusal import Misuse, Refused
from sayso.store.tables import from_micros, micros
from sayso.store.tables.governance import acts
from sayso.store.unit import Reading, Unit, insert, statement

__all__ = ("ACTS", "CLAIM_LOST", "Claim", "claim", "drop", "hold", "intend", "next_due", "offer", "offer_again", "park",
           "postpone", "renew", "settle")  # fmt: skip

ACTS: Final = "acts"
"""Woken when an act may be claimed."""
CLAIM_LOST = "claim_lost"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claimed act. `attempt` counts from 1; `left` is whether an earlier attempt wrote an intent and no outcome;
    `tries` how many attempts did so in a row.
    """

    owner: str
    proposal: str
    worker: str
    attempt: int
    left: bool
    tries: int


_a = acts.c
_OFFER = statement(insert(acts).values(attempt=0, worker=None, intent=None, tries=0), "owner", "id", "due_us")
_of = (_a.owner == bindparam("of_owner"), _a.id == bindparam("of_id"))
_OFFER_AGAIN = statement(update(acts).where(*_of).values(intent=None, worker=None, tries=0), "due_us")
_DROP = statement(delete(acts).where(*_of))
_CLAIMABLE = statement(
    select(_a.id, _a.attempt, _a.intent, _a.tries)
    .where(_a.owner == bindparam("owner"), _a.due_us <= bindparam("now"))
    .order_by(_a.due_us, _a.id)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)
_LEASE = statement(update(acts).where(*_of), "due_us", "attempt", "worker", "tries")
_mine = (*_of, _a.attempt == bindparam("of_attempt"), _a.worker == bindparam("of_worker"))
_HOLD = statement(select(_a.intent).where(*_mine).with_for_update())
_RENEW = statement(update(acts).where(*_mine), "due_us")
_INTEND = statement(update(acts).where(*_mine), "intent")
_PARK = statement(update(acts).where(*_mine).values(due_us=None, intent=None, worker=None))
_POSTPONE = statement(update(acts).where(*_mine).values(worker=None), "due_us")
_SETTLE = statement(delete(acts).where(*_mine))
_NEXT = statement(
    select(_a.due_us).where(_a.owner == bindparam("owner"), _a.due_us.is_not(None)).order_by(_a.due_us).limit(1)
)


def offer(unit: Unit, owner: str, proposal: str) -> None:
    """An approved act may be claimed from now on."""
    unit.execute(_OFFER, {"owner": owner, "id": proposal, "due_us": micros(unit.now)})
    unit.wake(ACTS)


def offer_again(unit: Unit, owner: str, proposal: str) -> None:
    """An act whose question was answered may go on; what it did so far is no unfinished intent."""
    if unit.execute(_OFFER_AGAIN, {"of_owner": owner, "of_id": proposal, "due_us": micros(unit.now)}) != 1:
        raise Misuse(f"{proposal} has no act to go on with")
    unit.wake(ACTS)


def drop(unit: Unit, owner: str, proposal: str) -> None:
    """The act will not be carried out (any more); a worker that holds it finds its claim lost."""
    unit.execute(_DROP, {"of_owner": owner, "of_id": proposal})


def claim(unit: Unit, owner: str, worker: str, lease: timedelta, *, limit: int) -> list[Claim]:
    """Up to `limit` acts that are due, the oldest first, those of expired leases among them."""
    rows = unit.all(_CLAIMABLE, {"owner": owner, "now": micros(unit.now), "limit": limit})
    until = micros(unit.now + lease)
    claimed = [
        Claim(owner, name, worker, attempt + 1, intent is not None, tries + (intent is not None))
        for name, attempt, intent, tries in rows
    ]
    unit.many(
        _LEASE,
        ({**_act(it), "attempt": it.attempt, "worker": worker, "tries": it.tries, "due_us": until} for it in claimed),
    )
    return claimed


def hold(unit: Unit, it: Claim) -> None:
    """Keeps a claim for this unit. Refused: `claim_lost` where somebody took it over or the act is over."""
    if unit.one(_HOLD, _of_claim(it)) is None:
        raise _lost(it)


def renew(unit: Unit, it: Claim, lease: timedelta) -> None:
    """Pushes the end of a lease. Refused: `claim_lost`."""
    _demand(unit.execute(_RENEW, {**_of_claim(it), "due_us": micros(unit.now + lease)}), it)


def intend(unit: Unit, it: Claim) -> None:
    """The attempt is about to touch the world. Refused: `claim_lost`."""
    _demand(unit.execute(_INTEND, {**_of_claim(it), "intent": it.attempt}), it)


def park(unit: Unit, it: Claim) -> None:
    """The act waits for a person; nobody may claim it meanwhile. Refused: `claim_lost`."""
    _demand(unit.execute(_PARK, _of_claim(it)), it)


def postpone(unit: Unit, it: Claim, until: datetime) -> None:
    """The run had no outcome; the act may be claimed again then. Refused: `claim_lost`."""
    _demand(unit.execute(_POSTPONE, {**_of_claim(it), "due_us": micros(until)}), it)
    unit.wake(ACTS)


def settle(unit: Unit, it: Claim) -> None:
    """The act has its outcome, written in this unit. Refused: `claim_lost`."""
    # Invariant PG-06: only the holder of the claim writes an outcome.
    _demand(unit.execute(_SETTLE, _of_claim(it)), it)


def next_due(view: Reading, owner: str) -> datetime | None:
    """When the next act may be claimed."""
    row = view.one(_NEXT, {"owner": owner})
    return None if row is None else from_micros(row[0])


def _act(it: Claim) -> dict[str, object]:
    return {"of_owner": it.owner, "of_id": it.proposal}


def _of_claim(it: Claim) -> dict[str, object]:
    return {**_act(it), "of_attempt": it.attempt, "of_worker": it.worker}


def _demand(touched: int, it: Claim) -> None:
    if touched != 1:
        raise _lost(it)


def _lost(it: Claim) -> Refused:
    return Refused.because(CLAIM_LOST, f"the act of {it.proposal} is no longer claimed by {it.worker}")
