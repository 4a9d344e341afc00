"""Giving units of shared limits back, from the outbox, until the key app has them (protocol 6.11; SCH-092, SCH-099)."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, suppress
from datetime import timedelta
from typing import Final

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.scheduling.host.claims import Shared, ask_key_app, is_over, topic
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.draining import keeping_drained
from sayso.store import outbox
from sayso.store.outbox import Delivery
from sayso.store.unit import Store

__all__ = ("keeping_returned", "return_due")

FIRST_WAIT: Final = timedelta(seconds=30)
LONGEST_WAIT: Final = timedelta(hours=1)
_LEASE = timedelta(minutes=1)


async def return_due(store: Store, clock: Clock, desk: Desk, fetcher: Fetcher) -> int:
    """Tries every give-back that is due once; how many were tried. Given up only when the mandate is over."""
    worker = desk.ids.new("d")
    claimed = await store.unit(lambda unit: outbox.claim(unit, topic(desk.host), worker, _LEASE, limit=16))
    for delivery in claimed:
        shared = strictjson.decode(delivery.payload, Shared)
        state = await ask_key_app(fetcher, clock, desk.pen, desk.host, shared, "return")
        # A lease that somebody else has taken over meanwhile is theirs to settle.
        with suppress(Refused):
            await _settle(store, delivery, returned=state == "returned", over=is_over(shared, clock))
    return len(claimed)


async def _settle(store: Store, delivery: Delivery, *, returned: bool, over: bool) -> None:
    if returned:
        await store.unit(lambda unit: outbox.done(unit, delivery))
    elif over:
        await store.unit(lambda unit: outbox.give_up(unit, delivery, "the mandate is over"))
    else:
        wait = outbox.backoff(delivery.attempt, first=FIRST_WAIT, most=LONGEST_WAIT)
        await store.unit(lambda unit: outbox.retry(unit, delivery, wait, "the key app did not take it back"))


def keeping_returned(store: Store, clock: Clock, desk: Desk, fetcher: Fetcher) -> AbstractAsyncContextManager[None]:
    """Gives one host's units back for the length of the block: at once, and again when a retry is due."""

    async def drain() -> None:
        while await return_due(store, clock, desk, fetcher):
            pass

    return keeping_drained(store, clock, topic(desk.host), drain, LONGEST_WAIT)
