"""How many streams an agent keeps open, whoever reads slowly among them (GTW-003)."""

from __future__ import annotations

import anyio
import pytest

from sayso.gateway.doors.a2a.following import MOST_STREAMS, Following
from sayso.gateway.doors.a2a.values import Asked, Subscribe
from tests.gateway.doors.a2a.house import House, data

pytestmark = pytest.mark.anyio


@pytest.mark.req("GTW-003")
async def test_a_stream_that_gave_way_leaves_later_ones_counted(house: House) -> None:
    """It ends only when its reader takes what it was told; the stream opened meanwhile still gives way to a ninth."""
    id_ = str((await house.rpc("SendMessage", data("take_note", text="milk")))["result"]["task"]["id"])
    pending = await house.bench.gate.find(id_)
    approved = await house.approve(id_)
    following = Following(house.bench.store, house.bench.gate)
    asked = Asked(call=Subscribe(task=id_), version="1.0", binding="rest")
    slow = following.follow(asked, pending, lambda _view: True)
    assert b"TASK_STATE_WORKING" in (await anext(slow)).data

    async def follow(ended: anyio.Event) -> None:
        assert [event async for event in following.follow(asked, approved, lambda _view: True)] == []
        ended.set()

    async with anyio.create_task_group() as group:
        for _ in range(MOST_STREAMS):
            group.start_soon(follow, anyio.Event())
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    async with anyio.create_task_group() as group:
        oldest = anyio.Event()
        group.start_soon(follow, oldest)
        await anyio.wait_all_tasks_blocked()
        await slow.aclose()  # type: ignore[attr-defined]
        for _ in range(MOST_STREAMS):
            group.start_soon(follow, anyio.Event())
        with anyio.fail_after(30):
            await oldest.wait()
        group.cancel_scope.cancel()
