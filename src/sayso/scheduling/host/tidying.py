"""What time does to a host that nobody asks anything: holds lapse, and memories that mean nothing any more go.

No decision waits for this: expiry is judged by the clock of each unit of work, and every change begins by letting what
is due lapse (`due`). It keeps the log truthful and the tables small where no request comes for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Final, NoReturn

from sayso.core.clock import Clock
from sayso.scheduling.host import guests, reputation
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.due import lapse_due
from sayso.scheduling.host.entries import forget_freed
from sayso.store import buckets, nonces, replay
from sayso.store.failures import Unavailable
from sayso.store.unit import Store, Unit

__all__ = ("EVERY", "keeping_tidy", "tidy")

EVERY: Final = timedelta(minutes=1)


@asynccontextmanager
async def keeping_tidy(store: Store, clock: Clock, desk: Desk) -> AsyncIterator[None]:
    """Tidies one host once a minute for the length of the block."""
    # Not a task group: its block would wrap the caller's own failure in a group. This task is always awaited below.
    tidying = asyncio.create_task(_keep_tidy(store, clock, desk))  # noqa: TID251
    try:
        yield
    finally:
        tidying.cancel()
        with suppress(asyncio.CancelledError):
            await tidying


async def _keep_tidy(store: Store, clock: Clock, desk: Desk) -> NoReturn:
    while True:
        # A database that is busy now is tidied a minute later; anything else is a bug and shows when the block ends.
        with suppress(Unavailable):
            await store.unit(lambda unit: tidy(unit, desk))
        await clock.sleep_until(clock.now() + EVERY)


def tidy(unit: Unit, desk: Desk) -> None:
    """One round, bounded: what is left over waits for the next."""
    unit.lock(desk.lock)
    lapse_due(unit, desk)
    forget_freed(unit, desk.host)
    guests.forget(unit, desk.host)
    nonces.prune(unit)
    replay.prune(unit)
    buckets.prune(unit)
    reputation.prune(unit, desk.host)
