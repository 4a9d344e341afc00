"""The hub in process: a registry of adapters, the sessions opened over them, and the sweep that closes them all.

It adds no meaning of its own: it correlates, records, fans out and replays, and acts towards adapters as participant
`user` (OAP-085). Whoever binds it to a transport validates what comes in; an envelope that reaches the hub has its
shape. Answers are envelopes, refusals among them; only what has no envelope to answer is raised.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

import anyio
import msgspec
import structlog
from anyio.abc import TaskGroup

from sayso.control.adapters.contract import Adapter, AdapterSession, Descriptor, ListsModels, ListsTools, Reopens
from sayso.control.adapters.gates import verify_attachment, verify_feature, verify_subscription
from sayso.control.hub.answers import answer, answer_query, refuse
from sayso.control.hub.exchange import of_adapter
from sayso.control.hub.following import followed
from sayso.control.hub.history import Binding, History, HistoryPage
from sayso.control.hub.journal import CAPACITY
from sayso.control.hub.listings import AdapterListing, SessionListing
from sayso.control.hub.machine import Cursor
from sayso.control.hub.registry import Registry
from sayso.control.hub.session import HELD, PATIENCE, HubSession, Record
from sayso.control.protocol.codes import CODES
from sayso.control.protocol.envelope import Envelope, read_envelope, write_envelope
from sayso.control.protocol.payloads.action import ToolsListRequest, ToolsListResponse
from sayso.control.protocol.payloads.models import ModelsRequest, ModelsResponse
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.protocol.payloads.session import (
    MessageSubmitRequest,
    MessageSubmitResponse,
    SessionOpenRequest,
    SessionState,
)
from sayso.core.clock import Clock, SystemClock
from sayso.core.ids import Ids, SystemIds
from sayso.core.instants import write_instant
from sayso.core.refusal import Misuse, Refused

__all__ = ("Hub",)

T = TypeVar("T")
_REOPEN = "session.open.reopen"
_NOT_LOADED = ("unknown_session", "open_failed", "unsupported_feature")
_SWEEP_SECONDS = 10.0
"""How long all sessions together may take to close when the hub ends (OAP-100)."""
_log = structlog.get_logger(__name__)


class Hub:
    """Use as `async with`: its end sweeps every session. `record` sees every envelope in the order it counted."""

    def __init__(
        self,
        registry: Registry,
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        capacity: int = CAPACITY,
        record: Record | None = None,
        patience: float = PATIENCE,
        held: float = HELD,
        history: History | None = None,
    ) -> None:
        ids = ids or SystemIds()
        self._history = history or History(issuer=ids.new("hub"))
        self._opening: set[str] = set()
        self._registry = registry
        self._clock = clock or SystemClock()
        self._ids = ids
        self._capacity = capacity
        self._patience = patience
        self._held_for = held
        self._record: Record = record or (lambda _envelope: None)
        self._sessions: dict[str, HubSession] = {}
        self._closed: dict[str, SessionListing] = {}
        self._stack = AsyncExitStack()
        self._tasks: TaskGroup | None = None
        self._queries = 0
        self._is_ending = False

    async def __aenter__(self) -> Self:
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tasks is None:
            raise Misuse("the hub was not entered")
        with anyio.CancelScope(shield=True):
            await self.close_sessions()
        self._tasks.cancel_scope.cancel()
        # The caller's own failure is not handed to the group, which would wrap it; only a task of ours can fail it.
        await self._stack.__aexit__(None, None, None)

    async def close_sessions(self) -> None:
        """Admits nothing more and closes every session within one window: live runs are cancelled first, and whatever
        an adapter still owes when the window ends, its session is over for everybody (OAP-100).
        """
        self._is_ending = True
        with anyio.move_on_after(_SWEEP_SECONDS):
            async with anyio.create_task_group() as closing:
                for session in tuple(self._sessions.values()):
                    closing.start_soon(self._close, session)
        for session in self._sessions.values():
            self._closed[session.id] = _listed(session, status="closed")
        self._sessions.clear()

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
        listings: dict[str, AdapterListing] = {}

        async def ask(name: str) -> None:
            try:
                found = await self.probe(name)
            except Refused as refused:
                listings[name] = AdapterListing(name=name, error=refused.refusal.message)
                return
            listings[name] = AdapterListing(
                name=name, capability_revision=found.revision, capabilities=found.capabilities
            )

        async with anyio.create_task_group() as asking:
            for name, _adapter in self._registry:
                asking.start_soon(ask, name)
        return [listings[name] for name in sorted(listings)]

    def adapter(self, name: str) -> Adapter:
        """Raises `Refused` `unknown_adapter`."""
        return self._registry.find(name)

    async def probe(self, adapter: str) -> Descriptor:
        """What an adapter supports now. Raises `Refused`: `unknown_adapter`, `probe_failed`, `unavailable`."""
        asked = self._registry.find(adapter)
        with anyio.move_on_after(self._patience):
            found = await self._kept(adapter, "probe_failed", asked.probe())
            if not found.revision:
                raise Refused.because("probe_failed", "the adapter named no capability revision")
            return found
        raise Refused.because("probe_failed", f"the adapter did not say what it supports within {self._patience:g} s")

    async def capabilities(self, adapter: str) -> Envelope[Wire]:
        """A fresh `capabilities.response`. Raises `Refused` as `probe` does."""
        found = await self.probe(adapter)
        return answer_query(
            "capabilities.response", found.capabilities, self.query_id(), self._ids, revision=found.revision
        )

    async def _kept(self, adapter: str, code: str, asked: Awaitable[T]) -> T:
        """What an adapter says. Its refusal is the answer; whatever else it breaks with is this code, and no more."""
        try:
            return await asked
        except Refused as refused:
            raise Refused(of_adapter(refused.refusal)) from None
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - an adapter that breaks is an answer, not the end of the hub
            _log.error("adapter_broke", adapter=adapter, code=code, error=type(error).__name__)
            raise Refused.because(code, CODES[code].meaning) from None

    # --- sessions ---

    async def open(self, adapter: str, request: Envelope[SessionOpenRequest]) -> Envelope[Wire]:
        """Opens a session. What is refused comes in this order: the envelope, the adapter, the attachment (its
        revision, its election, its sources), the subscription, what the adapter itself refuses, an id that is taken,
        the rest.
        """
        try:
            return await self._open(adapter, request)
        except Refused as refused:
            return refuse(request, refused.refusal, self._ids)

    async def _open(self, name: str, request: Envelope[SessionOpenRequest]) -> Envelope[Wire]:
        if request.session_id not in (UNSET, request.payload.session_id):
            raise Refused.because("scope_mismatch", "envelope and payload name different sessions")
        self._registry.find(name)
        found = await self.probe(name)
        verify_attachment(request, found)
        attached = self._registry.attached(request)
        verify_subscription(request, found)
        session_id = request.payload.session_id or self._ids.new("ses")
        opened = await self._open_adapter(name, attached, session_id, found)
        try:
            return await self._admit(name, request, opened, found.revision)
        except BaseException:
            # Nobody will hear of this session: what the adapter holds for it goes, also when the caller gave up.
            with anyio.move_on_after(self._patience, shield=True):
                await self._let_go(name, opened)
            raise

    async def _admit(
        self, name: str, request: Envelope[SessionOpenRequest], opened: AdapterSession, revision: str
    ) -> Envelope[Wire]:
        """All or nothing: the id is free, the message was admitted, and the answer is one."""
        session_id = opened.id
        is_known = not request.payload.reopen and await self._history.latest(session_id) is not None
        if is_known or session_id in self._sessions or session_id in self._opening:
            raise Refused.because("session_exists", "a session with this id is open, or has been")
        # Until its open is answered a session is nobody's: what is sent to it meanwhile is `unknown_session`.
        self._opening.add(session_id)
        try:
            session = self._session_over(name, opened, revision)
            admitted = await self._kept(name, "open_failed", _submit_first(opened, request))
            state = await self._state_of(name, opened)
            response = answer(request, state, self._ids, revision)
            binding = await self._kept(name, "open_failed", self._binding(session, request.payload, state))
            if self._is_ending:
                raise Refused.because("open_failed", "the hub is ending")
            try:
                session.opened(request, response, admitted)
            except Refused as refused:
                _log.error("adapter_lied", adapter=name, code=refused.refusal.code)
                raise Refused.because("open_failed", "the adapter opened with a state that cannot be") from None
            with anyio.CancelScope(shield=True):  # it is open now, whoever still waits for the answer
                await self._record_binding(binding)
        finally:
            self._opening.discard(session_id)
        self._sessions[session_id] = session
        self._closed.pop(session_id, None)
        if self._is_ending:
            await self.close_sessions()
        return response

    async def _let_go(self, name: str, opened: AdapterSession) -> None:
        try:
            await opened.close()
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - the open was refused already, and says why
            _log.error("session_kept_open", adapter=name, error=type(error).__name__)

    async def _open_adapter(
        self, name: str, attached: Envelope[SessionOpenRequest], session_id: str, found: Descriptor
    ) -> AdapterSession:
        """The adapter alone sees a source as its operator configured it; what is recorded is the caller's request.

        What a reopen is refused with comes from the binding, not from the harness's words, unless what it elects beside
        is refused.
        """
        if self._tasks is None:
            raise Misuse("the hub was not entered")
        if self._is_ending:
            raise Refused.because("open_failed", "the hub is ending")
        adapter = self._registry.find(name)
        if not attached.payload.reopen:
            return await self._kept(name, "open_failed", adapter.open(attached, session_id, self._tasks))
        verify_feature(attached, found, _REOPEN)
        if session_id in self._sessions or session_id in self._opening:
            raise Refused.because("session_exists", "the session is open: one conversation is loaded once")
        bound = await self._history.latest(session_id)
        if bound is None or bound.adapter != name:
            raise Refused.because("unknown_session", "this adapter has not run a session of this id")
        try:
            if bound.native_session is not None and isinstance(adapter, Reopens):
                loading = adapter.reopen(attached, session_id, bound.native_session, self._tasks)
                return await self._kept(name, "open_failed", loading)
        except Refused as refused:
            is_loading = refused.refusal.details.get("feature", _REOPEN) == _REOPEN
            if refused.refusal.code not in _NOT_LOADED or not is_loading:
                raise
        details = {"feature": _REOPEN, "reason": "unsatisfiable"}
        raise Refused.because("unsupported_feature", "the harness cannot load this session any more", details=details)

    async def _binding(self, session: HubSession, asked: SessionOpenRequest, state: SessionState) -> Binding:
        adapter = self._registry.find(session.adapter_name)
        return Binding(
            action="reopened" if asked.reopen else "opened",
            session_id=session.id,
            adapter=session.adapter_name,
            at_ms=self._now_ms(),
            native_session=adapter.native_id(session.adapter) if isinstance(adapter, Reopens) else None,
            model=state.current_model_id or None,
            sources=tuple(source.id for source in asked.tool_sources or ()),
        )

    async def _remember_close(self, session: HubSession) -> None:
        before = await self._history.latest(session.id)
        if before is not None:
            await self._record_binding(msgspec.structs.replace(before, action="closed", at_ms=self._now_ms()))

    async def _record_binding(self, binding: Binding) -> None:
        """When it cannot be written the session goes on, and the history lacks it."""
        try:
            await self._history.append(binding)
        except OSError as error:
            _log.error("history_not_written", adapter=binding.adapter, error=type(error).__name__)

    def _now_ms(self) -> int:
        return int(self._clock.now().timestamp() * 1000)

    def _session_over(self, name: str, opened: AdapterSession, revision: str) -> HubSession:
        if self._tasks is None:
            raise Misuse("the hub was not entered")
        return HubSession(
            name,
            opened,
            revision=revision,
            probe=partial(self.probe, name),
            clock=self._clock,
            ids=self._ids,
            tasks=self._tasks,
            record=self._record,
            capacity=self._registry.journal_capacity(name) or self._capacity,
            patience=self._patience,
            held=self._held_for,
        )

    def session(self, session_id: str) -> HubSession:
        """Raises `Refused`: `unknown_session`, `session_closed`."""
        session = self._sessions.get(session_id)
        if session is None:
            if session_id in self._closed:
                raise Refused.because("session_closed", "the session was closed")
            raise Refused.because("unknown_session", "no open session has this id")
        return session

    def subscribe(
        self, session_id: str, *, run_id: str | None = None, after: int | None = None
    ) -> AsyncGenerator[Envelope[Wire]]:
        """A session's events from now on, or behind a cursor, up to the end of its runs; begins with the call.

        Raises `Refused` as `session` does, `invalid_cursor`, `run_not_found`, `replay_cursor_future`,
        `no_run_to_resume`; the generator `ReplayGapError` with what is still kept, and `OverflowError` with the cursor
        to go on at.
        """
        session = self.session(session_id)
        cursor = None if after is None else Cursor(after, run_id)
        if (cursor is None and run_id is not None) or (after is not None and after < 0):
            raise Refused.because("invalid_cursor", "a cursor is an unsigned sequence number, and a run needs one")
        reader = (session.adopt() if cursor is None else None) or session.subscribe(cursor)
        return followed(session, reader)

    def published(self, session_id: str, request_id: str) -> None:
        """The answer to this submit has reached its caller: what a steer held back follows. Else nothing happens."""
        session = self._sessions.get(session_id)
        if session is not None:
            session.published(request_id)

    async def sessions(self) -> list[SessionListing]:
        """The sessions of this hub's life by id, closed ones with their last state."""
        live = [_listed(session, status=session.status) for session in self._sessions.values()]
        return sorted((*live, *self._closed.values()), key=lambda listing: listing.session_id)

    async def history(self, *, limit: int | None = None, cursor: str | None = None) -> HistoryPage:
        """Sessions live and closed, newest first. Raises `Refused`: `invalid_request`, `invalid_cursor`."""
        return await self._history.page(self._sessions.__contains__, limit=limit, cursor=cursor)

    async def state(self, session_id: str) -> Envelope[Wire]:
        """A `session.state.response`. Raises `Refused`: `unknown_session`, `state_failed`."""
        session = self.session(session_id)
        state = await self._state_of(session.adapter_name, session.adapter)
        return answer_query("session.state.response", state, self.query_id(), self._ids, session_id=session_id)

    async def tools(self, session_id: str, *, allow_degraded: Sequence[str] = ()) -> Envelope[Wire]:
        """An `action.tools.list.response`. Raises `Refused`: `unknown_session`, `unsupported_feature`,
        `capability_degraded`, `scope_mismatch`.
        """
        session = self.session(session_id)
        asked = ToolsListRequest(session_id=session_id, allow_degraded_features=tuple(allow_degraded) or UNSET)
        found = await self._offered(session, "action.tools.list", asked)
        if not isinstance(session.adapter, ListsTools):
            raise Misuse("an adapter that advertises a list of tools has one")
        listed = await self._kept(session.adapter_name, "tools_failed", session.adapter.tools(asked))
        if listed is None:  # an adapter without tools may say nothing, whatever the port promises
            listed = ToolsListResponse(session_id=session_id, tools=())
        return self._catalog("action.tools.list.response", listed, session_id, found)

    async def models(self, session_id: str, *, allow_degraded: Sequence[str] = ()) -> Envelope[Wire]:
        """A `models.response`. Raises `Refused` as `tools` does."""
        session = self.session(session_id)
        asked = ModelsRequest(session_id=session_id, allow_degraded_features=tuple(allow_degraded) or UNSET)
        found = await self._offered(session, "models.list", asked)
        if not isinstance(session.adapter, ListsModels):
            raise Misuse("an adapter that advertises a list of models has one")
        listed = await self._kept(session.adapter_name, "models_failed", session.adapter.models(asked))
        return self._catalog("models.response", listed, session_id, found)

    async def _offered(self, session: HubSession, feature: str, asked: Wire) -> Descriptor:
        found = await self.probe(session.adapter_name)
        question = Envelope(type="", id="question", payload=asked)  # only its payload and its missing pin are looked at
        verify_feature(question, found, feature)
        return found

    def _catalog(
        self, type_: str, listed: ToolsListResponse | ModelsResponse, session_id: str, found: Descriptor
    ) -> Envelope[Wire]:
        """No binding sees a catalog of another session, or one that is none (OAP-066)."""
        if getattr(listed, "session_id", None) != session_id:
            raise Refused.because("scope_mismatch", "the adapter answered with another session's catalog")
        response = answer_query(
            type_, listed, self.query_id(), self._ids, session_id=session_id, revision=found.revision
        )
        return _shaped(response, "tools_failed" if isinstance(listed, ToolsListResponse) else "models_failed")

    async def _state_of(self, name: str, opened: AdapterSession) -> SessionState:
        state = await self._kept(name, "state_failed", opened.state())
        if getattr(state, "session_id", None) != opened.id:
            raise Refused.because("state_failed", "the adapter told another session's state")
        _shaped(Envelope(type="session.state.response", id="q", in_reply_to="q", payload=state), "state_failed")
        return state

    async def close(self, session_id: str) -> None:
        """Closes a session without a live run. Raises `Refused`: `unknown_session`, `session_closed`, `run_active`."""
        session = self.session(session_id)
        if session.is_running:
            raise Refused.because("run_active", "a run is under way; cancel it first")
        # From here to the first wait nobody else has a turn: what comes next finds the session closed.
        del self._sessions[session_id]
        self._closed[session_id] = _listed(session, status="closed")
        await self._close(session)

    async def _close(self, session: HubSession) -> None:
        """The session is over for everybody afterwards, whatever its adapter makes of it."""
        try:
            await session.close()
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - it is said to the operator; a caller can do nothing about it
            _log.error("session_kept_open", adapter=session.adapter_name, error=type(error).__name__)
        await self._remember_close(session)


def _listed(session: HubSession, *, status: str) -> SessionListing:
    return SessionListing(
        session_id=session.id,
        adapter=session.adapter_name,
        status=status,
        created_at=write_instant(session.created_at.replace(microsecond=0)),
        active_run_id=session.active_run if status != "closed" else None,
    )


def _shaped(envelope: Envelope[Wire], code: str) -> Envelope[Wire]:
    """The envelope, if it is one a reader takes: what an adapter hands over is only said to have its type."""
    try:
        read_envelope(write_envelope(msgspec.structs.replace(envelope, session_id=_session_in(envelope))))
    except Exception as error:
        raise Refused.because(code, CODES[code].meaning) from error
    return envelope


def _session_in(envelope: Envelope[Wire]) -> Maybe[str]:
    return getattr(envelope.payload, "session_id", UNSET)


async def _submit_first(opened: AdapterSession, request: Envelope[SessionOpenRequest]) -> MessageSubmitResponse | None:
    """The message of a compound open, under the open's own id: refused, it takes the session with it (OAP-091)."""
    message = request.payload.message
    if message is UNSET:
        return None
    members = {name: getattr(message, name) for name in message.__struct_fields__}
    submit: Envelope[MessageSubmitRequest] = Envelope(
        type="session.message.submit.request",
        id=request.id,
        payload=MessageSubmitRequest(session_id=opened.id, **members),
        session_id=opened.id,
    )
    return await opened.submit(submit)
