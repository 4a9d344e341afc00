"""What every client says the same way, whatever carries it: one method for each thing a session is asked.

A client is how one request is exchanged for its answer (`exchange`), how a run's events are read, and how what has no
envelope on its transport is asked. Every method raises what `exchange` does: `ServerError` with the other side's code,
`PeerUnreachable` when no answer came; and `Refused` for what this side can see is wrong, before anything is sent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from typing import TypeVar, Unpack

from sayso.control.client.contract import RunControls, Said
from sayso.control.client.requests import (
    USER,
    answer_request,
    attach_request,
    call_request,
    cancel_request,
    compact_request,
    decline_request,
    resolve_request,
    submit_request,
    switch_request,
    take_request,
)
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import (
    ActionCallRequested,
    ActionCallResolveResponse,
    PermissionRequested,
    PermissionResolveResponse,
    ToolsListResponse,
)
from sayso.control.protocol.payloads.compaction import SessionCompactResponse
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.interaction import (
    UserAnswer,
    UserInputCancelResponse,
    UserInputRequested,
    UserInputResolveResponse,
)
from sayso.control.protocol.payloads.models import ModelsResponse, ModelSwitchResponse, ProviderAttachResponse
from sayso.control.protocol.payloads.run import RunCancelResponse
from sayso.control.protocol.payloads.scalars import Json, Wire
from sayso.control.protocol.payloads.session import MessageSubmitResponse, SessionState
from sayso.core.ids import Ids

__all__ = ("SessionClient",)

T = TypeVar("T", bound=Wire)


class SessionClient(ABC):
    """`participant` is who answers interactions."""

    def __init__(self, ids: Ids, participant: str = USER) -> None:
        self._ids = ids
        self._participant = participant

    @abstractmethod
    async def exchange(self, request: Envelope[Wire], payload: type[T]) -> T:
        """The answer to a request that names its session."""

    @abstractmethod
    def events(
        self, session_id: str, *, run_id: str | None = None, after: int | None = None
    ) -> AsyncGenerator[Envelope[Wire]]:
        """A run's events, each once and in order, to its terminal."""

    @abstractmethod
    async def state(self, session_id: str) -> SessionState:
        """The session's state now."""

    @abstractmethod
    async def tools(self, session_id: str, *, allow_degraded: Sequence[str] = ()) -> ToolsListResponse:
        """The session's tools; `allow_degraded` names features that may be degraded."""

    @abstractmethod
    async def models(self, session_id: str, *, allow_degraded: Sequence[str] = ()) -> ModelsResponse:
        """The session's models; an id it leaves out is refused `model_not_found`."""

    @abstractmethod
    async def close(self, session_id: str) -> None:
        """Closes a session that has no live run."""

    async def submit(
        self, session_id: str, said: Said, *, delivery: str = "auto", **controls: Unpack[RunControls]
    ) -> MessageSubmitResponse:
        """Submits a message; the answer names the run it was admitted as."""
        request = submit_request(self._ids, session_id, said, delivery, **controls)
        return await self.exchange(request, MessageSubmitResponse)

    async def compact(
        self, session_id: str, *, delivery: str = "auto", focus: str | None = None, go_on: bool = False
    ) -> SessionCompactResponse:
        """Has the history summarized, as a run of its own; `go_on` asks for a turn behind it."""
        request = compact_request(self._ids, session_id, delivery=delivery, focus=focus, go_on=go_on)
        return await self.exchange(request, SessionCompactResponse)

    async def cancel(self, session_id: str, run_id: str, *, reason: str | None = None) -> RunCancelResponse:
        """Wishes a run to end; the answer is intent, the run's terminal tells what became of it."""
        return await self.exchange(cancel_request(self._ids, session_id, run_id, reason), RunCancelResponse)

    async def switch_model(self, session_id: str, model_id: str) -> ModelSwitchResponse:
        """The model of later runs; one under way keeps its own."""
        return await self.exchange(switch_request(self._ids, session_id, model_id), ModelSwitchResponse)

    async def attach_provider(
        self, session_id: str, name: str, provider_id: str, *, allow_degraded: Sequence[str] = ()
    ) -> ProviderAttachResponse:
        """A provider's models for later runs, under a name of the client's."""
        request = attach_request(self._ids, session_id, name, provider_id, allow_degraded)
        return await self.exchange(request, ProviderAttachResponse)

    # --- interactions ---

    async def resolve(
        self,
        asked: Envelope[PermissionRequested],
        *,
        granted: bool,
        signed: str | None = None,
        reason: str | None = None,
    ) -> PermissionResolveResponse:
        """Answers a permission; `signed` is the signed document where one was asked for."""
        request = resolve_request(
            self._ids, asked, granted=granted, signed=signed, reason=reason, participant=self._participant
        )
        return await self.exchange(request, PermissionResolveResponse)

    async def answer(
        self, asked: Envelope[UserInputRequested], answers: Sequence[UserAnswer]
    ) -> UserInputResolveResponse:
        """Answers questions that are no permission."""
        request = answer_request(self._ids, asked, answers, self._participant)
        return await self.exchange(request, UserInputResolveResponse)

    async def decline(
        self, asked: Envelope[UserInputRequested], *, reason: str | None = None
    ) -> UserInputCancelResponse:
        """Says that questions will not be answered, where they allow it."""
        request = decline_request(self._ids, asked, reason, self._participant)
        return await self.exchange(request, UserInputCancelResponse)

    async def take_call(self, asked: Envelope[ActionCallRequested]) -> ActionCallResolveResponse:
        """Says that this client has begun to run its tool."""
        return await self.exchange(take_request(self._ids, asked, self._participant), ActionCallResolveResponse)

    async def end_call(self, asked: Envelope[ActionCallRequested], result: Json) -> ActionCallResolveResponse:
        """Gives a tool's result. What cannot count is answered with `accepted` false and the reason."""
        request = call_request(self._ids, asked, {"result": result}, self._participant)
        return await self.exchange(request, ActionCallResolveResponse)

    async def fail_call(self, asked: Envelope[ActionCallRequested], error: ProtocolError) -> ActionCallResolveResponse:
        """Says why a tool failed."""
        request = call_request(self._ids, asked, {"error": error}, self._participant)
        return await self.exchange(request, ActionCallResolveResponse)
