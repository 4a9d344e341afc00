"""A host of a provider endpoint over real pipes, and what it heard, sorted by inference and judged."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from sayso.control.endpoint.connection import USUAL, EndpointBounds
from sayso.control.endpoint.providers import ProviderOverStdio
from sayso.control.protocol.envelope import ProviderEnvelope, convert_provider_envelope, write_envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.provider.contract import ProviderService
from sayso.control.provider.machine import Inference, observe
from sayso.core.ids import SystemIds
from sayso.net.ownpipes import LineInput, LineOutput
from tests.control.endpoint.host import PATIENCE, Host

Line = dict[str, Any]


class ProviderHost(Host):
    """Speaks the provider profile. `input` is the endpoint's end of what the host writes."""

    input: LineInput

    def tell(self, *requests: ProviderEnvelope[Any]) -> None:
        for request in requests:
            self.send(write_envelope(request))

    async def answer_to(self, request: ProviderEnvelope[Any]) -> Line:
        self.tell(request)
        return await self.until(lambda line: line.get("in_reply_to") == request.id)

    async def event_of(self, inference_id: str, type_: str) -> Line:
        return await self.until(lambda line: line.get("inference_id") == inference_id and line.get("type") == type_)


def inferences(lines: Iterable[Line], *requests: ProviderEnvelope[Any]) -> dict[str, list[ProviderEnvelope[Wire]]]:
    """Each request's inference, which has to be whole, by the machine of the profile; by the request's id."""
    envelopes = [convert_provider_envelope(line) for line in lines if "protocol" in line]
    found = {}
    for request in requests:
        (created,) = [each for each in envelopes if each.in_reply_to == request.id]
        own = [created] + [
            each for each in envelopes if created.inference_id and each.inference_id == created.inference_id
            and each.sequence
        ]  # fmt: skip
        state = Inference(request_id=request.id)
        for envelope in own:
            state = observe(state, envelope)
        assert state.is_settled, json.dumps([each.type for each in own])
        found[request.id] = own
    return found


@asynccontextmanager
async def provider_host(service: ProviderService, bounds: EndpointBounds = USUAL) -> AsyncIterator[ProviderHost]:
    """A host of a provider endpoint, which is over when the block is."""
    to_endpoint, from_endpoint = os.pipe(), os.pipe()
    host = ProviderHost(to_endpoint[1], from_endpoint[0])
    lines, output = LineInput(to_endpoint[0], bounds.line), LineOutput(from_endpoint[1])
    host.input = lines

    async def serve() -> None:
        host.end = await ProviderOverStdio(service, lines, output, ids=SystemIds(), bounds=bounds).serve(host.stop)
        os.close(from_endpoint[1])
        host.ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        try:
            yield host
        finally:
            host.hang_up()
            host.stop.set()
            with anyio.CancelScope(shield=True), anyio.move_on_after(PATIENCE):
                await host.ended.wait()
            host.stop_reading()
            os.close(to_endpoint[0])
            tasks.cancel_scope.cancel()
