"""The inferences under way behind one service: who makes each, and what has come of it, for cancel and sync (OAP-130).

Whatever makes an inference (a vendor's wire, the planner), its envelopes pass here once, and their snapshots with them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.inference import (
    InferenceCancelRequest,
    InferenceCancelResponse,
    InferenceCreateRequest,
    InferenceSyncRequest,
    InferenceSyncResponse,
)
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.provider.contract import Provider
from sayso.control.provider.snapshots import Recorder
from sayso.control.provider.writer import write_cancel_response
from sayso.core.ids import Ids

__all__ = ("TERMINALS", "Recording")

TERMINALS = ("inference.completed", "inference.failed")


@dataclass(frozen=True, slots=True)
class _Live:
    provider: Provider
    recorder: Recorder


class Recording:
    """One service's inferences."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._live: dict[str, _Live] = {}

    async def create(
        self, provider: Provider, request: ProviderEnvelope[InferenceCreateRequest]
    ) -> AsyncIterator[ProviderEnvelope[Wire]]:
        """The inference as `provider` makes it, with the snapshots the request asks for."""
        recorder = Recorder(request.payload.include_snapshot or "never")
        name = ""
        try:
            async with aclosing(provider.create(request)) as envelopes:  # type: ignore[type-var]
                async for envelope in envelopes:
                    if not name and envelope.inference_id is not UNSET:
                        name = envelope.inference_id
                        self._live[name] = _Live(provider, recorder)
                    if envelope.type in TERMINALS:
                        self._live.pop(name, None)
                    yield recorder.hear(envelope)
        finally:
            self._live.pop(name, None)

    async def cancel(
        self, request: ProviderEnvelope[InferenceCancelRequest]
    ) -> ProviderEnvelope[InferenceCancelResponse]:
        """Intent only; one that is not under way answers `accepted: false`."""
        live = self._live.get(request.inference_id or "")
        if live is None:
            return write_cancel_response(request, accepted=False, ids=self._ids)
        return await live.provider.cancel(request)

    async def sync(self, request: ProviderEnvelope[InferenceSyncRequest]) -> ProviderEnvelope[InferenceSyncResponse]:
        """The message so far; none of one that is not under way."""
        live = self._live.get(request.inference_id or "")
        return ProviderEnvelope(
            type="inference.sync.response",
            id=self._ids.new("env"),
            in_reply_to=request.id,
            inference_id=request.inference_id,
            payload=InferenceSyncResponse(snapshot=UNSET if live is None else live.recorder.snapshot()),
        )
