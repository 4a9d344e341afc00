"""What a source offers may change: a run begins with what is offered then, and keeps it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sayso.control.loop.contract import ToolAnswer, ToolCall, ToolDone, ToolOutcome, ToolSpec
from sayso.control.protocol.payloads.capabilities import ToolDefinition
from sayso.core.refusal import PeerRefused
from sayso.testing.provider import Call, Hangs, Say
from sayso.testing.tools import ScriptedTools
from tests.control.conftest import Trace
from tests.control.loop.stage import Stage, staged
from tests.control.loop.test_opening import Opener

pytestmark = pytest.mark.anyio


class Shelf(ScriptedTools):
    """Tools that come and go: calling `swap` puts those of `next` on the shelf."""

    def __init__(self) -> None:
        super().__init__({}, id="shelf")
        self.names = ["swap"]
        self.next: list[str] = []
        self.fault: Exception | None = None

    def tools(self) -> Sequence[ToolSpec]:
        if self.fault is not None:
            raise self.fault
        return [ToolSpec(name, f"the tool {name}", {"type": "object"}) for name in self.names]

    async def call(self, call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        self.names = self.next or self.names
        return ToolDone({"did": call.name})


def shelved() -> tuple[Shelf, Opener]:
    opener = Opener("shelf")
    opener.tools = shelf = Shelf()
    return shelf, opener


def offered(stage: Stage, number: int) -> list[str]:
    """The tools of the model's request of this number."""
    return [tool.name for tool in stage.provider.requests[number].tools or () if tool.name != "request_user_input"]


async def listed(stage: Stage) -> list[str]:
    tools = (await stage.client.tools(stage.id)).tools
    return [tool.name for tool in tools if tool.name != "request_user_input"]


@pytest.mark.req("OAP-155", "OAP-163")
async def test_a_run_keeps_its_tools_and_the_next_has_those_there_are_then(trace: Trace) -> None:
    """The list of the session says what the run has, and behind it what the next one gets."""
    shelf, opener = shelved()
    shelf.next = ["other"]
    turns = [[Call("swap")], [Hangs()], [Call("other")], [Say("done")]]
    async with staged(turns, record=trace.record, openers=[opener]) as stage:
        before = await listed(stage)
        run_id, _ = await stage.begin(until="action.call.completed")
        during = await listed(stage)
        await stage.client.cancel(stage.id, run_id)
        await stage.read(run_id)
        after = await listed(stage)
        _, ended = await stage.begin("next", tool_choice={"allowed": ["other"]})
    assert [offered(stage, number) for number in range(4)] == [["swap"], ["swap"], ["other"], ["other"]]
    assert (before, during, after, ended.type) == (["swap"], ["swap"], ["other"], "run.completed")


@pytest.mark.req("OAP-155", "OAP-160")
async def test_a_run_that_waited_has_the_tools_of_its_start(trace: Trace) -> None:
    """Not those of its admission."""
    shelf, opener = shelved()
    async with staged([[Hangs()], [Say("ok")]], record=trace.record, openers=[opener]) as stage:
        first, _ = await stage.begin(until="run.started")
        second = await stage.client.submit(stage.id, "next")
        shelf.names = ["other"]
        await stage.client.cancel(stage.id, first)
        await stage.read(str(second.run_id))
    assert offered(stage, -1) == ["other"]


@pytest.mark.req("OAP-155")
@pytest.mark.parametrize("taken", ["look", "hers", "request_user_input"])
async def test_a_name_that_is_taken_leaves_the_tools_as_they_were(trace: Trace, taken: str) -> None:
    """Another source's, the client's own, the loop's: a call must have one owner."""
    shelf, opener = shelved()
    hers = ToolDefinition(name="hers", input_schema={"type": "object"}, execution_owner="user", source="sayso")
    acts = {"look": shelf.call}
    async with staged([[Say("ok")]], acts, record=trace.record, openers=[opener], opens={"tools": [hers]}) as stage:
        shelf.names = ["new", taken]
        await stage.begin()
        after = await listed(stage)
    assert sorted(offered(stage, 0)) == after == ["hers", "look", "swap"]


@pytest.mark.req("OAP-155")
async def test_a_source_that_cannot_say_what_it_offers_ends_no_session(trace: Trace) -> None:
    """The run has what was offered before."""
    shelf, opener = shelved()
    async with staged([[Say("ok")]], record=trace.record, openers=[opener]) as stage:
        shelf.fault = OSError("gone")
        _, ended = await stage.begin()
        with pytest.raises(PeerRefused):
            await stage.client.submit(stage.id, "go", tool_choice={"allowed": ["new"]})
    assert (ended.type, offered(stage, 0)) == ("run.completed", ["swap"])
