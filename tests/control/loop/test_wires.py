"""Our own loop over each vendor's wire: a turn that calls a tool, against the vendor's fixture server."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.local import LocalClient
from sayso.control.client.run import Answered, run_to_terminal
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.loop.contract import ToolAnswer, ToolCall, ToolDone, ToolOutcome
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.content import Usage, text_of
from sayso.control.provider.wires import Offering, open_wire
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.testing.provider import Call, Say, Think
from sayso.testing.tools import ScriptedTools, read_only
from sayso.testing.vendor_servers import SCRIPTS, Said, serve_model
from tests.control.conftest import Trace
from tests.control.provider.wires.bench import ALL, NOON, key, open_bench

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("wire", ALL)
@pytest.mark.req("OAP-131", "OAP-133")
async def test_a_tool_using_turn_over_every_wire(wire: str, trace: Trace) -> None:
    """Thinks, calls, gets the result, answers; the vendor judged both requests and the trace is judged at its end."""

    async def look(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        return ToolDone({"found": call.arguments})

    async def nobody(_: Envelope[PermissionRequested]) -> Answered:
        raise AssertionError("nobody was to be asked")

    turns = [
        Said([Think("hm", "c2ln"), Say("let me look"), Call("look", {"q": "x"}, "c1"), Call("look", {"q": "y"}, "c2")]),
        Said([Say("it is ", "done")]),
    ]
    async with open_bench(wire, turns) as bench:
        tools, ids = ScriptedTools({"look": look}, specs=[read_only("look")]), CountingIds()
        loop = OwnLoop(
            bench.provider, [tools], clock=bench.clock, ids=ids, model_ref="vendor/fixture", system=lambda: "be brief"
        )
        async with Hub(Registry({"sayso": loop}), clock=bench.clock, ids=ids, record=trace.record) as hub:
            client = LocalClient(hub, ids=ids)
            opened = await client.open("sayso")
            outcome = await run_to_terminal(client, opened.session_id, "go", nobody, lambda _: None)
    assert outcome.error is None
    assert outcome.response is not None
    assert (text_of(outcome.response.content), outcome.tool_calls) == ("it is done", 2)
    assert [call.arguments for call, _ in tools.calls] == [{"q": "x"}, {"q": "y"}]
    assert outcome.usage in (Usage(input_tokens=14, output_tokens=6, total_tokens=20),
                             Usage(input_tokens=14, output_tokens=6))  # fmt: skip
    assert [received.text.count("found") for received in bench.server.received] == [0, 2]


TURNS = {
    "tool_turn": ("Read", {"path": "README.md"}, "`README.md` begins like this"),
    "write_turn": (
        "Write",
        {"path": "notes.txt", "content": "Written by the fixture model.\n"},
        "I wrote **notes.txt**",
    ),
    "shell_turn": ("Shell", {"command": "echo hello"}, "`echo hello` printed"),
}


@pytest.mark.parametrize("script", TURNS)
@pytest.mark.parametrize("wire", ALL)
@pytest.mark.req("OAP-131")
async def test_a_model_that_decides_for_itself_uses_an_agents_tools(wire: str, script: str, trace: Trace) -> None:
    """Two runs of one session, each a thought, a call and an answer; the vendor sees its carries come back."""
    name, arguments, begins = TURNS[script]

    async def act(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        return ToolDone("line one\nline two")

    async def nobody(_: Envelope[PermissionRequested]) -> Answered:
        raise AssertionError("nobody was to be asked")

    clock, ids, said = ManualClock(NOON), CountingIds(), []
    async with serve_model(wire, SCRIPTS[script]) as served:
        made = Offering(id="vendor", wire=wire, base_url=served.base_url, model=served.model, credential=key)  # type: ignore[arg-type]
        async with open_wire(made, clock=clock, ids=ids) as provider:
            tools = ScriptedTools({name: act}, specs=[read_only(name)])
            loop = OwnLoop(provider, [tools], clock=clock, ids=ids, model_ref="vendor/fixture", system=lambda: "brief")
            async with Hub(Registry({"sayso": loop}), clock=clock, ids=ids, record=trace.record) as hub:
                client = LocalClient(hub, ids=ids)
                opened = await client.open("sayso")
                for words in ("go", "and again"):
                    outcome = await run_to_terminal(client, opened.session_id, words, nobody, lambda _: None)
                    assert outcome.error is None, outcome.error
                    assert outcome.response is not None
                    said.append(text_of(outcome.response.content))
    assert [text.startswith(begins) and "> line one\n> line two" in text for text in said] == [True, True]
    assert [call.arguments for call, _ in tools.calls] == [arguments, arguments]
    assert len({call.tool_call_id for call, _ in tools.calls}) == 2
