"""The provider half of an endpoint: inferences side by side on one pipe, each with numbers of its own (OAP-135, 137).

A create is begun apart from the other requests, so that however long it runs nothing else waits. At the end every
accepted inference owes its terminal: it may finish by itself for a while, then it is cancelled; a signal or a line that
cannot be read cancels at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
import msgspec
from anyio.abc import TaskGroup

from sayso.control.endpoint.connection import USUAL, Connection, EndpointBounds
from sayso.control.endpoint.lines import ControlLine, EnvelopeLine, ReplayError
from sayso.control.hub.answers import refuse_query
from sayso.control.hub.bindings.stdio import StdioEnd, StdioEnding
from sayso.control.protocol.codes import CODES
from sayso.control.protocol.envelope import ProviderEnvelope, write_envelope
from sayso.control.protocol.payloads.inference import InferenceFailed, PartDelta, PartEnded, ProviderError
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.provider.bindings.exchange import CREATE, Exchange, Said, no_room
from sayso.control.provider.bindings.specimens import SpecimenAccepted, specimens
from sayso.control.provider.contract import ProviderService
from sayso.core.ids import Ids
from sayso.core.refusal import Refusal
from sayso.core.strictjson import encode
from sayso.net.ownpipes import LineInput, LineOutput

__all__ = ("ProviderLines", "ProviderOverStdio")


class ProviderLines:
    """Serves lines of the provider profile over one service, onto `output`."""

    def __init__(
        self, service: ProviderService, output: LineOutput, *, ids: Ids, bounds: EndpointBounds = USUAL
    ) -> None:
        self._exchange = Exchange(service, ids, bounds.inferences)
        self._output = output
        self._ids = ids
        self._bounds = bounds
        self._begun = 0
        self._changed = anyio.Event()

    async def serve(self, line: EnvelopeLine, tasks: TaskGroup) -> None:
        """One request: answered, or begun as an inference that goes on by itself."""
        if line.value.get("type") == CREATE:
            if self._begun >= self._bounds.inferences:
                # Told where it was read: whoever sends on and on without reading has to wait with the next line.
                refused = self._exchange.refuse(CREATE, no_room(self._bounds.inferences), line.id)
                await self._output.write_line(write_envelope(refused))
                return
            self._begun += 1
            tasks.start_soon(self._infer, self._exchange.serve(line.value, line.id))
            return
        said = self._exchange.serve(line.value, line.id)
        async with aclosing(said):
            async for answer in said:
                data = write_envelope(answer)
                if len(data) > self._bounds.line:
                    refusal = Refusal(code="response_too_large", message=CODES["response_too_large"].meaning)
                    data = write_envelope(refuse_query(refusal, line.id, self._ids))
                await self._output.write_line(data)

    async def finish(self, end: StdioEnd, stop: anyio.Event) -> StdioEnd:
        """Returns when every accepted inference is settled, or time is over, which no host may take for a clean end."""
        if end.is_clean and not stop.is_set() and not self._output.broken.is_set():
            with anyio.move_on_after(self._bounds.finish):
                await self._settled(stop)
        await self._exchange.close()
        with anyio.move_on_after(self._bounds.stage):
            await self._settled(None)
        if self._begun and end.is_clean and not self._output.broken.is_set():
            return StdioEnd(StdioEnding.STALLED, f"{self._begun} inferences did not settle")
        return end

    async def _settled(self, stop: anyio.Event | None) -> None:
        """Returns when nothing is under way, or once `stop` is set."""
        async with anyio.create_task_group() as tasks:
            if stop is not None:
                tasks.start_soon(_cancel_when, stop, tasks.cancel_scope)
            while self._begun:
                await self._changed.wait()
            tasks.cancel_scope.cancel()

    async def _infer(self, said: AsyncGenerator[Said]) -> None:
        try:
            async with aclosing(said):
                async for envelope in said:
                    data, is_last = self._fitting(envelope)
                    if not await self._output.write_line(data) or is_last:
                        return  # nobody reads it, or it cannot be told: the vendor is let go
        finally:
            self._begun -= 1
            changed, self._changed = self._changed, anyio.Event()
            changed.set()

    def _fitting(self, envelope: Said) -> tuple[bytes, bool]:
        """The line. One over the bound is told without its snapshot; where that does not help, the inference fails."""
        data = write_envelope(envelope)
        if len(data) <= self._bounds.line or not isinstance(envelope, ProviderEnvelope):
            return data, False
        if isinstance(envelope.payload, PartDelta | PartEnded) and envelope.payload.snapshot is not UNSET:
            bare = msgspec.structs.replace(envelope.payload, snapshot=UNSET)
            return self._fitting(msgspec.structs.replace(envelope, payload=bare))
        error = ProviderError(code="resource_exhausted", message=f"a line here has at most {self._bounds.line} bytes")
        failed: ProviderEnvelope[Wire] = ProviderEnvelope(
            type="inference.failed",
            id=envelope.id,
            inference_id=envelope.inference_id,
            sequence=envelope.sequence,
            payload=InferenceFailed(error=error),
        )
        return write_envelope(failed), True


class ProviderOverStdio(Connection):
    """An endpoint of the provider profile alone: `serve` runs it to its end."""

    def __init__(
        self,
        service: ProviderService,
        lines: LineInput,
        output: LineOutput,
        *,
        ids: Ids,
        bounds: EndpointBounds = USUAL,
    ) -> None:
        super().__init__(lines, output, bounds)
        self._service = service
        self._ids = ids
        self._half = ProviderLines(service, output, ids=ids, bounds=bounds)

    async def _serve(self, line: EnvelopeLine | ControlLine, tasks: TaskGroup) -> None:
        if isinstance(line, EnvelopeLine):
            await self._half.serve(line, tasks)
        elif line.control == "specimen" and line.id is not None:
            shown = [each async for each in specimens(self._service, self._ids)]
            accepted = SpecimenAccepted(id=line.id, types=tuple(each.type for each in shown))
            for data in (encode(accepted), *map(write_envelope, shown)):
                await self._output.write_line(data)
        else:
            error = ReplayError(
                id=line.id or UNSET,
                code="unsupported_control",
                message="this endpoint knows the control `specimen` alone",
            )
            await self._output.write_line(encode(error))

    async def _finish(self, end: StdioEnd) -> StdioEnd:
        return await self._half.finish(end, self._stop)


async def _cancel_when(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
