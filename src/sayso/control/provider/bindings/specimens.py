"""One sample of every envelope type a provider endpoint emits, out of the code that emits it in earnest (OAP-135).

A model that says a little of everything is run through the same writer, recorder and exchange as any other; nothing is
written out here but what it says. Nothing is asked of a vendor, and no inference exists afterwards. Credential grants
are left out, as the binding says.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

from sayso.control.protocol.envelope import ProviderEnvelope, write_envelope
from sayso.control.protocol.payloads.content import Message
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
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.provider.bindings.exchange import Exchange, Said
from sayso.control.provider.contract import ProviderService
from sayso.control.provider.planner.descriptor import PROVIDER_ID
from sayso.control.provider.recording import Recording
from sayso.control.provider.writer import InferenceWriter, write_cancel_response
from sayso.core import strictjson
from sayso.core.ids import Ids

__all__ = ("SpecimenAccepted", "specimens")

_COMPLETES, _FAILS = "specimen/completes", "specimen/fails"


class SpecimenAccepted(Wire, frozen=True, kw_only=True):
    """The samples of these types follow, in this order."""

    control: Literal["specimen.accepted"] = "specimen.accepted"
    id: str
    types: tuple[str, ...]


async def specimens(service: ProviderService, ids: Ids) -> AsyncIterator[Said]:
    """The samples. `service` describes itself and lists the planner's models; inferences are the sample model's."""
    sampling = _Sampling(Exchange(_Specimens(service, ids), ids), ids)
    for type_, payload in (
        ("provider.describe.request", DescribeRequest()),
        ("provider.models.list.request", ModelsListRequest(provider_id=PROVIDER_ID)),
        (_CREATE, _request(_COMPLETES)),
        ("inference.cancel.request", InferenceCancelRequest()),
        (_CREATE, _request(_FAILS)),
    ):
        async for said in sampling.ask(type_, payload):
            yield said


class _Sampling:
    """Asks, and keeps what is the first of its type; in the middle of an inference it asks for the message so far."""

    def __init__(self, exchange: Exchange, ids: Ids) -> None:
        self._exchange = exchange
        self._ids = ids
        self._seen: set[str] = set()
        self._name: str | None = None

    async def ask(self, type_: str, payload: Wire) -> AsyncIterator[Said]:
        is_scoped = type_ in ("inference.cancel.request", "inference.sync.request")
        request: ProviderEnvelope[Wire] = ProviderEnvelope(
            type=type_, id=self._ids.new("req"), inference_id=(is_scoped and self._name) or UNSET, payload=payload
        )
        value = strictjson.parse(write_envelope(request))
        async for said in self._exchange.serve(value, request.id):  # type: ignore[arg-type]
            if said.type in self._seen:
                continue
            self._seen.add(said.type)
            self._name = getattr(said, "inference_id", None) or self._name
            yield said
            if said.type == "inference.part.delta":
                async for synced in self.ask("inference.sync.request", InferenceSyncRequest()):
                    yield synced


_CREATE = "inference.create.request"


def _request(model: str) -> InferenceCreateRequest:
    messages = (Message(role="user", content="Show what you emit."),)
    return InferenceCreateRequest(model_ref=model, messages=messages, include_snapshot="every_delta")


class _SampleModel:
    """A model of one call. Implements `provider.contract.Provider`."""

    id = "specimen"

    def __init__(self, ids: Ids) -> None:
        self._ids = ids

    async def create(self, request: ProviderEnvelope[InferenceCreateRequest]) -> AsyncIterator[ProviderEnvelope[Wire]]:
        writer = InferenceWriter(request, self._ids)
        yield writer.accept()
        yield writer.start()
        if request.payload.model_ref == _FAILS:
            yield writer.fail("provider_unavailable", "a sample of a failure", retriable=True)
            return
        for envelope in writer.tool_call("look", {"where": "here"}):
            yield envelope
        yield writer.complete()

    async def cancel(
        self, request: ProviderEnvelope[InferenceCancelRequest]
    ) -> ProviderEnvelope[InferenceCancelResponse]:
        return write_cancel_response(request, accepted=False, ids=self._ids)


class _Specimens:
    """A service whose inferences are the sample model's. Implements `provider.contract.ProviderService`."""

    id = "specimen"

    def __init__(self, service: ProviderService, ids: Ids) -> None:
        self._service = service
        self._model = _SampleModel(ids)
        self._recording = Recording(ids)

    async def describe(self, request: ProviderEnvelope[DescribeRequest]) -> ProviderEnvelope[DescribeResponse]:
        return await self._service.describe(request)

    async def models(self, request: ProviderEnvelope[ModelsListRequest]) -> ProviderEnvelope[ModelsListResponse]:
        return await self._service.models(request)

    def create(self, request: ProviderEnvelope[InferenceCreateRequest]) -> AsyncIterator[ProviderEnvelope[Wire]]:
        return self._recording.create(self._model, request)

    async def cancel(
        self, request: ProviderEnvelope[InferenceCancelRequest]
    ) -> ProviderEnvelope[InferenceCancelResponse]:
        return await self._recording.cancel(request)

    async def sync(self, request: ProviderEnvelope[InferenceSyncRequest]) -> ProviderEnvelope[InferenceSyncResponse]:
        return await self._recording.sync(request)
