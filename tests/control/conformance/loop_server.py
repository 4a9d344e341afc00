"""Our own loop over a scripted model, served as a program: `agent` is the endpoint, `hub` the hub over stdio."""

from __future__ import annotations

import signal
import sys

import anyio

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.endpoint.endpoint import EndpointOverStdio
from sayso.control.hub.bindings.stdio import HubOverStdio, StdioEnd
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.protocol.payloads.content import ToolResultPart
from sayso.control.protocol.payloads.inference import InferenceCreateRequest
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds
from sayso.net.ownpipes import LineInput, LineOutput
from sayso.testing.provider import Call, Say, ScriptedProvider, Step
from sayso.testing.tools import ScriptedTools, asking

NAME = "sayso"


def turn(request: InferenceCreateRequest) -> list[Step]:
    """Books, behind a permission, and says that it is done."""
    last = request.messages[-1]
    is_told = last.role == "tool" or (
        not isinstance(last.content, str) and any(isinstance(part, ToolResultPart) for part in last.content)
    )
    return [Say("Done.")] if is_told else [Say("I will book it. "), Call("book")]


def registry() -> Registry:
    """The loop, whose model never runs out of turns."""
    ids, clock = SystemIds(), SystemClock()
    provider = ScriptedProvider(iter(lambda: turn, None), ids=ids)
    tools = ScriptedTools({"book": asking("limits")})
    return Registry({NAME: OwnLoop(provider, [tools], clock=clock, ids=ids, model_ref="scripted/one")})


async def serve(role: str) -> StdioEnd:
    stop = anyio.Event()

    async def watch() -> None:
        with anyio.open_signal_receiver(signal.SIGTERM) as signals:
            async for _ in signals:
                stop.set()

    lines, output = LineInput(sys.stdin.fileno(), 16 * 1024 * 1024), LineOutput(sys.stdout.fileno())
    async with Hub(registry(), clock=SystemClock(), ids=SystemIds()) as hub, anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        if role == "agent":
            end = await EndpointOverStdio(hub, NAME, lines, output, ids=SystemIds()).serve(stop)
        else:
            end = await HubOverStdio(hub, lines, output).serve(stop)
        tasks.cancel_scope.cancel()
    return end


if __name__ == "__main__":
    raise SystemExit(0 if anyio.run(serve, sys.argv[1]).is_clean else 1)
