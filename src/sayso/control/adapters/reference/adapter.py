"""The adapter `memory`: the executable definition of the adapter port, in this process and for this process's life.

It is deterministic: the same requests give the same events, their ids from `ids` and their times from `clock`. It is no
harness for production and keeps nothing when the process ends.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeVar

from anyio.abc import TaskGroup

from sayso.control.adapters.contract import AdapterSession, Descriptor
from sayso.control.adapters.gates import verify_feature, verify_open
from sayso.control.adapters.reference import logins
from sayso.control.adapters.reference.offering import DESCRIPTOR
from sayso.control.adapters.reference.opening import created, reopened
from sayso.control.adapters.reference.session import OpenMemorySession
from sayso.control.adapters.reference.talk import MemorySession
from sayso.control.adapters.stream import RunStream
from sayso.control.protocol.closing import Telling
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.auth import (
    AuthLoginCancelRequest,
    AuthLoginCancelResponse,
    AuthLoginStartRequest,
    AuthLoginStartResponse,
    AuthProvidersResponse,
)
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import SessionOpenRequest
from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Misuse, Refused

__all__ = ("JOURNAL_CAPACITY", "MemoryAdapter")

T = TypeVar("T", bound=Wire)
JOURNAL_CAPACITY = 64


class MemoryAdapter:
    """Offers every unit. `journal_capacity` is how many events each session keeps for `resume`."""

    def __init__(self, *, clock: Clock, ids: Ids, journal_capacity: int = JOURNAL_CAPACITY) -> None:
        if journal_capacity < 1:
            raise Misuse("a journal keeps at least one event")
        self._clock = clock
        self._ids = ids
        self._capacity = journal_capacity
        self._participant = "user"
        self._open: set[str] = set()
        self._kept: dict[str, MemorySession] = {}
        self._logins = logins.Logins()
        self._flows: dict[str, RunStream] = {}

    async def probe(self) -> Descriptor:
        return DESCRIPTOR

    def meet(self, participant_id: str) -> None:
        self._participant = participant_id

    # --- sessions ---

    async def open(self, request: Envelope[SessionOpenRequest], session_id: str, tasks: TaskGroup) -> OpenMemorySession:
        verify_open(request, DESCRIPTOR)
        if request.payload.reopen is True:
            if session_id in self._open:
                raise Refused.because("session_exists", "the session is open")
            if session_id not in self._kept:
                raise Refused.because("unknown_session", "no session with this id was closed here")
            return self._reopen(request, session_id, session_id)
        session = created(request.payload, session_id, self._participant)
        if session_id in self._open or session_id in self._kept:
            raise Refused.because("session_exists", "a session has this id")
        return self._hand_out(session)

    async def reopen(
        self, request: Envelope[SessionOpenRequest], session_id: str, native_id: str, tasks: TaskGroup
    ) -> OpenMemorySession:
        verify_open(request, DESCRIPTOR)
        return self._reopen(request, session_id, native_id)

    def native_id(self, session: AdapterSession) -> str:
        return session.id

    def _reopen(self, request: Envelope[SessionOpenRequest], session_id: str, native_id: str) -> OpenMemorySession:
        kept = self._kept.get(native_id)
        if kept is None or native_id != session_id:
            details = {"feature": "session.open.reopen", "reason": "unsatisfiable"}
            raise Refused.because("unsupported_feature", "this conversation is not kept any more", details=details)
        session = reopened(request.payload, kept, self._participant)
        del self._kept[native_id]
        return self._hand_out(session)

    def _hand_out(self, session: MemorySession) -> OpenMemorySession:
        self._open.add(session.session_id)
        return OpenMemorySession(
            session,
            descriptor=DESCRIPTOR,
            participant=self._participant,
            clock=self._clock,
            ids=self._ids,
            capacity=self._capacity,
            release=self._take_back,
        )

    def _take_back(self, session: MemorySession) -> None:
        self._open.discard(session.session_id)
        self._kept[session.session_id] = session

    # --- logins ---

    async def auth_providers(self) -> AuthProvidersResponse:
        return logins.providers_of(self._logins)

    async def login(self, request: Envelope[AuthLoginStartRequest]) -> AuthLoginStartResponse:
        verify_feature(request, DESCRIPTOR, "auth.login")
        decision = logins.start(self._logins, request.payload.provider_id)
        self._flows[decision.flow_id] = RunStream()
        return self._decided(decision, AuthLoginStartResponse)

    async def cancel_login(self, request: Envelope[AuthLoginCancelRequest]) -> AuthLoginCancelResponse:
        verify_feature(request, DESCRIPTOR, "auth.login")
        return self._decided(logins.cancel(self._logins, request.payload.flow_id), AuthLoginCancelResponse)

    async def login_events(self, flow_id: str) -> AsyncIterator[Envelope[Wire]]:
        if flow_id not in self._flows:
            raise Refused.because("unknown_login", "no login has this id")
        async for envelope in self._flows[flow_id].read():
            yield envelope

    def _decided(self, decision: logins.LoginDecision, type_: type[T]) -> T:
        self._logins = decision.logins
        told = self._logins.flows[decision.flow_id].told - len(decision.tellings)
        for number, telling in enumerate(decision.tellings, told + 1):
            self._tell(decision.flow_id, number, telling)
        if not isinstance(decision.reply, type_):
            raise Misuse(f"the machine answered {type(decision.reply).__name__}")
        return decision.reply

    def _tell(self, flow_id: str, number: int, telling: Telling) -> None:
        stream = self._flows[flow_id]
        stream.tell(
            Envelope(
                type=telling.type,
                id=self._ids.new("ev"),
                payload=telling.payload,
                sequence=number,
                timestamp_ms=int(self._clock.now().timestamp() * 1000),
                capability_revision=DESCRIPTOR.revision,
            )
        )
        if telling.type == "auth.login.completed":
            stream.end()
