"""The outbox: work that is written down in the unit that causes it, and done afterwards by whoever claims it.

A delivery is due, done or given up. A claim is a lease: it counts an attempt and pushes the due time to its end, so
that a worker that dies leaves nothing behind but a delivery that is due again. Whoever settles it shows the attempt it
was given; a worker whose lease was taken over is refused and its unit rolled back. Delivery is therefore at least
once: exactly one effect is the receiver's matter (a key it recognises), or the caller's (a probe).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete, func, select, update

from sayso.core.refusal import Misuse, Refused
from sayso.store.tables import from_micros, micros
from sayso.store.tables.store import outbox
from sayso.store.unit import Reading, Unit, insert, statement

__all__ = ("Delivery", "backoff", "channel", "claim", "done", "give_up", "next_due", "prune", "put", "retry")

_DUE, _DONE, _GIVEN_UP = "due", "done", "given_up"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One claimed piece of work. `attempt` counts from 1 and is the proof of the claim; `until` ends the lease."""

    topic: str
    key: str
    payload: bytes
    attempt: int
    worker: str
    until: datetime


_PUT = statement(
    insert(outbox).values(state=_DUE, attempts=0).on_conflict_do_nothing(), "topic", "key", "payload", "due"
)
_ready = (outbox.c.topic == bindparam("in_topic"), outbox.c.state == _DUE)
_CLAIMABLE = statement(
    select(outbox.c.key, outbox.c.payload, outbox.c.attempts)
    .where(*_ready, outbox.c.due <= bindparam("now"))
    .order_by(outbox.c.due, outbox.c.key)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)
_LEASE = statement(
    update(outbox).where(outbox.c.topic == bindparam("in_topic"), outbox.c.key == bindparam("of_key")),
    "due", "attempts", "worker",
)  # fmt: skip
_held = (
    outbox.c.topic == bindparam("in_topic"),
    outbox.c.key == bindparam("of_key"),
    outbox.c.state == _DUE,
    outbox.c.attempts == bindparam("attempt"),
    outbox.c.worker == bindparam("by_worker"),
)
_SETTLE = statement(update(outbox).where(*_held), "state", "settled_at", "error")
_RETRY = statement(update(outbox).where(*_held).values(worker=None), "due", "error")
_NEXT = statement(select(func.min(outbox.c.due)).where(*_ready))
_old = (
    select(outbox.c.topic, outbox.c.key)
    .where(outbox.c.settled_at <= bindparam("before"))
    .order_by(outbox.c.settled_at)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)
_OLD = statement(_old)
_REMOVE = statement(delete(outbox).where(outbox.c.topic == bindparam("in_topic"), outbox.c.key == bindparam("of_key")))


def channel(topic: str) -> str:
    """The wake channel that `put` and `retry` announce on."""
    return f"outbox {topic}"


def put(unit: Unit, topic: str, key: str, payload: bytes, due: datetime | None = None) -> bool:
    """Writes a delivery down, due now or later. `key` names it within the topic: False where it is there already,
    settled or not, and then nothing changes.
    """
    row = {"topic": topic, "key": key, "payload": payload, "due": micros(due or unit.now)}
    if unit.execute(_PUT, row) == 0:
        return False
    unit.wake(channel(topic))
    return True


def claim(unit: Unit, topic: str, worker: str, lease: timedelta, *, limit: int = 1) -> list[Delivery]:
    """Leases up to `limit` deliveries that are due, oldest first, those of expired leases among them.

    No other claim returns them before the lease ends, in this process or another.
    """
    if lease <= timedelta(0):
        raise Misuse("a lease lasts longer than nothing")
    until = unit.now + lease
    rows = unit.all(_CLAIMABLE, {"in_topic": topic, "now": micros(unit.now), "limit": limit})
    claimed = [Delivery(topic, key, payload, attempts + 1, worker, until) for key, payload, attempts in rows]
    unit.many(
        _LEASE,
        (
            {"in_topic": topic, "of_key": it.key, "due": micros(until), "attempts": it.attempt, "worker": worker}
            for it in claimed
        ),
    )
    return claimed


def done(unit: Unit, delivery: Delivery) -> None:
    """Settles a delivery, in the unit that writes its outcome. Raises `Refused` (`claim_lost`) where the lease had
    expired and somebody else has claimed it since.
    """
    _settle(unit, delivery, _DONE, None)


def give_up(unit: Unit, delivery: Delivery, error: str) -> None:
    """Settles a delivery as failed for good, with the reason for people. Raises as `done`."""
    _settle(unit, delivery, _GIVEN_UP, error)


def retry(unit: Unit, delivery: Delivery, after: timedelta, error: str) -> None:
    """Ends the lease; the delivery is due again `after` from now. Raises as `done`."""
    due = micros(unit.now + after)
    _demand(unit.execute(_RETRY, {**_claimed(delivery), "due": due, "error": error}), delivery)
    unit.wake(channel(delivery.topic))


def backoff(attempt: int, *, first: timedelta, most: timedelta) -> timedelta:
    """How long to wait after the given attempt: `first`, doubled with each attempt, never above `most`."""
    wait = first
    for _ in range(attempt - 1):
        if wait >= most:
            break
        wait *= 2
    return min(wait, most)


def next_due(view: Reading, topic: str) -> datetime | None:
    """When the topic's next delivery may be claimed, so that a worker can sleep until then or until it is woken."""
    row = view.one(_NEXT, {"in_topic": topic})
    return None if row is None or row[0] is None else from_micros(row[0])


def prune(unit: Unit, before: datetime, limit: int = 256) -> int:
    """Removes up to `limit` deliveries settled before an instant; their keys may then be put again. How many went."""
    rows = unit.all(_OLD, {"before": micros(before), "limit": limit})
    return unit.many(_REMOVE, ({"in_topic": topic, "of_key": key} for topic, key in rows))


def _settle(unit: Unit, delivery: Delivery, state: str, error: str | None) -> None:
    settled = {"state": state, "settled_at": micros(unit.now), "error": error}
    _demand(unit.execute(_SETTLE, {**_claimed(delivery), **settled}), delivery)


def _claimed(delivery: Delivery) -> dict[str, object]:
    return {
        "in_topic": delivery.topic,
        "of_key": delivery.key,
        "attempt": delivery.attempt,
        "by_worker": delivery.worker,
    }


def _demand(touched: int, delivery: Delivery) -> None:
    if touched != 1:
        raise Refused.because(
            "claim_lost",
            f"the delivery {delivery.key} of {delivery.topic} is no longer claimed by {delivery.worker}",
            help="Its lease had expired and it was claimed again, or it is settled.",
        )
