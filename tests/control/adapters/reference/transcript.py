"""The reference path of the memory adapter, every unit once; `python -m` this module writes its golden file afresh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import jsonschema_rs
import msgspec

from sayso.control.adapters.reference.offering import DESCRIPTOR
from sayso.control.protocol.envelope import Envelope, write_envelope
from sayso.control.protocol.payloads.action import ToolsListRequest
from sayso.control.protocol.payloads.auth import AuthLoginStartRequest, AuthProvidersRequest
from sayso.control.protocol.payloads.capabilities import (
    CapabilitiesRequest,
    InitializeRequest,
    InitializeResponse,
    Participant,
)
from sayso.control.protocol.payloads.models import ModelsRequest
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import SessionStateRequest
from sayso.control.protocol.types import AGENT_TYPES
from tests.control.adapters.reference.stage import SESSION, Stage, staged
from tests.control.conftest import Trace

GOLDEN = Path(__file__).with_name("transcript.jsonl")
ECHO = {"name": "echo", "input_schema": {"type": "object"}, "execution_owner": "user", "source": "memory"}
UNPINNED = dict.fromkeys(("protocol.initialize", "capabilities"), msgspec.UNSET)
NOTES = {"id": "notes", "kind": "process", "command": "/bin/notes", "environment": ["KEY=hidden"]}


async def transcript() -> list[Envelope[Wire]]:
    """Every envelope of the path, in the order it counts."""
    trace = Trace(jsonschema_rs.validator_for(True))
    async with staged(trace, opened=None) as stage:
        await _greet(stage)
        await stage.open(tools=[ECHO], tool_sources=[NOTES], reasoning_level="low")
        await _look(stage)
        await _talk(stage)
        await _wait_and_steer(stage)
        await _switch_and_compact(stage)
        await _sign_in(stage)
        await stage.finish()
        await stage.open(reopen=True)
        await _exchange(stage, "session.state", SessionStateRequest(session_id=SESSION), await stage.session.state())
    return trace.envelopes


async def _exchange(stage: Stage, type_: str, asked: Wire, reply: Wire) -> None:
    name = f"x{len(stage.trace.envelopes)}"
    session_id = getattr(asked, "session_id", msgspec.UNSET)
    kind = AGENT_TYPES[f"{type_}.request"]
    pin = UNPINNED.get(type_, DESCRIPTOR.revision)
    stage.trace.record(Envelope(type=kind.name, id=name, payload=asked, session_id=session_id, capability_revision=pin))
    stage.trace.record(
        Envelope(
            type=kind.answer,
            id=f"a-{name}",
            payload=reply,
            in_reply_to=name,
            session_id=session_id,
            capability_revision=DESCRIPTOR.revision,
        )
    )


async def _greet(stage: Stage) -> None:
    asked = InitializeRequest(
        protocol_versions=("0.1",),
        profiles=("open-agent-protocol.agent-control-core",),
        participant=Participant(id="user"),
    )
    capabilities = (await stage.adapter.probe()).capabilities
    reply = InitializeResponse(
        protocol_version="0.1", profile="open-agent-protocol.agent-control-core", endpoint=capabilities.endpoint
    )
    await _exchange(stage, "protocol.initialize", asked, reply)
    await _exchange(stage, "capabilities", CapabilitiesRequest(), capabilities)


async def _look(stage: Stage) -> None:
    models = ModelsRequest(session_id=SESSION)
    await _exchange(stage, "models", models, await stage.session.models(models))
    tools = ToolsListRequest(session_id=SESSION)
    await _exchange(stage, "action.tools.list", tools, await stage.session.tools(tools))


async def _talk(stage: Stage) -> None:
    """Both gates and the client's own tool in one run."""
    run = (await stage.submit("paint the door", instructions="briefly")).run_id
    await stage.read(run)
    await stage.permit(run, choice_id="allow")
    await stage.read(run)
    await stage.call(run, started={})
    await stage.call(run, result={"heard": True})
    await stage.read(run)
    await _exchange(stage, "session.state", SessionStateRequest(session_id=SESSION), await stage.session.state())
    await stage.reply(run)
    await stage.read(run)


async def _wait_and_steer(stage: Stage) -> None:
    """A reservation cancelled, another promoted, a steer that lets the first run go on."""
    first = (await stage.submit("script: hold")).run_id
    await stage.read(first)
    second = (await stage.submit()).run_id
    await stage.cancel(second)
    await stage.read(second)
    third = (await stage.submit("script: plain", model_id="memory-large", output_schema={"type": "object"})).run_id
    await stage.submit("to the left", delivery="steer", target_run_id=first)
    await stage.read(first)
    await stage.read(third)


async def _switch_and_compact(stage: Stage) -> None:
    await stage.ask("session.model.switch.request", {"session_id": SESSION, "model_id": "memory-large"})
    stage.trace.record(await anext(stage.session.session_events()))
    run = (await stage.compact(focus="doors")).run_id
    await stage.read(run)


async def _sign_in(stage: Stage) -> None:
    await _exchange(stage, "auth.providers", AuthProvidersRequest(), await stage.adapter.auth_providers())
    asked: Any = AuthLoginStartRequest(provider_id="memory-browser")
    reply = await stage.adapter.login(Envelope(type="auth.login.start.request", id="login", payload=asked))
    await _exchange(stage, "auth.login.start", asked, reply)
    async for envelope in stage.adapter.login_events(reply.flow_id):
        stage.trace.record(envelope)


async def written() -> bytes:
    """The golden file's bytes: an envelope a line."""
    return b"".join(write_envelope(envelope) + b"\n" for envelope in await transcript())


if __name__ == "__main__":
    GOLDEN.write_bytes(anyio.run(written))
