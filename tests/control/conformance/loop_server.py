"""Our own loop over a scripted model, served as a program: `agent` is the endpoint, `hub` the hub over stdio."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import msgspec

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.endpoint.endpoint import EndpointOverStdio
from sayso.control.hub.bindings.stdio import HubOverStdio, StdioEnd
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.loop.contract import OpensSource
from sayso.control.loop.history import calls_in
from sayso.control.loop.saved import SavedConversations
from sayso.control.protocol.envelope import Envelope, ProviderEnvelope
from sayso.control.protocol.payloads.auth import AuthLoginStartRequest, AuthLoginStartResponse
from sayso.control.protocol.payloads.inference import InferenceCreateRequest
from sayso.control.protocol.payloads.provider import ModelEntry, ModelsListRequest, ModelsListResponse
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import ToolSourceAttachment
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds
from sayso.net.ownpipes import LineInput, LineOutput
from sayso.testing.provider import Call, Say, ScriptedProvider, Step
from sayso.testing.tools import ScriptedTools, asking

NAME = "sayso"
ECHO = "conformance_echo"


class Models(ScriptedProvider):
    """A scripted model under two names."""

    async def models(self, request: ProviderEnvelope[ModelsListRequest]) -> ProviderEnvelope[ModelsListResponse]:
        names = ("one", "two")
        rows = tuple(
            ModelEntry(model_ref=f"scripted/{name}", model_id=name, provider_id="scripted", wire="other")
            for name in names
        )
        payload = ModelsListResponse(models=rows)
        return ProviderEnvelope(type="provider.models.list.response", id="m", in_reply_to=request.id, payload=payload)


class SignIns(MemoryAdapter):
    """The reference adapter's sign-ins, told under no revision of its own."""

    async def login(self, request: Envelope[AuthLoginStartRequest]) -> AuthLoginStartResponse:
        assert request.capability_revision is UNSET
        return await super().login(request)

    async def login_events(self, flow_id: str) -> AsyncIterator[Envelope[Wire]]:
        async for envelope in super().login_events(flow_id):
            yield msgspec.structs.replace(envelope, capability_revision=UNSET)


def turn(request: InferenceCreateRequest) -> list[Step]:
    """Calls what there is to call, once each: the client's own tool, the question, the booking behind a permission;
    then says that it is done, as an object where one is asked for. Asked for a summary it writes one.
    """
    if not request.tools:
        return [Say('{"done": true}' if request.output_schema else "What was said so far.")]
    offered = [tool.name for tool in request.tools]
    said = list(request.messages)
    last = max((at for at, message in enumerate(said) if message.role == "user"), default=0)
    made = {part.name for message in said[last:] for part in calls_in(message)}
    for name, arguments in ((ECHO, {}), ("request_user_input", QUESTIONS), ("book", {})):
        if name in offered and name not in made:
            return [Say("One moment. "), Call(name, arguments)]
    return [Say("Done.")]


QUESTIONS = {"questions": [{"id": "why", "prompt": "Why?", "kind": "text"}]}


def registry(home: Path) -> Registry:
    """The loop with every unit; its model never runs out of turns."""
    ids, clock = SystemIds(), SystemClock()
    provider = Models(iter(lambda: turn, None), ids=ids)
    tools = ScriptedTools({"book": asking("limits")})
    loop = OwnLoop(
        provider,
        [tools],
        clock=clock,
        ids=ids,
        model_ref="scripted/one",
        attach=mcp_opener_stub,
        conversations=SavedConversations(home / "conversations", clock=clock),
        logins=SignIns(clock=clock, ids=ids),
    )
    return Registry({NAME: loop})


def mcp_opener_stub(attachment: ToolSourceAttachment) -> OpensSource:
    """Nothing may be started here, so nothing is attached."""
    raise AssertionError(attachment.id)


async def serve(role: str, home: str) -> StdioEnd:
    stop = anyio.Event()

    async def watch() -> None:
        with anyio.open_signal_receiver(signal.SIGTERM) as signals:
            async for _ in signals:
                stop.set()

    lines, output = LineInput(sys.stdin.fileno(), 16 * 1024 * 1024), LineOutput(sys.stdout.fileno())
    async with (
        Hub(registry(Path(home)), clock=SystemClock(), ids=SystemIds()) as hub,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(watch)
        if role == "agent":
            end = await EndpointOverStdio(hub, NAME, lines, output, ids=SystemIds()).serve(stop)
        else:
            end = await HubOverStdio(hub, lines, output).serve(stop)
        tasks.cancel_scope.cancel()
    return end


if __name__ == "__main__":
    raise SystemExit(0 if anyio.run(serve, sys.argv[1], sys.argv[2]).is_clean else 1)
