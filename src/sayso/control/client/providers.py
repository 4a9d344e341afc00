"""Models asked directly, without a loop: complete, stream, and which there are (OAP-200)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypedDict, TypeVar, Unpack

from sayso.control.client.errors import ServerError
from sayso.control.client.retrying import Retrying
from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import Message, Usage, text_of
from sayso.control.protocol.payloads.inference import (
    InferenceCompleted,
    InferenceCreateRequest,
    InferenceCreateResponse,
    InferenceFailed,
    InferenceTool,
    ProviderError,
    ReasoningRequest,
    SnapshotPolicy,
    StopReason,
)
from sayso.control.protocol.payloads.provider import (
    DescribeRequest,
    DescribeResponse,
    ModelEntry,
    ModelsListRequest,
)
from sayso.control.protocol.payloads.scalars import UNSET, Json, JsonObject, Maybe, Wire
from sayso.control.provider.contract import ProviderService
from sayso.core.ids import Ids
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refusal

__all__ = ("Completion", "InferenceControls", "Prompt", "ProviderClient")

T = TypeVar("T", bound=Wire)
Prompt = str | Message | Sequence[Message]
"""What a model is asked: plain text, one message, or a conversation."""


class InferenceControls(TypedDict, total=False):
    """What an inference may be asked for (`inference.create.request`)."""

    tools: Sequence[InferenceTool]
    tool_choice: Json
    max_output_tokens: int
    temperature: float
    top_p: float
    output_schema: Json
    reasoning: ReasoningRequest
    include_snapshot: SnapshotPolicy
    allow_degraded_features: Sequence[str]
    headers: Mapping[str, str]
    metadata: JsonObject


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's whole answer."""

    message: Message
    stop_reason: StopReason
    usage: Maybe[Usage]

    @property
    def text(self) -> str:
        """What it says, without its reasoning and its calls."""
        return text_of(self.message.content)


class ProviderClient:
    """The provider half of an SDK client. Every method raises `ServerError` with the profile's code, and
    `PeerUnreachable` where no answer came.
    """

    def __init__(self, service: ProviderService, ids: Ids, retrying: Retrying) -> None:
        self._service = service
        self._ids = ids
        self._retrying = retrying

    async def describe(self) -> DescribeResponse:
        """Which providers there are."""
        request = ProviderEnvelope(type="provider.describe.request", id=self._ids.new("req"), payload=DescribeRequest())
        return (await self._refusing(self._service.describe(request))).payload

    async def models(self, provider_id: str | None = None) -> tuple[ModelEntry, ...]:
        """Which models are known now, of one provider or of all; the offline planner stands last."""
        payload = ModelsListRequest(provider_id=provider_id or UNSET)
        request = ProviderEnvelope(type="provider.models.list.request", id=self._ids.new("req"), payload=payload)
        return (await self._refusing(self._service.models(request))).payload.models

    async def _refusing(self, answer: Awaitable[ProviderEnvelope[T]]) -> ProviderEnvelope[T]:
        try:
            return await answer
        except PeerRefused as refused:
            raise ServerError(refused.peer, refused.refusal) from None

    async def complete(self, model: str, said: Prompt, **controls: Unpack[InferenceControls]) -> Completion:
        """One inference, whole."""
        async with aclosing(self.stream(model, said, **controls)) as events:
            async for event in events:
                if isinstance(event.payload, InferenceCompleted):
                    done = event.payload
                    return Completion(done.message, done.stop_reason, done.usage)
        raise PeerUnreachable(self._service.id, "the inference ended without its terminal")

    async def stream(
        self, model: str, said: Prompt, **controls: Unpack[InferenceControls]
    ) -> AsyncGenerator[ProviderEnvelope[Wire]]:
        """One inference as it comes, from `inference.started` to `inference.completed`. Leaving it cancels it."""
        may_retry = self._retrying.is_possible
        while True:
            failed: ProviderError | None = None
            held: ProviderEnvelope[Wire] | None = None
            has_begun = False
            async with aclosing(self._events(model, said, controls)) as events:
                async for event in events:
                    failed = _failure_of(event)
                    if failed is not None:
                        break
                    if isinstance(event.payload, InferenceCreateResponse):
                        continue
                    if may_retry and not has_begun and event.type == "inference.started":
                        held = event  # told with what follows: should that be a refused credential, it was not this one
                        continue
                    if held is not None:
                        yield held
                    held, has_begun = None, True
                    yield event
            if failed is None:
                return
            # Only a failure of the credential, before anything was told, and once.
            if not may_retry or has_begun or not await self._retrying.sign_in(failed.code, model):
                refusal = Refusal(code=failed.code, message=failed.message, details=failed.details or {})
                raise ServerError(self._service.id, refusal)
            may_retry = False

    async def _events(
        self, model: str, said: Prompt, controls: InferenceControls
    ) -> AsyncGenerator[ProviderEnvelope[Wire]]:
        members = {name: tuple(value) if name in _TUPLES else value for name, value in controls.items()}  # type: ignore[arg-type]
        payload = InferenceCreateRequest(model_ref=model, messages=_messages(said), **members)  # type: ignore[arg-type]
        request = ProviderEnvelope(type="inference.create.request", id=self._ids.new("req"), payload=payload)
        async with aclosing(self._service.create(request)) as events:  # type: ignore[type-var]
            async for event in events:
                yield event


_TUPLES = ("tools", "allow_degraded_features")


def _messages(said: Prompt) -> tuple[Message, ...]:
    if isinstance(said, str):
        return (Message(role="user", content=said),)
    return (said,) if isinstance(said, Message) else tuple(said)


def _failure_of(event: ProviderEnvelope[Wire]) -> ProviderError | None:
    payload = event.payload
    if isinstance(payload, InferenceFailed):
        return payload.error
    if isinstance(payload, InferenceCreateResponse) and payload.error is not UNSET:
        return payload.error
    return None
