"""Scripted models behind every wire: they use the tools they are given, and any process can serve one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import Message, TextPart, ToolCallPart, ToolResultPart
from sayso.control.protocol.payloads.inference import InferenceCreateRequest, InferenceTool
from sayso.control.provider.catalog.facts import facts_for
from sayso.control.provider.catalog.reading import read_catalog
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.credentials.store import CredentialStore
from sayso.control.provider.wires import Offering, open_wire
from sayso.core.clock import SystemClock
from sayso.net.fetch import Fetcher
from sayso.testing.vendor_servers import SCRIPTS, Served, serve_model
from sayso.testing.vendor_servers.serving import SHORT_NAMES
from tests.control.provider.planner.shop import SYSTEM, TOOLS, Town

pytestmark = pytest.mark.anyio
every_wire = pytest.mark.parametrize("wire", sorted(SHORT_NAMES))
PATIENCE = 30
READ = InferenceTool(
    name="Read", input_schema={"type": "object", "properties": {"file_path": {}}, "required": ["file_path"]}
)


def offering(served: Served, home: Path) -> Offering:
    """What the catalog makes of the variables alone."""
    provider = served.model_ref.partition("/")[0]
    row = next(row for row in read_catalog().providers if row.id == provider)
    credentials = Credentials(
        home, CredentialStore(home, served.environ), environ=served.environ, clock=SystemClock(), fetcher=Fetcher
    )
    facts = facts_for(row, served.model, credentials)
    return Offering(
        id=facts.id,
        wire=facts.wire,  # type: ignore[arg-type]
        base_url=facts.base_url,
        model=facts.model,
        credential=facts.credential,
    )


async def infer(made: Offering, *messages: Message, tools: tuple[InferenceTool, ...] = ()) -> Message:
    request = ProviderEnvelope(
        type="inference.create.request",
        id="q1",
        payload=InferenceCreateRequest(model_ref=made.model, messages=messages, tools=tools),
    )
    async with open_wire(made) as provider:
        with anyio.fail_after(PATIENCE):
            end = [envelope async for envelope in provider.create(request)][-1]
    assert end.type == "inference.completed", end.payload
    message: Message = end.payload.message  # type: ignore[attr-defined]
    return message


def parts(message: Message, kind: type) -> list[Any]:
    return [part for part in message.content if isinstance(part, kind)]


@every_wire
@pytest.mark.parametrize("is_error", [False, True])
async def test_the_tool_turn_reads_and_then_quotes(wire: str, is_error: bool, tmp_path: Path) -> None:
    """The call is made as the tool's own schema asks; the answer quotes its result, and tells a failure as one."""
    async with serve_model(wire, SCRIPTS["tool_turn"]) as served:
        made = offering(served, tmp_path)
        asked = (Message(role="system", content="be brief"), Message(role="user", content="what is this?"))
        called = await infer(made, *asked, tools=(READ,))
        call = parts(called, ToolCallPart)[0]
        assert (call.name, call.arguments_json) == ("Read", {"file_path": "README.md"})
        # Two of the wires have no member for an error, so the result itself says that it is one.
        found = {"error": "missing"} if is_error else "# Toy\nhello"
        result = ToolResultPart(tool_call_id=call.tool_call_id, result=found, is_error=is_error)
        answered = await infer(made, *asked, called, Message(role="tool", content=(result,)), tools=(READ,))
        said = "".join(part.text for part in parts(answered, TextPart))
        assert ("missing" if is_error else "> # Toy\n> hello") in said
        assert said.startswith("That did not work" if is_error else "`README.md` begins")
        again = await infer(made, *asked, called, Message(role="tool", content=(result,)), answered,
                            Message(role="user", content="again"), tools=(READ,))  # fmt: skip
        assert parts(again, ToolCallPart)[0].tool_call_id != call.tool_call_id


@every_wire
async def test_without_its_tool_a_model_says_so(wire: str, tmp_path: Path) -> None:
    """Nothing is called that was not offered."""
    async with serve_model(wire, SCRIPTS["shell_turn"]) as served:
        said = await infer(offering(served, tmp_path), Message(role="user", content="go"), tools=(READ,))
    assert "no tool `Shell`" in parts(said, TextPart)[0].text


@every_wire
async def test_the_booking_turn_books_through_the_scheduling_tools(wire: str, tmp_path: Path) -> None:
    """Each call is answered by a small town; the wire carries what the planner has to see."""
    tools = tuple(InferenceTool(name=name, input_schema={"type": "object"}) for name in TOOLS)
    town = Town()
    messages = [Message(role="system", content=SYSTEM), Message(role="user", content="Book a trim tomorrow at 10 am")]
    async with serve_model(wire, SCRIPTS["booking_turn"]) as served:
        made = offering(served, tmp_path)
        for _ in range(6):
            messages.append(await infer(made, *messages, tools=tools))
            calls = parts(messages[-1], ToolCallPart)
            if not calls:
                break
            answer = getattr(town, f"_{calls[0].name}")(calls[0].arguments_json)
            town.calls.append((calls[0].name, calls[0].arguments_json))
            result = ToolResultPart(tool_call_id=calls[0].tool_call_id, result=answer)
            messages.append(Message(role="tool", content=(result,)))
    assert [name for name, _ in town.calls] == ["discover_host", "find_slots", "hold_slot", "approve_and_book"]
    assert parts(messages[-1], TextPart)[0].text.startswith("Booked")


@every_wire
async def test_the_slow_text_is_two_thousand_words(wire: str, tmp_path: Path) -> None:
    """Whole, in the order they were said."""
    async with serve_model(wire, SCRIPTS["slow_text"]) as served:
        said = await infer(offering(served, tmp_path), Message(role="user", content="go"))
    text = parts(said, TextPart)[0].text
    (told,) = SCRIPTS["slow_text"](InferenceCreateRequest(model_ref="fixture", messages=())).steps  # type: ignore[union-attr]
    assert (text, len(told.deltas)) == ("".join(told.deltas), 2000)  # type: ignore[union-attr]


@every_wire
async def test_the_hanging_model_begins_and_leaves_the_rest_unsaid(wire: str, tmp_path: Path) -> None:
    """Until whoever asked hangs up, which it sees."""
    async with serve_model(wire, SCRIPTS["hang"]) as served, open_wire(offering(served, tmp_path)) as provider:
        request = ProviderEnvelope(
            type="inference.create.request",
            id="q1",
            payload=InferenceCreateRequest(model_ref="fixture", messages=(Message(role="user", content="go"),)),
        )
        heard = ""
        with anyio.fail_after(PATIENCE):
            events = provider.create(request)
            async for envelope in events:
                heard += getattr(envelope.payload, "delta", "")
                if heard.endswith("still"):
                    break
            await events.aclose()  # type: ignore[attr-defined]
            await served.server.gone.wait()
    assert heard == "One moment, I am still"


async def test_a_process_of_its_own_serves_one_and_ends_when_told(tmp_path: Path) -> None:
    """The port file is there once it answers, and the variables it prints are all that is needed."""
    port_file = tmp_path / "port"
    command = (sys.executable, "-m", "sayso.testing.vendor_servers", "--wire", "chat", "--port-file", str(port_file))
    async with await anyio.open_process(command, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            with anyio.fail_after(PATIENCE):
                told = json.loads(await process.stdout.receive())
                while not port_file.exists():
                    await anyio.lowlevel.checkpoint()
            assert told["base_url"] == f"http://127.0.0.1:{port_file.read_text().strip()}/v1"
            made = Offering(
                id="x", wire="openai-chat-completions", base_url=told["base_url"], model=told["model"],
                credential=lambda: _given(told["key"]),
            )  # fmt: skip
            called = await infer(made, Message(role="user", content="go"), tools=(READ,))
            assert parts(called, ToolCallPart)
        finally:
            process.send_signal(signal.SIGTERM)
        with anyio.fail_after(PATIENCE):
            assert await process.wait() == 0


async def _given(key: str) -> str | None:
    return key
