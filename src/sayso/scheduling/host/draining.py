"""Keeps one topic of the outbox empty for as long as a block runs: at once when something is written, and when a retry
is due. What is sent, and how often it is tried, is the topic's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import NoReturn

from sayso.core.clock import Clock
from sayso.store import outbox
from sayso.store.failures import Unavailable
from sayso.store.unit import Store

__all__ = ("keeping_drained",)


@asynccontextmanager
async def keeping_drained(
    store: Store, clock: Clock, topic: str, drain: Callable[[], Awaitable[object]], longest_wait: timedelta
) -> AsyncIterator[None]:
    """Runs `drain` in the background; `longest_wait` is how long it may rest when nothing is due."""
    # Not a task group: its block would wrap the caller's own failure in a group. This task is always awaited below.
    draining = asyncio.create_task(_keep_drained(store, clock, topic, drain, longest_wait))  # noqa: TID251
    try:
        yield
    finally:
        draining.cancel()
        with suppress(asyncio.CancelledError):
            await draining


async def _keep_drained(
    store: Store, clock: Clock, topic: str, drain: Callable[[], Awaitable[object]], longest_wait: timedelta
) -> NoReturn:
    channel = outbox.channel(topic)
    while True:
        mark = store.wake.mark(channel)
        # A database that is busy now is asked again a little later; anything else is a bug and shows at the end.
        with suppress(Unavailable):
            await drain()
        due = await store.reading(lambda view: outbox.next_due(view, topic))
        woken = asyncio.ensure_future(store.wake.wait(channel, mark))
        slept = asyncio.ensure_future(clock.sleep_until(due or clock.now() + longest_wait))
        try:
            await asyncio.wait((woken, slept), return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
            slept.cancel()
            await asyncio.gather(woken, slept, return_exceptions=True)
