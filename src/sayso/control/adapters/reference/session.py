"""One session of the memory adapter behind the adapter port: the machine decides, this numbers, stamps and delivers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import anyio
import msgspec

from sayso.control.adapters.contract import Descriptor
from sayso.control.adapters.gates import verify_compact, verify_feature, verify_pin, verify_submit
from sayso.control.adapters.reference.machine import Begun, Close, Command, Read, decide
from sayso.control.adapters.reference.talk import MemorySession
from sayso.control.adapters.reference.views import models_of, state_of, tools_of
from sayso.control.adapters.stream import RunStream
from sayso.control.loop.replay import Replay
from sayso.control.protocol.closing import Telling
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import (
    ActionCallResolveRequest,
    ActionCallResolveResponse,
    CallRefusal,
    ToolsListRequest,
    ToolsListResponse,
)
from sayso.control.protocol.payloads.compaction import SessionCompactRequest, SessionCompactResponse
from sayso.control.protocol.payloads.models import (
    ModelsRequest,
    ModelsResponse,
    ModelSwitchRequest,
    ModelSwitchResponse,
    ProviderAttachRequest,
    ProviderAttachResponse,
)
from sayso.control.protocol.payloads.run import RunCancelRequest, RunCancelResponse
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import MessageSubmitRequest, MessageSubmitResponse, SessionState
from sayso.control.protocol.signals import TERMINALS
from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Misuse, Refused

__all__ = ("OpenMemorySession",)

T = TypeVar("T", bound=Wire)
_SETTLING = ("action.call.completed", "action.call.failed", "action.call.cancelled")


class OpenMemorySession:
    """An `AdapterSession` with every optional unit. `release` takes the conversation back when it closes."""

    def __init__(
        self,
        session: MemorySession,
        *,
        descriptor: Descriptor,
        participant: str,
        clock: Clock,
        ids: Ids,
        capacity: int,
        release: Callable[[MemorySession], None],
    ) -> None:
        self._session = session
        self._descriptor = descriptor
        self._participant = participant
        self._clock = clock
        self._ids = ids
        self._release = release
        self._streams: dict[str, RunStream] = {}
        self._replay = Replay(capacity)
        self._announcements = RunStream()
        self._announced = 0
        self._settlements: dict[str, str] = {}
        self._dealt: dict[str, int] = {}
        self._moved = anyio.Event()

    @property
    def id(self) -> str:
        return self._session.session_id

    # --- requests ---

    async def submit(self, request: Envelope[MessageSubmitRequest]) -> MessageSubmitResponse:
        verify_submit(request, self._descriptor)
        return self._answer(request, MessageSubmitResponse)

    async def compact(self, request: Envelope[SessionCompactRequest]) -> SessionCompactResponse:
        verify_compact(request, self._descriptor)
        return self._answer(request, SessionCompactResponse)

    async def switch_model(self, request: Envelope[ModelSwitchRequest]) -> ModelSwitchResponse:
        verify_feature(request, self._descriptor, "session.model.switch")
        return self._answer(request, ModelSwitchResponse)

    async def attach_provider(self, request: Envelope[ProviderAttachRequest]) -> ProviderAttachResponse:
        verify_feature(request, self._descriptor, "action.providers.attach", mode="session_live")
        return self._answer(request, ProviderAttachResponse)

    async def cancel(self, request: Envelope[RunCancelRequest]) -> RunCancelResponse:
        verify_pin(request, self._descriptor)
        return self._answer(request, RunCancelResponse)

    async def resolve(self, request: Envelope[Wire]) -> Wire:
        if isinstance(request.payload, ActionCallResolveRequest):
            return await self.resolve_call(request)  # type: ignore[arg-type]
        verify_pin(request, self._descriptor)
        return self._answer(request, Wire)

    async def resolve_call(self, request: Envelope[ActionCallResolveRequest]) -> ActionCallResolveResponse:
        verify_pin(request, self._descriptor)
        reply = self._answer(request, ActionCallResolveResponse)
        if reply.details is UNSET:
            return reply
        run_id, _, number = str(reply.details.settlement_id).rpartition("#")
        await self._dealt_with(run_id, int(number))
        known = self._settlements.get(str(reply.details.settlement_id))
        return msgspec.structs.replace(reply, details=CallRefusal(settlement_id=known or UNSET))

    def _answer(self, request: Envelope[Any], type_: type[T]) -> T:
        reply = self._apply(request)
        if not isinstance(reply, type_):
            raise Misuse(f"the machine answered {type(reply).__name__} to {request.type}")
        return reply

    # --- views ---

    async def state(self) -> SessionState:
        return state_of(self._session)

    async def models(self, request: ModelsRequest) -> ModelsResponse:
        return models_of(self._session)

    async def tools(self, request: ToolsListRequest) -> ToolsListResponse:
        return tools_of(self._session)

    # --- events ---

    async def events(self, run_id: str) -> AsyncIterator[Envelope[Wire]]:
        """The next run starts once the reader has dealt with the terminal of this one, not before: of two runs nothing
        can be told in the wrong order.
        """
        self._verify_run(run_id)
        self._dealt[run_id] = 0
        try:
            async for envelope in self._streams[run_id].read():
                try:
                    yield envelope
                finally:
                    self._deal(run_id, envelope)
        finally:
            del self._dealt[run_id]
            self._wake()

    def _deal(self, run_id: str, envelope: Envelope[Wire]) -> None:
        self._dealt[run_id] = int(envelope.sequence or 0)
        self._wake()
        if envelope.sequence == 1:
            self._apply(Begun(run_id))
        if envelope.type in TERMINALS:
            self._apply(Read(run_id))

    async def _dealt_with(self, run_id: str, number: int) -> None:
        """Until the run's reader has dealt with this event, so that what an answer points at comes before it."""
        while self._dealt.get(run_id, number) < number:
            await self._moved.wait()

    def _wake(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()

    def resume(self, run_id: str, after: int) -> AsyncIterator[Envelope[Wire]]:
        self._verify_run(run_id)
        return self._replay.read(run_id, after)

    async def session_events(self) -> AsyncIterator[Envelope[Wire]]:
        async for envelope in self._announcements.read():
            yield envelope

    def _verify_run(self, run_id: str) -> None:
        if run_id in self._session.earlier:
            details = {"oldest_available": 1, "latest_available": 0}
            raise Refused.because("replay_gap", "the session was reopened; this run's events are gone", details=details)
        if run_id not in self._streams:
            raise Refused.because("run_not_found", "this session never had that run")

    # --- the end ---

    async def close(self) -> None:
        if self._session.is_closed:
            return
        self._apply(Close())
        self._replay.close()
        self._announcements.end()
        self._release(self._session)

    # --- delivery ---

    def _apply(self, command: Command) -> Wire | None:
        if self._session.is_closed and isinstance(command, Begun | Read):
            return None
        told = {run_id: run.told for run_id, run in self._session.runs.items()}
        decision = decide(self._session, command, self._participant)
        self._session = decision.session
        for run_id in self._session.runs:
            self._streams.setdefault(run_id, RunStream())
        for run_id, telling in decision.tellings:
            told[run_id] = told.get(run_id, 0) + 1
            self._tell(run_id, told[run_id], telling)
        if decision.announced:
            self._announce()
        return decision.reply

    def _tell(self, run_id: str, number: int, telling: Telling) -> None:
        envelope = Envelope(
            type=telling.type,
            id=self._ids.new("ev"),
            payload=telling.payload,
            sequence=number,
            timestamp_ms=self._now(),
            session_id=self.id,
            run_id=run_id,
            tool_call_id=telling.tool_call_id or UNSET,
            capability_revision=self._descriptor.revision,
        )
        if telling.type in _SETTLING:
            self._settlements[f"{run_id}#{number}"] = envelope.id
        self._replay.keep(envelope)
        self._streams[run_id].tell(envelope)
        if telling.type in TERMINALS:
            self._streams[run_id].end()

    def _announce(self) -> None:
        self._announced += 1
        envelope: Envelope[Wire] = Envelope(
            type="session.state.updated",
            id=self._ids.new("ev"),
            payload=state_of(self._session),
            sequence=self._announced,
            timestamp_ms=self._now(),
            session_id=self.id,
            capability_revision=self._descriptor.revision,
        )
        self._announcements.tell(envelope)

    def _now(self) -> int:
        return int(self._clock.now().timestamp() * 1000)
