"""The hub in process: a registry of adapters, the sessions opened over them, and the sweep that closes them all.

It adds no meaning of its own: it correlates, records, fans out and replays, and acts towards adapters as participant
`user` (OAP-085). Whoever binds it to a transport validates what comes in; an envelope that reaches the hub has its
shape. Answers are envelopes, refusals among them; only what has no envelope to answer is raised.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

import anyio
import msgspec
import structlog
from anyio.abc import TaskGroup

from sayso.control.adapters.contract import Adapter, AdapterSession, ListsTools
from sayso.control.hub.answers import answer, answer_query, refuse
from sayso.control.hub.journal import CAPACITY
from sayso.control.hub.registry import Registry
from sayso.control.hub.session import PATIENCE, HubSession, Record
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ToolsListRequest
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import SessionOpenRequest, SessionState
from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.instants import write_instant
from sayso.core.refusal import Misuse, Refused

__all__ = ("AdapterListing", "Hub", "SessionListing")

_SWEEP_SECONDS = 20.0
_log = structlog.get_logger(__name__)


class AdapterListing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One adapter as listed: what it supports, or why that could not be told."""

    name: str
    capability_revision: str | None = None
    capabilities: CapabilitiesResponse | None = None
    error: str | None = None


class SessionListing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One open session as listed; `created_at` is RFC 3339 in UTC, whole seconds."""

    session_id: str
    adapter: str
    status: str
    created_at: str
    active_run_id: str | None = None


class Hub:
    """Use as `async with`: its end sweeps every session. `record` sees every envelope in the order it counted."""

    def __init__(
        self,
        registry: Registry,
        *,
        clock: Clock,
        ids: Ids,
        capacity: int = CAPACITY,
        record: Record | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._registry = registry
        self._clock = clock
        self._ids = ids
        self._capacity = capacity
        self._patience = patience
        self._record: Record = record or (lambda _envelope: None)
        self._sessions: dict[str, HubSession] = {}
        self._stack = AsyncExitStack()
        self._tasks: TaskGroup | None = None
        self._queries = 0

    async def __aenter__(self) -> Self:
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tasks is None:
            raise Misuse("the hub was not entered")
        with anyio.move_on_after(_SWEEP_SECONDS, shield=True):
            await self._sweep()
        self._tasks.cancel_scope.cancel()
        # The caller's own failure is not handed to the group, which would wrap it; only a task of ours can fail it.
        await self._stack.__aexit__(None, None, None)

    async def _sweep(self) -> None:
        async with anyio.create_task_group() as closing:
            for session in tuple(self._sessions.values()):
                closing.start_soon(self._sweep_one, session)
        self._sessions.clear()

    async def _sweep_one(self, session: HubSession) -> None:
        try:
            await session.close()
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - the caller's own failure comes out of the block as itself
            _log.error("session_kept_open", adapter=session.adapter_name, error=type(error).__name__)

    def hang_up(self) -> None:
        """Ends every reader's stream; sessions and runs go on."""
        for session in self._sessions.values():
            session.hang_up()

    def query_id(self) -> str:
        """A correlation id for a question that has no envelope: `oap-request-N`."""
        self._queries += 1
        return f"oap-request-{self._queries}"

    # --- adapters ---

    async def adapters(self) -> list[AdapterListing]:
        """All adapters by name; one that cannot be probed is listed with its error."""
        listings = []
        for name, adapter in self._registry:
            try:
                found = await adapter.probe()
            except Refused as refused:
                listings.append(AdapterListing(name=name, error=refused.refusal.message))
            else:
                listings.append(
                    AdapterListing(name=name, capability_revision=found.revision, capabilities=found.capabilities)
                )
        return listings

    async def capabilities(self, adapter: str) -> Envelope[Wire]:
        """A fresh `capabilities.response`. Raises `Refused`: `unknown_adapter`, `probe_failed`."""
        found = await self._registry.find(adapter).probe()
        return answer_query(
            "capabilities.response", found.capabilities, self.query_id(), self._ids, revision=found.revision
        )

    # --- sessions ---

    async def open(self, adapter: str, request: Envelope[SessionOpenRequest]) -> Envelope[Wire]:
        """Opens a session. The refusals come in this order: the adapter exists, its own, the id is free."""
        try:
            return await self._open(self._registry.find(adapter), adapter, request)
        except Refused as refused:
            return refuse(request, refused.refusal, self._ids)

    async def _open(self, adapter: Adapter, name: str, request: Envelope[SessionOpenRequest]) -> Envelope[Wire]:
        if self._tasks is None:
            raise Misuse("the hub was not entered")
        if request.session_id not in (UNSET, request.payload.session_id):
            raise Refused.because("scope_mismatch", "envelope and payload name different sessions")
        session_id = request.payload.session_id or self._ids.new("ses")
        found = await adapter.probe()
        opened = await adapter.open(request, session_id, self._tasks)
        if session_id in self._sessions:
            await opened.close()
            raise Refused.because("session_exists", "a session with this id is open")
        session = self._admit(name, opened, found.revision)
        response = answer(request, await opened.state(), self._ids, found.revision)
        session.opened(request, response)
        return response

    def _admit(self, name: str, opened: AdapterSession, revision: str) -> HubSession:
        if self._tasks is None:
            raise Misuse("the hub was not entered")
        session = self._sessions[opened.id] = HubSession(
            name,
            opened,
            revision=revision,
            clock=self._clock,
            ids=self._ids,
            tasks=self._tasks,
            record=self._record,
            capacity=self._capacity,
            patience=self._patience,
        )
        return session

    def session(self, session_id: str) -> HubSession:
        """Raises `Refused` `unknown_session`."""
        session = self._sessions.get(session_id)
        if session is None:
            raise Refused.because("unknown_session", "no open session has this id")
        return session

    async def sessions(self) -> list[SessionListing]:
        """All open sessions by id."""
        listings = []
        for session_id, session in sorted(self._sessions.items()):
            state = await session.adapter.state()
            listings.append(
                SessionListing(
                    session_id=session_id,
                    adapter=session.adapter_name,
                    status=state.status,
                    created_at=write_instant(session.created_at.replace(microsecond=0)),
                    active_run_id=state.active_run_id or None,
                )
            )
        return listings

    async def state(self, session_id: str) -> Envelope[Wire]:
        """A `session.state.response`. Raises `Refused`: `unknown_session`, `state_failed`."""
        session = self.session(session_id)
        state: SessionState = await session.adapter.state()
        return answer_query("session.state.response", state, self.query_id(), self._ids, session_id=session_id)

    async def tools(self, session_id: str) -> Envelope[Wire]:
        """An `action.tools.list.response`. Raises `Refused`: `unknown_session`, `unsupported_feature`."""
        session = self.session(session_id)
        if not isinstance(session.adapter, ListsTools):
            details = {"feature": "action.tools.list", "reason": "unadvertised"}
            raise Refused.because("unsupported_feature", "this adapter lists no tools", details=details)
        found = await self._registry.find(session.adapter_name).probe()
        listed = await session.adapter.tools(ToolsListRequest(session_id=session_id))
        return answer_query(
            "action.tools.list.response",
            listed,
            self.query_id(),
            self._ids,
            session_id=session_id,
            revision=found.revision,
        )

    async def close(self, session_id: str) -> None:
        """Closes a session without a live run. Raises `Refused`: `unknown_session`, `run_active`."""
        session = self.session(session_id)
        if session.is_running:
            raise Refused.because("run_active", "a run is under way; cancel it first")
        del self._sessions[session_id]
        await session.close()
