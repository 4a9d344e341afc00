"""Giving units of shared limits back, from the outbox, until the key app has them (protocol 6.11; SCH-092, SCH-099)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Final, NoReturn

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.scheduling.host.claims import Shared, ask_key_app, is_over, topic
from sayso.scheduling.host.desk import Desk
from sayso.store import outbox
from sayso.store.failures import Unavailable
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


@asynccontextmanager
async def keeping_returned(store: Store, clock: Clock, desk: Desk, fetcher: Fetcher) -> AsyncIterator[None]:
    """Gives one host's units back for the length of the block: at once, and again when a retry is due."""
    # Not a task group: its block would wrap the caller's own failure in a group. This task is always awaited below.
    returning = asyncio.create_task(_keep_returned(store, clock, desk, fetcher))  # noqa: TID251
    try:
        yield
    finally:
        returning.cancel()
        with suppress(asyncio.CancelledError):
            await returning


async def _keep_returned(store: Store, clock: Clock, desk: Desk, fetcher: Fetcher) -> NoReturn:
    channel = outbox.channel(topic(desk.host))
    while True:
        mark = store.wake.mark(channel)
        # A database that is busy now is asked again a little later; anything else is a bug and shows at the end.
        with suppress(Unavailable):
            while await return_due(store, clock, desk, fetcher):
                pass
        due = await store.reading(lambda view: outbox.next_due(view, topic(desk.host)))
        woken = asyncio.ensure_future(store.wake.wait(channel, mark))
        slept = asyncio.ensure_future(clock.sleep_until(due or clock.now() + LONGEST_WAIT))
        try:
            await asyncio.wait((woken, slept), return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
            slept.cancel()
            await asyncio.gather(woken, slept, return_exceptions=True)
