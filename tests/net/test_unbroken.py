"""Work that no cancellation of its caller cuts in two."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from sayso.net.unbroken import unbroken

pytestmark = pytest.mark.anyio


async def test_the_result_and_the_failure_of_the_work_come_through() -> None:
    """Uncancelled, it is as if one had waited for the work itself."""

    async def fail() -> None:
        raise ZeroDivisionError

    assert await unbroken(asyncio.ensure_future(asyncio.sleep(0, "done"))) == "done"
    with pytest.raises(ZeroDivisionError):
        await unbroken(asyncio.ensure_future(fail()))


@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancellation_waits_for_the_end_of_the_work(times: int) -> None:
    """However often the caller is cancelled: the work is done first, and the cancellation is not lost."""
    go_on, steps = asyncio.Event(), []

    async def work() -> None:
        await go_on.wait()
        steps.append("worked")

    async def caller() -> None:
        try:
            await unbroken(asyncio.ensure_future(work()))
        finally:
            steps.append("cancelled")

    running = asyncio.create_task(caller())
    for _ in range(times):
        await anyio.wait_all_tasks_blocked()
        running.cancel()
    await anyio.wait_all_tasks_blocked()
    assert steps == []
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert steps == ["worked", "cancelled"]


async def test_a_cancelled_scope_waits_too() -> None:
    """A cancel scope cancels again at every wait; it is held back the same way."""
    go_on = asyncio.Event()
    with anyio.CancelScope() as scope:
        scope.cancel()
        asyncio.get_running_loop().call_soon(go_on.set)
        await unbroken(asyncio.ensure_future(go_on.wait()))
        assert go_on.is_set()
        await anyio.sleep(0)
    assert scope.cancelled_caught
