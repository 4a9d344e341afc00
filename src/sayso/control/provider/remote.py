"""A provider service somewhere else in the local one's place: over HTTP or over a pipe, the same port (OAP-138, 139).

What comes in is judged by the machine of the profile, so that a service which skips a number or contradicts itself is
never taken for a success. A stream that breaks settles here as failed, with the next number: whether the service went
on with the inference cannot be known, and there is no resume. A create that never got an answer is refused, with
nothing allocated. Discovery, cancel and sync have no such form: their failures are `PeerUnreachable` and `PeerRefused`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import anyio
import structlog

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.inference import (
    InferenceCancelRequest,
    InferenceCancelResponse,
    InferenceCompleted,
    InferenceCreateRequest,
    InferenceFailed,
    InferenceStarted,
    InferenceSyncRequest,
    InferenceSyncResponse,
    ProviderError,
    ProviderErrorCode,
)
from sayso.control.protocol.payloads.provider import (
    DescribeRequest,
    DescribeResponse,
    ModelsListRequest,
    ModelsListResponse,
)
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.provider.machine import Inference, Phase, assembly, observe
from sayso.control.provider.writer import InferenceWriter, write_cancel_response
from sayso.core.ids import Ids
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refusal, Refused

__all__ = ("Carriage", "RemoteProviders")

_CANCEL_SECONDS = 10.0
_log = structlog.get_logger(__name__)
T = TypeVar("T", bound=Wire)


class Carriage(Protocol):
    """What takes envelopes to a service and back. Nothing is sent twice."""

    @property
    def peer(self) -> str:
        """The service as people know it."""
        ...

    async def ask(self, request: ProviderEnvelope[Any]) -> ProviderEnvelope[Wire]:
        """One answer. Raises `PeerUnreachable` (none came, or none that is an envelope of this profile) and
        `PeerRefused` for an `error.response`.
        """
        ...

    def stream(self, request: ProviderEnvelope[Any]) -> AsyncGenerator[ProviderEnvelope[Wire]]:
        """A create's answer and what follows it, in the order it came; errors as `ask`. Closing it lets the inference
        go. It ends where the transport does; whether that is the end of the inference is the caller's to judge.
        """
        ...

    async def aclose(self) -> None:
        """Closes connections."""
        ...


class RemoteProviders:
    """Implements `provider.contract.ProviderService`. Use as `async with`, or `aclose` it."""

    def __init__(self, carriage: Carriage, *, ids: Ids) -> None:
        self._carriage = carriage
        self._ids = ids
        self._cuts: dict[str, _Cut] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes connections."""
        await self._carriage.aclose()

    @property
    def id(self) -> str:
        """The name people and settings know it by."""
        return self._carriage.peer

    async def describe(self, request: ProviderEnvelope[DescribeRequest]) -> ProviderEnvelope[DescribeResponse]:
        """Raises `PeerUnreachable`, `PeerRefused`; so do `models` and `sync`."""
        return await self._ask(request, DescribeResponse)

    async def models(self, request: ProviderEnvelope[ModelsListRequest]) -> ProviderEnvelope[ModelsListResponse]:
        return await self._ask(request, ModelsListResponse)

    async def sync(self, request: ProviderEnvelope[InferenceSyncRequest]) -> ProviderEnvelope[InferenceSyncResponse]:
        return await self._ask(request, InferenceSyncResponse)

    async def cancel(
        self, request: ProviderEnvelope[InferenceCancelRequest]
    ) -> ProviderEnvelope[InferenceCancelResponse]:
        """A service that does not answer is left: the inference settles here, as aborted."""
        try:
            with anyio.fail_after(_CANCEL_SECONDS):
                return await self._ask(request, InferenceCancelResponse)
        except (TimeoutError, PeerUnreachable, PeerRefused) as error:
            cut = self._cuts.get(request.inference_id or "")
            _log.warning("remote_cancel_unanswered", peer=self.id, error=type(error).__name__)
            if cut is not None:
                cut.make()
            return write_cancel_response(request, accepted=cut is not None, ids=self._ids)

    async def create(self, request: ProviderEnvelope[InferenceCreateRequest]) -> AsyncIterator[ProviderEnvelope[Wire]]:
        """As the service tells it. Refused at create `provider_unavailable` where no answer came; a stream that breaks,
        skips a number or contradicts itself is `inference.failed`.
        """
        following = _Following(request, self._ids, self._carriage.peer)
        cut = _Cut()
        try:
            async with aclosing(self._carriage.stream(request)) as envelopes:
                while not following.state.is_settled:
                    envelope = await cut.next_of(envelopes)
                    if cut.is_made:
                        break
                    if envelope is None:
                        raise PeerUnreachable(self.id, "its stream ended before the inference did")
                    following.hear(envelope)
                    self._cuts[following.state.inference_id or ""] = cut
                    yield envelope
            if cut.is_made:
                yield following.abort()
        except (PeerUnreachable, PeerRefused, Refused) as error:
            for envelope in following.break_off(error):
                yield envelope
        finally:
            self._cuts.pop(following.state.inference_id or "", None)

    async def _ask(self, request: ProviderEnvelope[Any], type_: type[T]) -> ProviderEnvelope[T]:
        answer = await self._carriage.ask(request)
        if answer.in_reply_to != request.id or not isinstance(answer.payload, type_):
            message = f"`{request.type}` was answered by `{answer.type}`"
            raise PeerRefused(self.id, Refusal(code="protocol_violation", message=message))
        if request.inference_id is not UNSET and answer.inference_id != request.inference_id:
            raise PeerRefused(self.id, Refusal(code="protocol_violation", message="the answer is of another inference"))
        return answer  # type: ignore[return-value]


class _Cut:
    """Leaves a stream that nobody ends, also while it is waited for."""

    def __init__(self) -> None:
        self.is_made = False
        self._scope: anyio.CancelScope | None = None

    def make(self) -> None:
        self.is_made = True
        if self._scope is not None:
            self._scope.cancel()

    async def next_of(self, envelopes: AsyncGenerator[ProviderEnvelope[Wire]]) -> ProviderEnvelope[Wire] | None:
        """The next envelope; None at the end of the stream, or once the cut is made."""
        with anyio.CancelScope() as self._scope:
            if not self.is_made:
                return await anext(envelopes, None)
        return None


class _Following:
    """One inference as the service tells it, and how it settles here when the service cannot."""

    def __init__(self, request: ProviderEnvelope[InferenceCreateRequest], ids: Ids, peer: str) -> None:
        self._request = request
        self._ids = ids
        self._peer = peer
        self.state = Inference(request_id=request.id)

    def hear(self, envelope: ProviderEnvelope[Wire]) -> None:
        """Raises `Refused` `protocol_violation`."""
        self.state = observe(self.state, envelope)

    def break_off(self, error: PeerUnreachable | PeerRefused | Refused) -> list[ProviderEnvelope[Wire]]:
        """What is told where the transport or the service fails; nothing behind a terminal."""
        if self.state.is_settled:
            return []
        failure = self._failure(error)
        if self.state.phase is Phase.ASKED:
            return [InferenceWriter(self._request, self._ids).refuse(failure.code, failure.message)]
        started = []
        if self.state.phase is Phase.ACCEPTED:
            started = [self._event("inference.started", InferenceStarted(model_ref=self._request.payload.model_ref))]
        return [*started, self._event("inference.failed", InferenceFailed(error=failure))]

    def abort(self) -> ProviderEnvelope[Wire]:
        """The terminal of an inference that was cancelled and left; what ended is in its message."""
        message = Message(role="assistant", content=assembly(self.state) or "")
        return self._event("inference.completed", InferenceCompleted(message=message, stop_reason="aborted"))

    def _failure(self, error: PeerUnreachable | PeerRefused | Refused) -> ProviderError:
        code: ProviderErrorCode = "provider_unavailable"
        reason: Maybe[str] | None = "transport"
        if not isinstance(error, PeerUnreachable):
            code, reason = "protocol_violation", error.refusal.reason or error.refusal.code
        # Not retriable: the service may have gone on with it.
        return ProviderError(code=code, message=str(error)[:500], retriable=False, details={"reason": reason})

    def _event(self, type_: str, payload: Wire) -> ProviderEnvelope[Wire]:
        envelope: ProviderEnvelope[Wire] = ProviderEnvelope(
            type=type_,
            id=self._ids.new("env"),
            inference_id=self.state.inference_id or UNSET,
            sequence=self.state.last + 1,
            payload=payload,
        )
        self.hear(envelope)
        return envelope
