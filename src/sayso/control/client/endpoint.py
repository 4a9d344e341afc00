"""A client of an endpoint over stdio: what `sayso serve agent --stdio` and every native endpoint speak (OAP-126..129).

Whoever enters it starts the endpoint; it lives as long as the block. Events are resumed unseen when the endpoint loses
a stream, and a gap is told.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from sayso.control.client.contract import OpenSettings
from sayso.control.client.errors import DisconnectError, OverflowError, ReplayGapError, ServerError  # noqa: A004
from sayso.control.client.pipe import BUDGET, EndpointPipe, RunEvents
from sayso.control.client.requests import ATTACHING, USER, open_request
from sayso.control.client.session import Session
from sayso.control.client.verbs import SessionClient
from sayso.control.endpoint.lines import ReplayError, ReplayGap
from sayso.control.protocol.envelope import AGENT_PROFILE, VERSION, Envelope
from sayso.control.protocol.payloads.action import ToolsListRequest, ToolsListResponse
from sayso.control.protocol.payloads.capabilities import (
    CapabilitiesRequest,
    CapabilitiesResponse,
    InitializeRequest,
    InitializeResponse,
    Participant,
)
from sayso.control.protocol.payloads.models import ModelsRequest, ModelsResponse
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import SessionState, SessionStateRequest
from sayso.core.ids import Ids, SystemIds
from sayso.core.refusal import PeerUnreachable, Refusal, Refused
from sayso.net.child import Program

__all__ = ("EndpointClient",)

T = TypeVar("T", bound=Wire)


class EndpointClient(SessionClient):
    """An endpoint of `program`. Use as `async with`; entering it agrees on version and profile.

    `budget` is how many seconds each answer may take. `strict_resume` tells of a lost stream instead of mending it.
    """

    def __init__(
        self,
        program: Program,
        *,
        ids: Ids | None = None,
        participant: str = USER,
        strict_resume: bool = False,
        record: Callable[[Envelope[Wire]], None] | None = None,
        budget: float = BUDGET,
    ) -> None:
        super().__init__(ids or SystemIds(), participant)
        self.pipe = self._pipe = EndpointPipe(program, ids=self._ids, record=record, budget=budget)
        self._is_strict = strict_resume
        self.participant = participant

    async def __aenter__(self) -> Self:
        await self._pipe.__aenter__()
        try:
            await self.initialize()
        except BaseException:
            await self._pipe.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pipe.__aexit__(kind, error, trace)

    async def exchange(self, request: Envelope[Wire], payload: type[T]) -> T:
        return (await self._pipe.exchange(request, payload)).payload

    # --- the endpoint ---

    async def initialize(self) -> InitializeResponse:
        """Agrees on version and profile; raises `ServerError` `unsupported_version`."""
        payload = InitializeRequest(
            protocol_versions=(VERSION,), profiles=(AGENT_PROFILE,), participant=Participant(id=self._participant)
        )
        return await self.exchange(self._asking("protocol.initialize.request", payload), InitializeResponse)

    async def capabilities(self) -> CapabilitiesResponse:
        """What it supports now."""
        return (await self._probe()).payload

    async def _probe(self) -> Envelope[CapabilitiesResponse]:
        return await self._pipe.exchange(
            self._asking("capabilities.request", CapabilitiesRequest()), CapabilitiesResponse
        )

    async def open(self, **settings: Unpack[OpenSettings]) -> SessionState:
        """Opens a session; the endpoint names it unless `session_id` does."""
        revision = None
        if any(name in settings for name in ATTACHING):
            revision = (await self._probe()).capability_revision or None
        return await self.exchange(open_request(self._ids, revision, **settings), SessionState)

    async def start(self, **settings: Unpack[OpenSettings]) -> Session:
        """Opens a session, to be worked with as one."""
        opened = await self.open(**settings)
        return Session(self, opened.session_id, opened)

    # --- a session ---

    async def events(
        self, session_id: str, *, run_id: str | None = None, after: int | None = None
    ) -> AsyncGenerator[Envelope[Wire]]:
        """A run's events behind `after`, to its terminal. One reader a run; what was read is replayed when asked again.

        Raises `ReplayGapError`, `DisconnectError` when the endpoint ended, and under strict resume `OverflowError`.
        """
        if run_id is None:
            state = await self.state(session_id)
            run_id = state.active_run_id or None
            if run_id is None:
                raise Refused.because("no_run_to_resume", "the session has no run under way")
        run = self._pipe.run(run_id)
        run.readers += 1
        try:
            async for envelope in self._read(session_id, run_id, run, after or 0):
                yield envelope
        finally:
            run.readers -= 1

    async def _read(
        self, session_id: str, run_id: str, run: RunEvents, position: int
    ) -> AsyncGenerator[Envelope[Wire]]:
        if run.start != position:
            await self._replay(session_id, run_id, position)
        while position != run.ends_at:
            envelope = run.take()
            if envelope is not None:
                position += 1
                yield envelope
            elif run.is_lost:
                if self._is_strict and position:
                    raise OverflowError(self._pipe.peer, run_id, position)
                await self._replay(session_id, run_id, position)
            else:
                self._verify_open(run_id, position)
                await run.more.wait()

    async def _replay(self, session_id: str, run_id: str, after: int) -> None:
        answer = await self._pipe.replay(session_id, run_id, after)
        if isinstance(answer, ReplayGap):
            raise ReplayGapError(self._pipe.peer, run_id, answer.oldest_available, answer.latest_available)
        if isinstance(answer, ReplayError):
            raise ServerError(self._pipe.peer, Refusal(code=answer.code, message=answer.message))

    def _verify_open(self, run_id: str, position: int) -> None:
        try:
            self._pipe.verify_open()
        except PeerUnreachable as gone:
            raise DisconnectError(self._pipe.peer, gone.why, run_id, position) from None

    async def state(self, session_id: str) -> SessionState:
        payload = SessionStateRequest(session_id=session_id)
        return await self.exchange(self._asking("session.state.request", payload, session_id), SessionState)

    async def tools(self, session_id: str, *, allow_degraded: Sequence[str] = ()) -> ToolsListResponse:
        payload = ToolsListRequest(session_id=session_id, allow_degraded_features=tuple(allow_degraded) or UNSET)
        return await self.exchange(self._asking("action.tools.list.request", payload, session_id), ToolsListResponse)

    async def models(self, session_id: str, *, allow_degraded: Sequence[str] = ()) -> ModelsResponse:
        payload = ModelsRequest(session_id=session_id, allow_degraded_features=tuple(allow_degraded) or UNSET)
        return await self.exchange(self._asking("models.request", payload, session_id), ModelsResponse)

    async def close(self, session_id: str) -> None:
        """Refused: over a pipe a session ends with the endpoint."""
        raise Refused.because("unsupported_feature", "a session of an endpoint ends with its pipe", place=session_id)

    def _asking(self, name: str, payload: Wire, session_id: str | None = None) -> Envelope[Any]:
        return Envelope(type=name, id=self._ids.new("req"), payload=payload, session_id=session_id or UNSET)
