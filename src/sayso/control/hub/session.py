"""One session of the hub at work: requests to its adapter, its runs' events into the journal, entries to its readers.

Every request is asked, answered and recorded in that order through `hub.machine`; a refusal is an `error.response`, not
an exception. Each admitted run has a pump. A pump never trusts its adapter: an event that does not have its shape, or
that may not come now, and a stream that ends without a terminal, settle the run as failed by inference, after what was
open has been closed (B08). What the adapter tells of that run afterwards is dropped.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass

import anyio
import structlog
from anyio.abc import TaskGroup

from sayso.control.adapters.contract import AdapterSession
from sayso.control.hub.answers import answer, refuse
from sayso.control.hub.journal import CAPACITY, Journal
from sayso.control.hub.machine import (
    Answer,
    Ask,
    Claim,
    Close,
    Cursor,
    Deliver,
    Drop,
    Effect,
    End,
    HangUp,
    HubSessionMachine,
    Release,
    Subscribe,
    Take,
    TellEvent,
    Wake,
)
from sayso.control.protocol.closing import Telling, closings
from sayso.control.protocol.conversation import ENDED, RunState
from sayso.control.protocol.envelope import Envelope, read_envelope, write_envelope
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.run import RunCancelRequest, RunFailed
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import MessageSubmitRequest, MessageSubmitResponse
from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Misuse, Refusal, Refused

__all__ = ("PATIENCE", "HubSession", "Record")

PATIENCE = 5.0
"""Seconds an adapter has to say what it still owes: the answer to a cancel, the last events of a closed session."""
_AGENT = "agent"

Record = Callable[[Envelope[Wire]], None]
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Loss:
    """Why a run's stream cannot be believed any more."""

    code: str
    message: str


class HubSession:
    """One open session; `created_at` is RFC 3339 in whole seconds."""

    def __init__(
        self,
        adapter_name: str,
        adapter: AdapterSession,
        *,
        revision: str,
        clock: Clock,
        ids: Ids,
        tasks: TaskGroup,
        record: Record,
        capacity: int = CAPACITY,
        patience: float = PATIENCE,
    ) -> None:
        self.adapter_name = adapter_name
        self.adapter = adapter
        self.created_at = clock.now()
        self._revision = revision
        self._patience = patience
        self._clock = clock
        self._ids = ids
        self._tasks = tasks
        self._record = record
        self._machine = HubSessionMachine(journal=Journal(capacity))
        self._readers: dict[str, anyio.Event] = {}
        self._cancels: dict[str, anyio.Event] = {}
        self._pumps: dict[str, anyio.Event] = {}

    @property
    def id(self) -> str:
        """The session's id on the wire."""
        return self.adapter.id

    @property
    def is_running(self) -> bool:
        """Whether a run is live."""
        return bool(self._machine.live_runs)

    # --- requests ---

    def opened(self, request: Envelope[Wire], response: Envelope[Wire]) -> None:
        """Records the exchange that opened this session."""
        self._apply(Ask(request))
        self._record(request)
        self._answered(response)

    async def submit(self, request: Envelope[MessageSubmitRequest]) -> Envelope[Wire]:
        """Admits a message as a run."""
        response = await self._exchange(request, lambda: self.adapter.submit(request))
        payload = response.payload
        if isinstance(payload, MessageSubmitResponse) and payload.accepted and payload.run_id is not UNSET:
            self._pumps[payload.run_id] = anyio.Event()
            self._tasks.start_soon(self._pump, payload.run_id)
        return response

    async def resolve(self, request: Envelope[Wire]) -> Envelope[Wire]:
        """Carries an answer to an interaction; of two at once the first counts."""

        async def work() -> Wire:
            self._apply(Claim(request))
            try:
                return await self.adapter.resolve(request)
            finally:
                self._apply(Release(request))

        return await self._exchange(request, work)

    async def cancel(self, request: Envelope[RunCancelRequest]) -> Envelope[Wire]:
        """Carries the wish to end a run."""
        run_id = request.payload.run_id

        async def work() -> Wire:
            if self._machine.run(run_id).state in (RunState.COMPLETED, RunState.FAILED):
                raise Refused.because("run_terminal", "the run has ended")
            return await self.adapter.cancel(request)

        answered = self._cancels.setdefault(run_id, anyio.Event())
        try:
            return await self._exchange(request, work)
        finally:
            self._cancels.pop(run_id, None)
            answered.set()

    async def _exchange(self, request: Envelope[Wire], work: Callable[[], Awaitable[Wire]]) -> Envelope[Wire]:
        try:
            self._verify_scope(request)
            self._apply(Ask(request))
        except Refused as refused:  # was never asked, so its answer is not recorded either
            return refuse(request, refused.refusal, self._ids)
        self._record(request)
        try:
            response = answer(request, await work(), self._ids, self._revision)
        except Refused as refused:
            response = refuse(request, refused.refusal, self._ids)
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - an adapter that breaks ends its run, not the hub
            _log.error("adapter_broke", adapter=self.adapter_name, error=type(error).__name__)
            response = refuse(request, Refusal(code="internal", message="the adapter broke off"), self._ids)
        self._answered(response)
        return response

    def _verify_scope(self, request: Envelope[Wire]) -> None:
        if request.session_id != self.id:
            raise Refused.because("scope_mismatch", "the envelope names another session", place="$.session_id")

    def _answered(self, response: Envelope[Wire]) -> None:
        self._apply(Answer(response))
        self._record(response)

    # --- runs ---

    async def _pump(self, run_id: str) -> None:
        loss = _Loss("adapter_failed", "the adapter's stream ended before its run did")
        try:
            async for envelope in self.adapter.events(run_id):
                await self._after_cancel(run_id, envelope)
                if self._is_over(run_id):
                    continue
                if (fault := self._tell(run_id, envelope)) is not None:
                    self._settle(run_id, fault)
                    self._tasks.start_soon(self._give_up, run_id)
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - an adapter that breaks ends its run, not the hub
            _log.error("adapter_broke", adapter=self.adapter_name, error=type(error).__name__)
            loss = _Loss("adapter_failed", "the adapter's stream broke off")
        if not self._is_over(run_id):
            self._settle(run_id, loss)
        self._pumps.pop(run_id).set()

    async def _after_cancel(self, run_id: str, envelope: Envelope[Wire]) -> None:
        """The answer to a cancel comes before the `run.cancelled` it caused (OAP-011)."""
        answered = self._cancels.get(run_id)
        if answered is not None and envelope.type == "run.cancelled":
            with anyio.move_on_after(self._patience):
                await answered.wait()

    def _is_over(self, run_id: str) -> bool:
        return self._machine.run(run_id).state in ENDED

    def _tell(self, run_id: str, envelope: Envelope[Wire]) -> _Loss | None:
        """Journals an event; the reason if it may not be believed."""
        try:
            data = write_envelope(envelope)
            read_envelope(data)
            if (envelope.session_id, envelope.run_id) != (self.id, run_id):
                return _Loss("protocol_violation", "the adapter told an event of another run")
            self._apply(TellEvent(envelope, data))
        except Refused as refused:
            _log.error("adapter_lied", adapter=self.adapter_name, code=refused.refusal.code, type=envelope.type)
            return _Loss("protocol_violation", f"the adapter told an event that may not come: {refused.refusal.code}")
        self._record(envelope)
        return None

    def _settle(self, run_id: str, why: _Loss) -> None:
        """Ends a run the adapter did not end: closes what is open, then fails it by inference."""
        run = self._machine.run(run_id)
        failed = RunFailed(
            session_id=self.id,
            run_id=run_id,
            error=ProtocolError(code=why.code, message=why.message),
            settled_by="inferred",
        )
        for number, telling in enumerate((*closings(run, run_id, _AGENT), Telling("run.failed", failed)), run.last + 1):
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
            self._record(envelope)

    async def _give_up(self, run_id: str) -> None:
        """Lets the adapter end a run that is over for everybody else."""
        try:
            await self.adapter.cancel(self._cancel_request(run_id, "the run was settled by the hub"))
        except Refused as refused:
            _log.info("adapter_had_ended", adapter=self.adapter_name, code=refused.refusal.code)

    def _cancel_request(self, run_id: str, reason: str) -> Envelope[RunCancelRequest]:
        payload = RunCancelRequest(session_id=self.id, run_id=run_id, reason=reason)
        return Envelope(
            type="run.cancel.request", id=self._ids.new("env"), payload=payload, session_id=self.id, run_id=run_id
        )

    # --- readers ---

    def subscribe(self, cursor: Cursor | None = None) -> str:
        """A new reader's name, for `read`. Raises `Refused`: `run_not_found`, `replay_cursor_future`,
        `no_run_to_resume`, `session_closed`.
        """
        name = self._ids.new("reader")
        self._readers[name] = anyio.Event()
        try:
            self._apply(Subscribe(name, cursor))
        except Refused:
            del self._readers[name]
            raise
        return name

    async def read(self, name: str) -> AsyncGenerator[Deliver | End]:
        """What this reader gets, in order; after an `End` there is nothing."""
        try:
            while True:
                effects = self._machine.apply(Take(name))
                for effect in effects:
                    if isinstance(effect, (Deliver, End)):
                        yield effect
                if effects and isinstance(effects[-1], End):
                    return
                if not effects:
                    await self._wait(name)
        finally:
            self.unsubscribe(name)

    async def _wait(self, name: str) -> None:
        woken = self._readers[name]
        await woken.wait()
        self._readers[name] = anyio.Event()

    def unsubscribe(self, name: str) -> None:
        """A reader has gone."""
        self._readers.pop(name, None)
        self._apply(Drop(name))

    def hang_up(self) -> None:
        """Ends all readers; the session goes on."""
        self._apply(HangUp())

    # --- the end ---

    async def close(self) -> None:
        """Cancels what is live, closes the adapter, takes its runs' last events, and ends every reader."""
        for run_id in tuple(self._machine.live_runs):
            await self.cancel(self._cancel_request(run_id, "the session was closed"))
        await self.adapter.close()
        with anyio.move_on_after(self._patience):
            for pump in tuple(self._pumps.values()):
                await pump.wait()
        for run_id in tuple(self._machine.live_runs):
            self._settle(run_id, _Loss("adapter_failed", "the adapter was closed and did not end its run"))
        self._apply(Close())

    def _apply(self, command: object) -> list[Effect]:
        effects = self._machine.apply(command)
        for effect in effects:
            if isinstance(effect, Wake) and (woken := self._readers.get(effect.name)) is not None:
                woken.set()
        return effects
