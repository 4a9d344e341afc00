"""One session of a hub, for whoever works with one: the client's methods with the session's id left out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Unpack

from sayso.control.client.contract import RunControls, Said
from sayso.control.client.run import Answered, RunOutcome, run_to_terminal
from sayso.control.client.verbs import SessionClient
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested, PermissionResolveResponse, ToolsListResponse
from sayso.control.protocol.payloads.compaction import SessionCompactResponse
from sayso.control.protocol.payloads.interaction import (
    UserAnswer,
    UserInputCancelResponse,
    UserInputRequested,
    UserInputResolveResponse,
)
from sayso.control.protocol.payloads.models import ModelsResponse, ModelSwitchResponse
from sayso.control.protocol.payloads.run import RunCancelResponse
from sayso.control.protocol.payloads.scalars import Maybe, Wire
from sayso.control.protocol.payloads.session import MessageSubmitResponse, SessionState

__all__ = ("Session",)


class Session:
    """What a client can do with one session; `opened` is the state it was found in."""

    def __init__(self, client: SessionClient, session_id: str, opened: SessionState) -> None:
        self._client = client
        self.id = session_id
        self.opened = opened

    async def submit(
        self, said: Said, *, delivery: str = "auto", **controls: Unpack[RunControls]
    ) -> MessageSubmitResponse:
        """Submits a message; the answer names the run it was admitted as."""
        return await self._client.submit(self.id, said, delivery=delivery, **controls)

    async def run(
        self, said: Said, answer: Callable[[Envelope[PermissionRequested]], Awaitable[Answered]]
    ) -> RunOutcome:
        """Submits and returns at the run's terminal, each permission answered by `answer`."""
        return await run_to_terminal(self._client, self.id, said, answer)

    def events(self, *, run_id: Maybe[str] | None = None, after: int | None = None) -> AsyncGenerator[Envelope[Wire]]:
        """A run's events to its terminal, each once and in order; `run_id` as an admission gives it."""
        return self._client.events(self.id, run_id=run_id or None, after=after)

    def events_after(self, run_id: Maybe[str], sequence: int) -> AsyncGenerator[Envelope[Wire]]:
        """Resumes by hand, where a `DisconnectError` or an `OverflowError` says."""
        return self._client.events(self.id, run_id=run_id or None, after=sequence)

    async def resolve(
        self, asked: Envelope[PermissionRequested], *, granted: bool, reason: str | None = None
    ) -> PermissionResolveResponse:
        """Answers a permission."""
        return await self._client.resolve(asked, granted=granted, reason=reason)

    async def answer(
        self, asked: Envelope[UserInputRequested], answers: Sequence[UserAnswer]
    ) -> UserInputResolveResponse:
        """Answers questions that are no permission."""
        return await self._client.answer(asked, answers)

    async def decline(
        self, asked: Envelope[UserInputRequested], *, reason: str | None = None
    ) -> UserInputCancelResponse:
        """Says that questions will not be answered, where they allow it."""
        return await self._client.decline(asked, reason=reason)

    async def cancel(self, run_id: str, *, reason: str | None = None) -> RunCancelResponse:
        """Wishes a run to end."""
        return await self._client.cancel(self.id, run_id, reason=reason)

    async def compact(self, *, focus: str | None = None) -> SessionCompactResponse:
        """Has the history summarized, as a run of its own."""
        return await self._client.compact(self.id, focus=focus)

    async def state(self) -> SessionState:
        """The session's state now."""
        return await self._client.state(self.id)

    async def tools(self, *, allow_degraded: Sequence[str] = ()) -> ToolsListResponse:
        """The session's tools; `allow_degraded` names features that may be degraded."""
        return await self._client.tools(self.id, allow_degraded=allow_degraded)

    async def models(self, *, allow_degraded: Sequence[str] = ()) -> ModelsResponse:
        """The session's models."""
        return await self._client.models(self.id, allow_degraded=allow_degraded)

    async def switch_model(self, model_id: str) -> ModelSwitchResponse:
        """The model of later runs."""
        return await self._client.switch_model(self.id, model_id)

    async def close(self) -> None:
        """Closes it; it may have no live run."""
        await self._client.close(self.id)
