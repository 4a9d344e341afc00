"""A scripted model as a whole service, snapshots included."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from sayso.control.protocol.envelope import VERSION, ProviderEnvelope
from sayso.control.protocol.payloads.inference import (
    InferenceCancelRequest,
    InferenceCancelResponse,
    InferenceCreateRequest,
    InferenceSyncRequest,
    InferenceSyncResponse,
)
from sayso.control.protocol.payloads.provider import (
    DescribeRequest,
    DescribeResponse,
    ModelsListRequest,
    ModelsListResponse,
)
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.provider.recording import Recording
from sayso.core.ids import SystemIds
from sayso.testing.provider import ScriptedProvider


class _Scripted:
    def __init__(self, model: ScriptedProvider) -> None:
        self.id = model.id
        self._model = model
        self._ids = SystemIds()
        self._recording = Recording(self._ids)

    async def describe(self, request: ProviderEnvelope[DescribeRequest]) -> ProviderEnvelope[DescribeResponse]:
        return self._answer(request, DescribeResponse(providers=(), protocol_versions=(VERSION,)))

    async def models(self, request: ProviderEnvelope[ModelsListRequest]) -> ProviderEnvelope[ModelsListResponse]:
        return self._answer(request, ModelsListResponse(models=()))

    def create(self, request: ProviderEnvelope[InferenceCreateRequest]) -> AsyncIterator[ProviderEnvelope[Wire]]:
        return self._recording.create(self._model, request)

    async def cancel(
        self, request: ProviderEnvelope[InferenceCancelRequest]
    ) -> ProviderEnvelope[InferenceCancelResponse]:
        return await self._recording.cancel(request)

    async def sync(self, request: ProviderEnvelope[InferenceSyncRequest]) -> ProviderEnvelope[InferenceSyncResponse]:
        return await self._recording.sync(request)

    def _answer(self, request: ProviderEnvelope[Any], payload: Any) -> ProviderEnvelope[Any]:
        type_ = request.type.replace(".request", ".response")
        return ProviderEnvelope(
            type=type_, id=self._ids.new("env"), in_reply_to=request.id, capability_revision="r1", payload=payload
        )


def service_of(model: ScriptedProvider) -> _Scripted:
    return _Scripted(model)
