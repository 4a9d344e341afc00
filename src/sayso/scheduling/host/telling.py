"""Sending events: from the outbox through the safe fetcher to the agent's callback, until it says that it has it.

Spec section 22; SCH-320, SCH-323, SCH-324. Delivery is at least once and its failure changes nothing but the outbox: a
lease is taken in one unit, the request goes out in none, and what came of it is settled in another. A process that dies
in between leaves the delivery due again.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, suppress
from datetime import timedelta
from typing import Final

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.net.fetch import Fetcher
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.draining import keeping_drained
from sayso.scheduling.host.events import Parcel, topic
from sayso.scheduling.terms.events import EVENT_MEDIA_TYPE
from sayso.store import outbox
from sayso.store.outbox import Delivery
from sayso.store.unit import Store

__all__ = ("ATTEMPTS", "FIRST_WAIT", "LONGEST_WAIT", "keeping_told", "tell_due")

FIRST_WAIT: Final = timedelta(seconds=30)
LONGEST_WAIT: Final = timedelta(hours=1)
ATTEMPTS: Final = 24
"""Tries of one event; with the waits in between they reach over the better part of a day."""
_LEASE = timedelta(minutes=1)
_SECONDS = 5.0
_MAX_ANSWER = 4096
_AT_ONCE = 16


async def tell_due(store: Store, desk: Desk, fetcher: Fetcher) -> int:
    """Tries every event that is due once; how many were tried."""
    worker, tried = desk.ids.new("d"), 0
    while True:
        claimed = await store.unit(lambda unit: outbox.claim(unit, topic(desk.host), worker, _LEASE, limit=_AT_ONCE))
        if not claimed:
            return tried
        for delivery in claimed:
            why = await _send(fetcher, delivery)
            # A lease that somebody else has taken over meanwhile is theirs to settle.
            with suppress(Refused):
                await _settle(store, delivery, why)
        tried += len(claimed)


async def _send(fetcher: Fetcher, delivery: Delivery) -> str | None:
    """Posts one event; None when the agent has it, else why not."""
    parcel = strictjson.decode(delivery.payload, Parcel)
    try:
        response = await fetcher.request(
            "POST",
            parcel.url,
            headers=(("Content-Type", EVENT_MEDIA_TYPE),),
            body=parcel.token.encode("ascii"),
            max_bytes=_MAX_ANSWER,
            seconds=_SECONDS,
        )
    except (PeerUnreachable, PeerRefused, Refused) as error:
        return str(error)
    return None if 200 <= response.status < 300 else f"it answered {response.status}"


async def _settle(store: Store, delivery: Delivery, why: str | None) -> None:
    if why is None:
        await store.unit(lambda unit: outbox.done(unit, delivery))
    elif delivery.attempt >= ATTEMPTS:
        await store.unit(lambda unit: outbox.give_up(unit, delivery, why))
    else:
        wait = outbox.backoff(delivery.attempt, first=FIRST_WAIT, most=LONGEST_WAIT)
        await store.unit(lambda unit: outbox.retry(unit, delivery, wait, why))


def keeping_told(store: Store, clock: Clock, desk: Desk, fetcher: Fetcher) -> AbstractAsyncContextManager[None]:
    """Sends one host's events for the length of the block: at once when one is written, and when a retry is due."""
    return keeping_drained(store, clock, topic(desk.host), lambda: tell_due(store, desk, fetcher), LONGEST_WAIT)
