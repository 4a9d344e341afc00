"""What is written before what: a store that cannot write, and one that takes its time."""

from __future__ import annotations

import anyio
import pytest

from sayso.control.loop.conversations import KeptConversation, OpenConversation, Opened, Step
from sayso.control.protocol.payloads.capabilities import ToolDefinition
from sayso.core.refusal import Refused
from sayso.testing.provider import Call, Say
from sayso.testing.tools import asking
from tests.control.conftest import Trace
from tests.control.loop.stage import staged

pytestmark = pytest.mark.anyio


class Store:
    """A place for one conversation. Closed for writing it refuses; held, it waits until it is let go."""

    native_id = "talk"

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.is_full = False
        self.asked = anyio.Event()
        self.may_write = anyio.Event()
        self.may_write.set()

    async def begin(self, native_id: str, opened: Opened) -> OpenConversation:
        return self

    async def resume(self, native_id: str) -> tuple[KeptConversation, OpenConversation]:
        raise AssertionError(native_id)

    def keep(self, step: Step) -> None:
        self.steps.append(step)

    async def written(self) -> None:
        self.asked.set()
        await self.may_write.wait()
        if self.is_full:
            raise Refused.because("internal", "the disk is full", reason="conversation_not_saved")

    async def synced(self) -> None:
        await self.written()

    async def close(self) -> None:
        pass


@pytest.mark.req("OAP-164")
async def test_a_call_that_cannot_be_written_is_not_made(trace: Trace) -> None:
    """Its effect could be forgotten otherwise; the run fails and says so, and the session goes on."""
    store = Store()
    store.is_full = True
    turns = [[Call("book")], [Say("well then")]]
    async with staged(turns, {"book": asking()}, record=trace.record, conversations=store) as stage:
        _, ended = await stage.begin()
        _, again = await stage.begin("and now")
        called = list(stage.tools.calls)
    assert (ended.type, ended.payload.error.code, called) == ("run.failed", "internal", [])  # type: ignore[attr-defined]
    assert "could not be saved" in ended.payload.error.message  # type: ignore[attr-defined]
    assert again.type == "run.completed"


@pytest.mark.req("OAP-164")
async def test_an_end_and_a_handed_call_are_told_once_they_are_written(trace: Trace) -> None:
    """Whoever hears of them may rely on it."""
    hers = ToolDefinition(name="hers", input_schema={"type": "object"}, execution_owner="user", source="sayso")
    store = Store()
    turns = [[Call("hers")], [Say("done")]]
    async with staged(turns, record=trace.record, conversations=store, opens={"tools": (hers,)}) as stage:

        async def comes_once_written(run_id: str, type_: str) -> None:
            await store.asked.wait()
            await anyio.wait_all_tasks_blocked()
            assert type_ not in trace.types(run_id)
            store.may_write.set()
            await stage.read(run_id, type_)
            store.asked, store.may_write = anyio.Event(), anyio.Event()

        store.may_write = anyio.Event()
        run_id = str((await stage.client.submit(stage.id, "go")).run_id)
        await comes_once_written(run_id, "action.call.requested")
        await stage.client.end_call(stage.seen[run_id][-1], {"did": 1})  # type: ignore[arg-type]
        await comes_once_written(run_id, "run.completed")
        store.may_write.set()
    assert stage.types(run_id)[-1] == "run.completed"
