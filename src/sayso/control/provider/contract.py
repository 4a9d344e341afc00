"""The provider port: what the loop knows of a model (OAP-130..132, model-provider-core).

A provider is anything that answers `inference.create.request` with the profile's envelopes: the offline planner, a
scripted model in a test, a vendor's wire, a remote service. It is judged by `control.provider.machine`, so whoever
implements it writes through `control.provider.writer` and cannot get the order wrong.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from sayso.control.protocol.envelope import ProviderEnvelope
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

__all__ = ("SUMMARISES", "Provider", "ProviderService")

SUMMARISES = "dev.sayso.summarises"
"""The member of a system message's metadata that says what the inference is for: to summarise a conversation. Who
cannot do that refuses it by this; everybody else reads the message.
"""


class Provider(Protocol):
    """One model provider."""

    @property
    def id(self) -> str:
        """The name people and settings know it by."""
        ...

    def create(self, request: ProviderEnvelope[InferenceCreateRequest]) -> AsyncIterator[ProviderEnvelope[Wire]]:
        """Runs one inference.

        Yields the create response first, naming the request's envelope id in `in_reply_to`. A refused one ends the
        iterator. An accepted one is followed by `inference.started`, each part's started, deltas and ended, and then
        exactly one of `inference.completed` and `inference.failed`, numbered without gaps from 1 in `sequence`.
        Everything that can be decided from the request is refused at create. A failure of the model or of the way to it
        is `inference.failed`, never an exception; an exception that escapes is a bug of the provider, and the loop
        ends its run with `protocol_violation`. Closing the iterator early stops the work and releases what it holds.
        """
        ...

    async def cancel(
        self, request: ProviderEnvelope[InferenceCancelRequest]
    ) -> ProviderEnvelope[InferenceCancelResponse]:
        """Asks an inference to stop. The answer is intent: the iterator settles as `inference.completed` with stop
        reason `aborted`, unless another terminal was faster. An unknown or settled inference answers `accepted: false`.
        """
        ...


class ProviderService(Provider, Protocol):
    """The whole profile: several providers' models behind one port. `create` goes by the request's `model_ref`."""

    async def describe(self, request: ProviderEnvelope[DescribeRequest]) -> ProviderEnvelope[DescribeResponse]:
        """Which providers stand behind it; without network and without a credential."""
        ...

    async def models(self, request: ProviderEnvelope[ModelsListRequest]) -> ProviderEnvelope[ModelsListResponse]:
        """What is known of their models now. Nothing is fetched: a list that is old is given and renewed behind."""
        ...

    async def sync(self, request: ProviderEnvelope[InferenceSyncRequest]) -> ProviderEnvelope[InferenceSyncResponse]:
        """An inference as it stands; without a snapshot when it is unknown, settled or keeps none."""
        ...
