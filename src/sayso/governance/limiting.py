"""Work under a deadline of the house's clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

import anyio

from sayso.core.clock import Clock

__all__ = ("TimeIsUp", "first_of", "within")

T = TypeVar("T")


class TimeIsUp(Exception):
    """The work was stopped at its deadline; what it had done by then is not known."""


async def within(clock: Clock, limit: timedelta, work: Callable[[], Awaitable[T]]) -> T:
    """What `work` returns or raises. Raises `TimeIsUp` where it takes longer than `limit`; it is then cancelled."""
    done: list[T] = []
    failed: list[Exception] = []

    async def run(scope: anyio.CancelScope) -> None:
        try:
            done.append(await work())
        except Exception as error:  # noqa: BLE001 - raised below, outside the group that would wrap it
            failed.append(error)
        scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(run, group.cancel_scope)
        await clock.sleep_until(clock.now() + limit)
        group.cancel_scope.cancel()
    if failed:
        raise failed[0]
    if not done:
        raise TimeIsUp
    return done[0]


async def first_of(*waits: Callable[[], Awaitable[object]]) -> None:
    """Returns as soon as one of them does; the others are cancelled."""

    async def run(wait: Callable[[], Awaitable[object]], scope: anyio.CancelScope) -> None:
        await wait()
        scope.cancel()

    async with anyio.create_task_group() as group:
        for wait in waits:
            group.start_soon(run, wait, group.cancel_scope)
