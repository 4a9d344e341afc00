"""A source that a client attaches, through our own loop: catalog, permission, call and end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import msgspec
import pytest
from anyio.abc import TaskGroup

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.requests import open_request, submit_request
from sayso.control.loop.session import LoopSession
from sayso.control.mcp_sources.opener import mcp_opener
from sayso.control.protocol.envelope import Envelope, write_envelope
from sayso.control.protocol.payloads.action import ToolsListRequest
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import ToolSourceAttachment
from sayso.core.clock import SystemClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Refused
from sayso.testing.provider import Call, Say, ScriptedProvider, Turn
from tests.control.mcp_sources.opening import pipe
from tests.control.mcp_sources.test_hostile import is_running

pytestmark = pytest.mark.anyio
IDS = CountingIds()


async def opened_in(tasks: TaskGroup, turns: list[Turn], *attached: ToolSourceAttachment) -> LoopSession:
    """One session of the loop that bypasses, with these sources."""
    clock = SystemClock()
    loop = OwnLoop(
        ScriptedProvider(turns, ids=CountingIds()),
        clock=clock,
        ids=CountingIds(),
        model_ref="m",
        attach=partial(mcp_opener, environ={}, clock=clock),
        permission="bypass",
    )
    request = open_request(IDS, session_id="s1")
    payload = msgspec.structs.replace(request.payload, tool_sources=attached)
    return await loop.open(msgspec.structs.replace(request, payload=payload), "s1", tasks)


@asynccontextmanager
async def session(turns: list[Turn], *attached: ToolSourceAttachment) -> AsyncIterator[LoopSession]:
    async with anyio.create_task_group() as tasks:
        opened = await opened_in(tasks, turns, *attached)
        yield opened
        await opened.close()
        tasks.cancel_scope.cancel()


async def run(opened: LoopSession) -> list[Envelope[Wire]]:
    admitted = await opened.submit(submit_request(IDS, "s1", "go", "auto"))
    return [envelope async for envelope in opened.events(str(admitted.run_id))]


def payload_of(events: list[Envelope[Wire]], kind: str) -> Any:
    return next(envelope.payload for envelope in events if envelope.type == kind)


@pytest.mark.req("OAP-060", "OAP-156")
async def test_an_attached_source_is_published_without_what_starts_it_and_its_tools_are_called() -> None:
    """Its command, arguments and variables are in nothing that leaves."""
    attached = pipe("official", "stdio", environment=("TOKEN=t0p-secret",))
    turns: list[Turn] = [[Call("far__add", {"a": 2, "b": 3})], [Say("five")]]
    async with session(turns, attached) as opened:
        listed = await opened.tools(ToolsListRequest(session_id="s1"))
        state = await opened.state()
        events = await run(opened)
    source = next(each for each in listed.sources if each.id == "far")
    assert (source.kind, {tool.name for tool in listed.tools if tool.source == "far"} >= {"far__add"}) == (
        "process",
        True,
    )
    assert payload_of(events, "action.call.completed").result == "5"
    assert payload_of(events, "run.completed").final_response.content[0].text == "five"
    told = b"".join(map(write_envelope, events)) + msgspec.json.encode((listed, state))
    assert b"t0p-secret" not in told
    assert b"official.py" not in told


@pytest.mark.req("OAP-156")
async def test_a_server_that_dies_in_a_call_fails_the_call_and_not_the_run() -> None:
    """The model reads why and goes on."""
    turns: list[Turn] = [[Call("far__go", {})], [Say("sorry")]]
    async with session(turns, pipe("hostile", "dies_mid_call")) as opened:
        events = await run(opened)
    assert "exited with code 9" in payload_of(events, "action.call.failed").error.message
    assert payload_of(events, "run.completed").final_response.content[0].text == "sorry"


@pytest.mark.req("OAP-060", "OAP-156")
async def test_a_source_ends_with_its_session_and_refuses_it_when_it_cannot_open() -> None:
    """Whatever else of the session was open by then."""
    turns: list[Turn] = [[Call("far__go", {})], [Say("done")]]
    async with session(turns, pipe("hostile", "orphan")) as opened:
        pid = int(payload_of(await run(opened), "action.call.completed").result)
        assert is_running(pid)
    assert not is_running(pid)
    async with anyio.create_task_group() as tasks:
        with pytest.raises(Refused) as caught:
            await opened_in(tasks, [], pipe("official", "stdio"), pipe("hostile", "says_no", source_id="near"))
    assert "near" in str(caught.value)
