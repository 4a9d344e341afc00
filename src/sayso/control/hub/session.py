"""One session of the hub at work: requests to its adapter, its runs' events into the journal, entries to its readers.

Every request is asked, answered and recorded in that order through `hub.machine`; a refusal is an `error.response`, not
an exception. It is served in a task of its own, so that a caller who gives up leaves no request without its answer and
no run that nobody reads. An answer is believed as little as an event: one without the shape of its type, or that may
not come now, is replaced by `protocol_violation`, and a run it speaks of is given up.

Each admitted run has a pump. A pump never trusts its adapter: an event that does not have its shape, or that may not
come now, and a stream that ends without a terminal, settle the run as failed by inference, after what was open has been
closed (B08). What the adapter tells of that run afterwards is dropped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

import anyio
import structlog
from anyio.abc import TaskGroup

from sayso.control.adapters.contract import (
    AdapterSession,
    AttachesProviders,
    Compacts,
    Descriptor,
    ResolvesCalls,
    SwitchesModels,
    TellsSession,
)
from sayso.control.adapters.gates import verify_pin
from sayso.control.hub.answers import answer, refuse
from sayso.control.hub.exchange import BROKE, Exchange, Loss, of_adapter, unoffered
from sayso.control.hub.journal import CAPACITY, Journal
from sayso.control.hub.machine import (
    Answer,
    Ask,
    Claim,
    Close,
    HubSessionMachine,
    Publish,
    Release,
    SessionPhase,
    TellEvent,
    TellSession,
    Withhold,
)
from sayso.control.hub.readers import HELD, SessionReaders
from sayso.control.protocol.closing import Telling, closings
from sayso.control.protocol.codes import protocol_error
from sayso.control.protocol.conversation import ENDED, RunState
from sayso.control.protocol.envelope import Envelope, read_envelope, write_envelope
from sayso.control.protocol.payloads.action import ActionCallResolveRequest
from sayso.control.protocol.payloads.compaction import SessionCompactRequest, SessionCompactResponse
from sayso.control.protocol.payloads.models import ModelSwitchRequest, ProviderAttachRequest
from sayso.control.protocol.payloads.run import RunCancelRequest, RunFailed
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import (
    MessageSubmitRequest,
    MessageSubmitResponse,
    SessionOpenRequest,
    SessionStatus,
)
from sayso.control.protocol.payloads.steer import RunSteerApplied, RunSteerDropped
from sayso.control.protocol.signals import TERMINALS
from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Misuse, Refusal, Refused

__all__ = ("HELD", "PATIENCE", "RESOLVES", "SETTINGS", "SUBMITS", "HubSession", "Record")

SUBMITS = ("session.message.submit.request", "session.compact.request")
"""What asks for a run."""
RESOLVES = (
    "action.permission.resolve.request",
    "user.input.resolve.request",
    "user.input.cancel.request",
    "action.call.resolve.request",
)
"""What answers an interaction."""
SETTINGS = ("session.model.switch.request", "session.provider.attach.request")
"""What changes a session for its later runs."""

PATIENCE = 5.0
"""Seconds an adapter has to say what it still owes: the answer to a cancel, the last events of a closed session."""
CLOSE_TRIES = 3
"""How often a live run that keeps its session from closing is cancelled (OAP-100)."""
_AGENT = "agent"

Record = Callable[[Envelope[Wire]], None]
_log = structlog.get_logger(__name__)


class HubSession(SessionReaders):
    """One open session."""

    def __init__(
        self,
        adapter_name: str,
        adapter: AdapterSession,
        *,
        revision: str,
        probe: Callable[[], Awaitable[Descriptor]],
        clock: Clock,
        ids: Ids,
        tasks: TaskGroup,
        record: Record,
        capacity: int = CAPACITY,
        patience: float = PATIENCE,
        held: float = HELD,
    ) -> None:
        super().__init__(HubSessionMachine(journal=Journal(capacity)), ids=ids, held=held)
        self.adapter_name = adapter_name
        self.adapter = adapter
        self.created_at = clock.now()
        self._revision = revision
        self._probe = probe
        self._patience = patience
        self._clock = clock
        self._tasks = tasks
        self._record = record
        self._exchanges: dict[str, Exchange] = {}
        self._steers: dict[str, str] = {}
        self._is_closing = False
        self._pumps: dict[str, anyio.Event] = {}
        self._ends: dict[str, anyio.Event] = {}
        self.listeners: list[Record] = []

    @property
    def id(self) -> str:
        """The session's id on the wire."""
        return self.adapter.id

    @property
    def is_running(self) -> bool:
        """Whether a run is live, or may become so by a submit that is with the adapter."""
        return bool(self._machine.live_runs) or any(each.request.type in SUBMITS for each in self._exchanges.values())

    @property
    def active_run(self) -> str | None:
        """The run that has started."""
        return next((name for name, run in self._machine.live_runs.items() if run.state is RunState.STARTED), None)

    @property
    def status(self) -> SessionStatus:
        """What the session does, as far as its events tell."""
        if self._is_closing:
            return "closed"
        if (name := self.active_run) is None:
            return "queued" if self._machine.live_runs else "idle"
        return "waiting_for_input" if self._machine.live_runs[name].open_gates else "running"

    @property
    def current_run(self) -> str | None:
        """The run a bare cursor means."""
        return self._machine.current

    # --- requests ---

    def opened(
        self, request: Envelope[SessionOpenRequest], response: Envelope[Wire], admitted: MessageSubmitResponse | None
    ) -> None:
        """Records the exchange that opened this session; `admitted` is the run of the open's own message.

        Raises `Refused` for an answer that is not one; then nothing was recorded.
        """
        read_envelope(write_envelope(response))
        self._apply(Ask(request))
        self._apply(Answer(response))
        self._record(request)
        self._record(response)
        if request.payload.subscribe:
            self._tasks.start_soon(self._let_go, self._hold())
        if isinstance(self.adapter, TellsSession):
            self._tasks.start_soon(self._pump_session, self.adapter)
        if admitted is not None:
            self._begin(admitted)

    async def submit(self, request: Envelope[Any]) -> Envelope[Wire]:
        """Admits a message, or a compaction, as a run. A steer's answer is followed by `published`."""
        if isinstance(request.payload, SessionCompactRequest):
            return await self._exchange(request, lambda: self._compact(request))
        if request.payload.delivery == "steer":
            return await self._exchange(request, lambda: self._steer(request))
        return await self._exchange(request, lambda: self.adapter.submit(request))

    async def _compact(self, request: Envelope[SessionCompactRequest]) -> Wire:
        if not isinstance(self.adapter, Compacts):
            raise unoffered("session.compact")
        return await self.adapter.compact(request)

    async def _steer(self, request: Envelope[MessageSubmitRequest]) -> Wire:
        self._apply(Withhold(request.id))
        self._tasks.start_soon(self._publish_late, request.id)
        return await self.adapter.submit(request)

    async def _publish_late(self, request_id: str) -> None:
        await anyio.sleep(self._patience)
        self.published(request_id)

    def published(self, request_id: str) -> None:
        """The answer to this request is out, so what it held back may follow; for any other request nothing happens."""
        self._apply(Publish(request_id))

    def _begin(self, admitted: MessageSubmitResponse | SessionCompactResponse) -> None:
        if admitted.run_id is not UNSET and admitted.admission in ("started", "queued"):
            self._pumps[admitted.run_id] = anyio.Event()
            self._ends[admitted.run_id] = anyio.Event()
            self._tasks.start_soon(self._pump, admitted.run_id)

    async def switch_model(self, request: Envelope[ModelSwitchRequest]) -> Envelope[Wire]:
        """The model of later runs."""

        async def work() -> Wire:
            if not isinstance(self.adapter, SwitchesModels):
                raise unoffered("session.model.switch")
            return await self.adapter.switch_model(request)

        return await self._exchange(request, work)

    async def attach_provider(self, request: Envelope[ProviderAttachRequest]) -> Envelope[Wire]:
        """A provider's models for later runs."""

        async def work() -> Wire:
            if not isinstance(self.adapter, AttachesProviders):
                raise unoffered("action.providers.attach")
            return await self.adapter.attach_provider(request)

        return await self._exchange(request, work)

    async def resolve(self, request: Envelope[Any]) -> Envelope[Wire]:
        """Carries an answer to an interaction; of two at once the first counts."""
        if isinstance(request.payload, ActionCallResolveRequest):
            return await self._exchange(request, lambda: self._resolve_call(request))

        async def work() -> Wire:
            with self._claimed(request):
                return await self.adapter.resolve(request)

        return await self._exchange(request, work)

    @contextmanager
    def _claimed(self, request: Envelope[Wire]) -> Iterator[None]:
        self._apply(Claim(request))
        try:
            yield
        finally:
            self._apply(Release(request))

    async def _resolve_call(self, request: Envelope[ActionCallResolveRequest]) -> Wire:
        """What cannot count is an answer with its reason, so nothing is claimed here: the adapter takes one."""
        if not isinstance(self.adapter, ResolvesCalls):
            raise unoffered("action.tools.provide")
        self._machine.run(request.payload.run_id)
        return await self.adapter.resolve_call(request)

    async def cancel(self, request: Envelope[RunCancelRequest]) -> Envelope[Wire]:
        """Carries the wish to end a run."""
        return await self._cancel(request, is_ours=False)

    async def _cancel(self, request: Envelope[RunCancelRequest], *, is_ours: bool) -> Envelope[Wire]:
        async def work() -> Wire:
            if self._machine.run(request.payload.run_id).state in (RunState.COMPLETED, RunState.FAILED):
                raise Refused.because("run_terminal", "the run has ended")
            return await self.adapter.cancel(request)

        return await self._exchange(request, work, is_ours=is_ours)

    async def _exchange(
        self, request: Envelope[Wire], work: Callable[[], Awaitable[Wire]], *, is_ours: bool = False
    ) -> Envelope[Wire]:
        try:
            if request.session_id != self.id:
                raise Refused.because("scope_mismatch", "the envelope names another session", place="$.session_id")
            if request.capability_revision not in (UNSET, self._revision):
                verify_pin(request, await self._probe())
            if self._is_closing and not is_ours:
                raise Refused.because("session_closed", "the session is being closed")
            self._apply(Ask(request))
        except Refused as refused:  # was never asked, so its answer is not recorded either
            return refuse(request, refused.refusal, self._ids)
        self._record(request)
        exchange = self._exchanges[request.id] = Exchange(request)
        self._tasks.start_soon(self._serve, exchange, work)
        await exchange.done.wait()
        if exchange.misuse is not None:
            raise exchange.misuse
        return exchange.response or refuse(request, exchange.refusal, self._ids)

    async def _serve(self, exchange: Exchange, work: Callable[[], Awaitable[Wire]]) -> None:
        """One request to its answer, which it gets whatever happens, the end of the hub included."""
        try:
            with exchange.scope:
                exchange.payload = await work()
        except Refused as refused:
            exchange.refusal = of_adapter(refused.refusal)
        except Misuse as misuse:
            exchange.misuse, exchange.refusal = misuse, BROKE
        except Exception as error:  # noqa: BLE001 - an adapter that breaks ends its run, not the hub
            _log.error("adapter_broke", adapter=self.adapter_name, error=type(error).__name__)
            exchange.refusal = BROKE
        finally:
            try:
                exchange.response = self._concluded(exchange)
            finally:
                del self._exchanges[exchange.request.id]
                exchange.done.set()

    def _concluded(self, exchange: Exchange) -> Envelope[Wire]:
        request, payload = exchange.request, exchange.payload
        response = refuse(request, exchange.refusal, self._ids)
        is_run = isinstance(payload, (MessageSubmitResponse, SessionCompactResponse))
        is_late = is_run and self._machine.phase is SessionPhase.CLOSED
        if payload is not None and not is_late:
            response = self._believed(exchange, payload)
        self._apply(Answer(response))
        self._record(response)
        if isinstance(response.payload, (MessageSubmitResponse, SessionCompactResponse)):
            if response.payload.admission == "steered":
                self._steers[request.id] = response.payload.submission_id
            self._begin(response.payload)
        return response

    def _believed(self, exchange: Exchange, payload: Wire) -> Envelope[Wire]:
        """The adapter's answer, if it has its shape and may come now; else the refusal that stands for it."""
        request = exchange.request
        try:
            response = answer(request, payload, self._ids, self._revision)
            read_envelope(write_envelope(response))
            self._machine.verify(Answer(response))
        except Exception as error:  # noqa: BLE001 - whatever an adapter hands over, the caller gets an answer
            _log.error("adapter_lied", adapter=self.adapter_name, type=request.type, error=type(error).__name__)
        else:
            return response
        run_id = getattr(payload, "run_id", UNSET)
        if request.type in SUBMITS and isinstance(run_id, str) and run_id not in self._machine.live_runs:
            self._tasks.start_soon(self._give_up, run_id)
        refusal = Refusal(code="protocol_violation", message="the adapter gave an answer that may not come")
        return refuse(request, refusal, self._ids)

    # --- runs ---

    async def _pump_session(self, adapter: TellsSession) -> None:
        """The session's own events: recorded, and told to `listeners`; no reader of runs gets them."""
        try:
            async for envelope in adapter.session_events():
                read_envelope(write_envelope(envelope))
                self._apply(TellSession(envelope))
                self._record(envelope)
                for listener in self.listeners:
                    listener(envelope)
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - its runs go on without it
            _log.error("adapter_broke", adapter=self.adapter_name, error=type(error).__name__)

    async def _pump(self, run_id: str) -> None:
        loss = Loss("adapter_failed", "the adapter's stream ended before its run did")
        try:
            async for envelope in self.adapter.events(run_id):
                if isinstance(envelope, Envelope) and (awaited := self._awaited(run_id, envelope)):
                    with anyio.move_on_after(self._patience):
                        for event in awaited:
                            await event.wait()
                if self._is_over(run_id):
                    continue
                if (fault := self._tell(run_id, envelope)) is not None:
                    self._settle(run_id, fault)
                    self._tasks.start_soon(self._give_up, run_id)
        except Misuse:
            raise
        except Refused as refused:  # the adapter knows why its stream broke
            error = protocol_error(refused.refusal)
            loss = Loss(error.code, error.message, error.details or {})
        except Exception as error:  # noqa: BLE001 - an adapter that breaks ends its run, not the hub
            _log.error("adapter_broke", adapter=self.adapter_name, error=type(error).__name__)
            loss = Loss("adapter_failed", "the adapter's stream broke off")
        if not self._is_over(run_id):
            self._settle(run_id, loss)
        self._pumps.pop(run_id).set()

    def _awaited(self, run_id: str, envelope: Envelope[Wire]) -> list[anyio.Event]:
        """What comes before this event: the answer to a cancel before the `run.cancelled` it caused (OAP-011), the
        answer to a steer before it was applied or dropped (OAP-096), the end of a run before the start of the next.
        """
        if envelope.type == "run.cancelled":
            return [each.done for each in self._exchanges.values() if each.cancels(run_id)]
        if isinstance(envelope.payload, (RunSteerApplied, RunSteerDropped)):
            exchange = self._exchanges.get(envelope.payload.request_id)
            return [] if exchange is None else [exchange.done]
        if envelope.type == "run.started" and run_id in self._machine.live_runs:
            earlier = takewhile(lambda name: name != run_id, self._machine.live_runs)
            return [self._ends[name] for name in earlier if name in self._ends]
        return []

    def _is_over(self, run_id: str) -> bool:
        return self._machine.run(run_id).state in ENDED

    def _tell(self, run_id: str, envelope: Envelope[Wire]) -> Loss | None:
        """Journals an event; the reason if it may not be believed."""
        try:
            data = write_envelope(envelope)
            read_envelope(data)
        except Exception as error:  # noqa: BLE001 - whatever an adapter tells, its run ends and not the hub
            _log.error("adapter_lied", adapter=self.adapter_name, error=type(error).__name__)
            return Loss("protocol_violation", "the adapter told an event that does not have its shape")
        if (envelope.session_id, envelope.run_id) != (self.id, run_id):
            return Loss("protocol_violation", "the adapter told an event of another run")
        try:
            self._apply(TellEvent(envelope, data))
        except Refused as refused:
            _log.error("adapter_lied", adapter=self.adapter_name, code=refused.refusal.code, type=envelope.type)
            return Loss("protocol_violation", f"the adapter told an event that may not come: {refused.refusal.code}")
        self._told(envelope)
        return None

    def _told(self, envelope: Envelope[Wire]) -> None:
        self._record(envelope)
        if isinstance(envelope.payload, (RunSteerApplied, RunSteerDropped)):
            self._steers.pop(envelope.payload.request_id, None)
        if envelope.type in TERMINALS and (ended := self._ends.pop(str(envelope.run_id), None)) is not None:
            ended.set()

    def _settle(self, run_id: str, why: Loss) -> None:
        """Ends a run the adapter did not end: closes what is open, then fails it by inference."""
        run = self._machine.run(run_id)
        error = protocol_error(Refusal(code=why.code, message=why.message, details=why.details))
        failed = RunFailed(session_id=self.id, run_id=run_id, error=error, settled_by="inferred")
        closing = closings(run, run_id, _AGENT, error, self._steers)
        for number, telling in enumerate((*closing, Telling("run.failed", failed)), run.last + 1):
            envelope = Envelope(
                type=telling.type,
                id=self._ids.new("ev"),
                payload=telling.payload,
                sequence=number,
                timestamp_ms=int(self._clock.now().timestamp() * 1000),
                session_id=self.id,
                run_id=run_id,
                tool_call_id=telling.tool_call_id or UNSET,
            )
            self._apply(TellEvent(envelope, write_envelope(envelope)))
            self._told(envelope)

    async def _give_up(self, run_id: str) -> None:
        """Lets the adapter end a run that is over for everybody else."""
        try:
            await self.adapter.cancel(self._cancel_request(run_id, "the run was settled by the hub"))
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - nobody waits for this, and the run is over whatever it says
            _log.info("adapter_had_ended", adapter=self.adapter_name, error=type(error).__name__)

    def _cancel_request(self, run_id: str, reason: str) -> Envelope[RunCancelRequest]:
        payload = RunCancelRequest(session_id=self.id, run_id=run_id, reason=reason)
        return Envelope(
            type="run.cancel.request", id=self._ids.new("env"), payload=payload, session_id=self.id, run_id=run_id
        )

    # --- the end ---

    async def close(self) -> None:
        """Admits nothing more, cancels what is live, closes the adapter, takes its runs' last events, and ends every
        reader. Whatever the adapter does, the session is over for everybody afterwards; raises what its close raised.
        """
        self._is_closing = True
        try:
            with anyio.move_on_after(self._patience):
                for exchange in tuple(self._exchanges.values()):
                    await exchange.done.wait()
            await self._close_adapter()
            with anyio.move_on_after(self._patience):
                for pump in tuple(self._pumps.values()):
                    await pump.wait()
        finally:
            self.finish()

    async def _close_adapter(self) -> None:
        for tries_left in reversed(range(CLOSE_TRIES)):
            # The newest first: what is cancelled before it starts is not promoted in between.
            for run_id in reversed(tuple(self._machine.live_runs)):
                await self._cancel(self._cancel_request(run_id, "the session was closed"), is_ours=True)
            try:
                await self.adapter.close()
            except Refused as refused:
                if refused.refusal.code != "run_active" or not tries_left:
                    raise
            else:
                return

    def finish(self) -> None:
        """The end without another word to the adapter: what is asked is refused, what is live fails, readers end."""
        self._is_closing = True
        for exchange in tuple(self._exchanges.values()):
            exchange.scope.cancel()
        if self._machine.phase is SessionPhase.OPEN:
            for run_id in tuple(self._machine.live_runs):
                self._settle(run_id, Loss("adapter_failed", "the adapter was closed and did not end its run"))
        self._apply(Close())
