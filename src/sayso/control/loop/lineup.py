"""The runs of one session at work: admitted into the line, started in their turn, told, read, and let go.

`line.machine` decides whose turn it is and this carries it out. Here stands what one run leaves to the next: the
conversation, and what the vendor last said that it takes up. The session's model is what later starts run with.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, TypeVar

import anyio
import structlog

from sayso.control.loop.compacting import Reported
from sayso.control.loop.driver import Means, RunDriver
from sayso.control.loop.line import machine
from sayso.control.loop.line.places import (
    Begun,
    Ended,
    LineCommand,
    LineDecision,
    Promote,
    Read,
    RunLine,
    Withdrawn,
    WithdrawRun,
)
from sayso.control.loop.replay import Replay
from sayso.control.loop.run import LoopRun, Phase, Shut
from sayso.control.loop.settings import Kept, LoopSettings, Ticket
from sayso.control.loop.sources import Toolbox
from sayso.control.loop.telling import Teller
from sayso.control.loop.terms import reasoning_of
from sayso.control.loop.told import Pen, RunTold
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ActionCallRequested
from sayso.control.protocol.payloads.capabilities import RequestedDelivery
from sayso.control.protocol.payloads.compaction import SessionCompactResponse
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.protocol.payloads.session import MessageSubmitResponse
from sayso.control.protocol.signals import TERMINALS
from sayso.core.refusal import Refused

__all__ = ("Lineup",)

_CLOSE_SECONDS = 15.0
_READER_SECONDS = 5.0
"""How long an admission waits for a reader to learn that a place is free."""
_Admission = TypeVar("_Admission", MessageSubmitResponse, SessionCompactResponse)
_log = structlog.get_logger(__name__)


class Lineup:
    """The runs of one session. `line` is who stands where; `drivers` the runs that started, `told` all of them."""

    def __init__(self, session_id: str, means: Means, settings: LoopSettings, kept: Kept) -> None:
        self.line = RunLine(machine.BOUND)
        self.model_ref = kept.model_ref
        self.drivers: dict[str, RunDriver] = {}
        self.told: dict[str, RunTold] = {}
        self.requests: dict[str, str] = {}
        self._id = session_id
        self._means = means
        self._settings = settings
        self._toolbox = settings.toolbox
        self._messages, self._used = kept.messages, kept.used
        self._reported: Reported | None = None
        self._tickets: dict[str, Ticket] = {}
        self._replay = Replay(settings.capacity)
        self._pen = Pen(session_id, means.clock, means.ids, self._replay.keep)
        self._moved = anyio.Event()

    def switch(self, model_ref: str) -> None:
        """Later starts run with this model, and count tokens its way."""
        self.model_ref, self._reported = model_ref, None

    @property
    def toolbox(self) -> Toolbox:
        """The tools of the run at work; while there is none, those that the next one gets."""
        if self.line.at_work is None:
            self._toolbox = self._toolbox.renewed()
        return self._toolbox

    def is_waiting(self, run_id: str) -> bool:
        """Whether this run is admitted and has not started."""
        return run_id in self._tickets

    # --- admission ---

    async def room(self) -> None:
        """Where the line has a place that a reader of the events cannot know of yet, they are waited for: what they saw
        before the answer has to allow it.
        """
        with anyio.move_on_after(_READER_SECONDS):
            while self.line.reserved < self.line.bound <= self.line.seen_reserved and self._is_behind:
                await self._moved.wait()

    async def begun(self, run_id: str) -> None:
        """Until the first event of a run that started was read; readers are waited for as in `room`."""
        with anyio.move_on_after(_READER_SECONDS):
            while (place := self.line.place_of(run_id)) is not None and not place.has_begun:
                await self._moved.wait()

    @property
    def _is_behind(self) -> bool:
        return any(self.told[place.run_id].is_behind for place in self.line.places)

    def admit(
        self, request_id: str, ticket: Ticket, delivery: RequestedDelivery, answer: type[_Admission]
    ) -> _Admission:
        """A run of its own: started where the session is free, else reserved. Raises `Refused` `run_active`,
        `session_closed`.
        """
        run_id = self._means.ids.new("run")
        wanted: Literal["auto", "queue"] = "queue" if delivery == "queue" else "auto"
        decision, admitted = machine.admit(self.line, run_id, wanted)
        self._tickets[run_id], self.requests[run_id] = ticket, request_id
        self.told[run_id] = RunTold(run_id, self._pen, self._ended)
        self._carry_out(decision)
        return answer(
            session_id=self._id,
            accepted=True,
            submission_id=self._means.ids.new("sub"),
            requested_delivery=delivery,
            effective_delivery="start" if admitted.starts else "queue",
            delivery_resolution=_resolution(delivery, was_busy=admitted.was_busy),
            admission="started" if admitted.starts else "queued",
            run_id=run_id,
            status="running" if admitted.starts else "queued",
        )

    def withdraw(self, run_id: str, reason: str | None) -> None:
        """A reservation ends, and its place is free."""
        self._apply(WithdrawRun(run_id, reason))

    def _apply(self, command: LineCommand) -> None:
        self._carry_out(machine.decide(self.line, command))

    def _carry_out(self, decision: LineDecision) -> None:
        self.line = decision.line
        for effect in decision.effects:
            if isinstance(effect, Promote):
                self._start(effect.run_id)
            else:
                self._let_go(effect)
        self._moved.set()
        self._moved = anyio.Event()

    def _let_go(self, effect: Withdrawn) -> None:
        self._tickets.pop(effect.run_id, None)
        tell = Teller(self._id, effect.run_id)
        closed = ProtocolError(code="session_closed", message="the session was closed")
        ending = tell.cancelled(effect.reason) if effect.is_cancelled else tell.failed(closed)
        self.told[effect.run_id].tell(ending)

    # --- a run ---

    def _start(self, run_id: str) -> None:
        """A reservation gets the history, the model, the tools and the system message of now; where that cannot be
        told, it fails, and the line goes on.
        """
        self._toolbox = self._toolbox.renewed()
        ticket = self._tickets.pop(run_id)
        try:
            system = self._settings.system() if self._settings.system else None
        except Exception as error:  # noqa: BLE001 - what the host cannot say ends one run, and no session
            _log.error("no_system_message", session=self._id, error=type(error).__name__)
            failed = ProtocolError(code="internal", message="what the model is told at the start could not be written")
            self.told[run_id].tell(Teller(self._id, run_id).failed(failed))
            return
        driver = self.drivers[run_id] = RunDriver(self._run(run_id, ticket, system), self._means, self.told[run_id])
        driver.start()

    def _run(self, run_id: str, ticket: Ticket, system: str | None) -> LoopRun:
        settings, terms, controls = self._settings, self._settings.terms, ticket.controls
        model_ref = controls.model_id or self.model_ref
        return LoopRun(
            session_id=self._id,
            run_id=run_id,
            model_ref=model_ref,
            system=system,
            offers=self._toolbox.offers,
            max_turns=settings.max_turns,
            messages=self._messages,
            said=ticket.said,
            responder=settings.participant,
            work=ticket.work,
            focus=ticket.focus,
            instructions=controls.instructions,
            choice=controls.choice,
            schema=controls.schema,
            reasoning=reasoning_of(terms.reasoning_level),
            max_output_tokens=terms.max_output_tokens,
            policy=terms.compaction_policy,
            window=settings.catalog.window(model_ref),
            reported=self._reported if model_ref == self.model_ref else None,
            used=self._used,
        )

    def _ended(self, run_id: str) -> None:
        """The terminal of a run was told: what it added to the conversation is the session's."""
        driver = self.drivers.get(run_id)
        if driver is not None:
            self._messages, self._used = driver.run.messages, driver.run.used
            self._reported = driver.run.reported if driver.run.model_ref == self.model_ref else None
            driver.leave()
        self._apply(Ended(run_id))

    # --- events ---

    async def events(self, run_id: str) -> AsyncIterator[Envelope[Wire]]:
        """The next run starts once the reader has dealt with the terminal of this one, not before: of two runs nothing
        can be told in the wrong order. What ends a run, or sets a client to work, is written before it is told.
        """
        async for envelope in self._told_of(run_id).read():
            if envelope.type in TERMINALS or _hands_over(envelope):
                await self._written()
            try:
                yield envelope
            finally:
                self._dealt(run_id, envelope)

    def _dealt(self, run_id: str, envelope: Envelope[Wire]) -> None:
        if envelope.sequence == 1:
            self._apply(Begun(run_id))
        if envelope.type in TERMINALS:
            self._apply(Read(run_id))
            if self._means.conversation is not None and not self.line.is_closed:
                self._means.tasks.start_soon(self._synced)

    async def _written(self) -> None:
        try:
            if self._means.conversation is not None:
                await self._means.conversation.written()
        except Refused as refused:
            _log.error("conversation_not_saved", session=self._id, reason=refused.refusal.reason)

    async def _synced(self) -> None:
        try:
            if self._means.conversation is not None:
                await self._means.conversation.synced()
        except Refused as refused:
            _log.error("conversation_not_saved", session=self._id, reason=refused.refusal.reason)

    def resume(self, run_id: str, after: int) -> AsyncIterator[Envelope[Wire]]:
        """What is kept of a run. Raises `Refused` as `Replay.read` does, and `run_not_found`."""
        self._told_of(run_id)
        return self._replay.read(run_id, after)

    def _told_of(self, run_id: str) -> RunTold:
        told = self.told.get(run_id)
        if told is None:
            raise Refused.because("run_not_found", "this session never had that run")
        return told

    # --- the end ---

    async def close(self) -> None:
        """What is reserved fails, what is at work is stopped and fails: nobody accepted a cancel of it."""
        at_work = self.line.at_work
        self._carry_out(machine.close(self.line))
        driver = self.drivers.get(at_work.run_id) if at_work else None
        if driver is not None:
            await self._shut(driver)
        self._replay.close()

    async def _shut(self, driver: RunDriver) -> None:
        driver.send(Shut())
        try:
            with anyio.move_on_after(_CLOSE_SECONDS):
                await _until_over(driver)
        finally:
            driver.leave()


def _resolution(delivery: RequestedDelivery, *, was_busy: bool) -> Maybe[str]:
    if delivery != "auto":
        return UNSET
    return "session_busy" if was_busy else "session_idle"


def _hands_over(envelope: Envelope[Wire]) -> bool:
    return isinstance(envelope.payload, ActionCallRequested) and envelope.payload.interaction_id is not UNSET


async def _until_over(driver: RunDriver) -> None:
    if driver.run.phase is not Phase.ENDED:
        await driver.ended.wait()
