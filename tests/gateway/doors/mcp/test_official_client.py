"""The official MCP client, with our auth object and nothing else of ours (GTW-002)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from sayso.core.gcra import Limit
from sayso.gateway.clients.for_httpx2 import SigningAuth
from sayso.gateway.guard.rules.limits import DEFAULTS, Limits
from sayso.governance.proposal import Decider
from tests.gateway.doors.mcp.speaking import OFTEN, Speaker, speaking

pytestmark = pytest.mark.anyio

OWNER = Decider(id="per_1", name="Ada", role="owner")
MODES = [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]


@asynccontextmanager
async def client_of(speaker: Speaker, mode: str, **more: Any) -> AsyncIterator[Client]:
    """A client connected in a mode, its clock the bench's."""
    auth = SigningAuth(speaker.key, speaker.bench.clock)
    async with httpx2.AsyncClient(auth=auth, timeout=30, trust_env=False) as http:
        transport = streamable_http_client(speaker.url, http_client=http)
        with anyio.fail_after(60):
            async with Client(transport, mode=mode, **more) as client:
                yield client


@pytest.mark.req("GTW-002", "GTW-011", "GTW-040", "GTW-034")
@pytest.mark.parametrize(("mode", "version"), MODES)
async def test_the_official_client_finds_calls_proposes_and_reads(tmp_path: Path, mode: str, version: str) -> None:
    """In every mode, with its own checks of schemas and results."""
    async with speaking(tmp_path) as (ada,), client_of(ada, mode) as client:
        assert client.protocol_version == version
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"echo", "take_note", "proposal_status"} <= tools.keys()
        said = await client.call_tool("echo", {"text": "größe"})
        assert (said.is_error, said.structured_content) == (False, {"text": "größe"})
        proposed = await client.call_tool("take_note", {"text": "buy milk"})
        assert not proposed.is_error
        ticket: Any = proposed.structured_content
        await ada.bench.gate.reject(ticket["proposal_id"], OWNER, reason="no")
        read = await client.read_resource(ticket["read"])
        assert '"state":"rejected"' in read.contents[0].text
        status = await client.call_tool("proposal_status", {"proposal_id": ticket["proposal_id"]})
        assert status.structured_content["state"] == "rejected"
        refused = await client.call_tool("spend", {"text": "much"})
        assert refused.is_error
        assert (await client.list_prompts()).prompts[0].name == "test_simple_prompt"
        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        assert len(prompt.messages) == 1


@pytest.mark.req("GTW-021a")
@pytest.mark.parametrize(("mode", "_version"), MODES)
async def test_the_official_client_shows_our_codes(tmp_path: Path, mode: str, _version: str) -> None:
    """Number, words and data of a refusal reach the caller whole, whatever HTTP status they came under."""
    limits = Limits(coarse=OFTEN, second=Limit(DEFAULTS.second.period, 2))
    async with speaking(tmp_path, limits=limits) as (ada,), client_of(ada, mode) as client:
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("nope", {})
        assert unknown.value.error.code == -32602
        with pytest.raises(MCPError) as long:
            await client.call_tool("echo", {"text": "x" * 2001})
        assert (long.value.error.code, long.value.error.data["code"]) == (41302, "payload_limits")
        for _ in range(2):
            await client.call_tool("echo", {"text": "hi"})
        with pytest.raises(MCPError) as often:
            await client.call_tool("echo", {"text": "hi"})
        assert (often.value.error.code, often.value.error.data["code"]) == (42901, "too_many_requests")
        with pytest.raises(MCPError):
            await client.read_resource("osz://nothing")


@pytest.mark.req("GTW-020a")
@pytest.mark.parametrize(("mode", "_version"), MODES)
async def test_the_official_client_connects_within_the_default_limits(tmp_path: Path, mode: str, _version: str) -> None:
    """Its first second, with the clock standing still: handshake, stream, lists and three calls."""
    async with speaking(tmp_path, limits=DEFAULTS) as (ada,), client_of(ada, mode) as client:
        await client.list_tools()
        for _ in range(3):
            assert not (await client.call_tool("echo", {"text": "hi"})).is_error


@pytest.mark.req("GTW-002", "GTW-034")
@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_the_official_client_hears_of_a_move_on_its_session_stream(tmp_path: Path) -> None:
    """Legacy: GET stream and resources/subscribe."""
    send, receive = anyio.create_memory_object_stream[Any](8)

    async def heard(message: Any) -> None:
        await send.send(message)

    async with (
        send,
        receive,
        speaking(tmp_path) as (ada,),
        client_of(ada, "legacy", message_handler=heard) as client,
    ):
        ticket: Any = (await client.call_tool("take_note", {"text": "hi"})).structured_content
        await client.subscribe_resource(ticket["read"])
        await ada.bench.gate.reject(ticket["proposal_id"], OWNER, reason="no")
        message = await receive.receive()
        assert str(message.params.uri) == ticket["read"]


@pytest.mark.req("GTW-002", "GTW-034")
async def test_the_official_client_listens_the_modern_way(tmp_path: Path) -> None:
    """subscriptions/listen, acknowledged and then told."""
    async with speaking(tmp_path) as (ada,), client_of(ada, "auto") as client:
        ticket: Any = (await client.call_tool("take_note", {"text": "hi"})).structured_content
        async with client.listen(resource_subscriptions=[ticket["read"]]) as subscription:
            await ada.bench.gate.reject(ticket["proposal_id"], OWNER, reason="no")
            event = await anext(aiter(subscription))
            assert event.uri == ticket["read"]
