"""An adapter that does what a test tells it, right or wrong: the peer a hub must not be harmed by."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from anyio.abc import TaskGroup

from sayso.control.adapters.contract import Descriptor
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionResolveRequest, PermissionResolveResponse
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse, Endpoint
from sayso.control.protocol.payloads.run import RunCancelRequest, RunCancelResponse
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import (
    MessageSubmitRequest,
    MessageSubmitResponse,
    SessionOpenRequest,
    SessionState,
)
from sayso.core.refusal import Refused

__all__ = ("ScriptedAdapter", "ScriptedSession")

Event = Envelope[Wire] | Exception | Callable[[], Awaitable[None]]


class ScriptedSession:
    """Run `r1`, `r2`, ... tell the events of the script's first, second, ... list. An exception in a list is raised, a
    function is awaited.
    """

    def __init__(self, session_id: str, script: Sequence[Sequence[Event]]) -> None:
        self._id = session_id
        self._script = script
        self.submitted = 0
        self.asked: list[str] = []
        self.fault: Exception | None = None
        self.before_answer: Callable[[], Awaitable[None]] | None = None
        self.is_closed = False

    @property
    def id(self) -> str:
        return self._id

    async def submit(self, request: Envelope[MessageSubmitRequest]) -> MessageSubmitResponse:
        await self._serve(request)
        self.submitted += 1
        return MessageSubmitResponse(
            session_id=self._id,
            accepted=True,
            submission_id=f"sub{self.submitted}",
            requested_delivery=request.payload.delivery,
            effective_delivery="start",
            admission="started",
            run_id=f"r{self.submitted}",
            status="running",
        )

    async def events(self, run_id: str) -> AsyncIterator[Envelope[Wire]]:
        for event in self._script[int(run_id[1:]) - 1]:
            if isinstance(event, Exception):
                raise event
            if isinstance(event, Envelope):
                yield event
            else:
                await event()

    async def resolve(self, request: Envelope[Wire]) -> Wire:
        await self._serve(request)
        payload = request.payload
        if not isinstance(payload, PermissionResolveRequest):
            raise Refused.because("unsupported_feature", "only permissions here")
        return PermissionResolveResponse(
            interaction_id=payload.interaction_id, session_id=self._id, run_id=payload.run_id, accepted=True
        )

    async def cancel(self, request: Envelope[RunCancelRequest]) -> RunCancelResponse:
        await self._serve(request)
        run_id = request.payload.run_id
        return RunCancelResponse(session_id=self._id, run_id=run_id, accepted=True, status="cancelling")

    async def state(self) -> SessionState:
        return SessionState(session_id=self._id, status="closed" if self.is_closed else "idle")

    async def close(self) -> None:
        self.is_closed = True

    async def _serve(self, request: Envelope[Wire]) -> None:
        self.asked.append(request.type)
        if self.before_answer is not None:
            await self.before_answer()
        if self.fault is not None:
            raise self.fault


class ScriptedAdapter:
    """Opens scripted sessions; `refusal` makes it refuse to open, `probe_refusal` to be probed."""

    def __init__(self, *script: Sequence[Event]) -> None:
        self._script = script
        self.sessions: list[ScriptedSession] = []
        self.refusal: Refused | None = None
        self.probe_refusal: Refused | None = None

    async def probe(self) -> Descriptor:
        if self.probe_refusal is not None:
            raise self.probe_refusal
        return Descriptor("v1", CapabilitiesResponse(endpoint=Endpoint(id="scripted")))

    async def open(self, request: Envelope[SessionOpenRequest], session_id: str, tasks: TaskGroup) -> ScriptedSession:
        if self.refusal is not None:
            raise self.refusal
        session = ScriptedSession(session_id, self._script)
        self.sessions.append(session)
        return session
