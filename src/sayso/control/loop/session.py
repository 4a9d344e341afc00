"""One session of our own loop behind the adapter port: it admits messages as runs, one at a time, and keeps their talk.

What a run decides is `loop.machine`; what a request may elect is `adapters.gates`; who may answer a question is judged
here once more, because an adapter never trusts that a hub did.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

import anyio

from sayso.control.adapters.contract import Descriptor
from sayso.control.adapters.gates import verify_pin, verify_submit
from sayso.control.loop.contract import ToolAnswer
from sayso.control.loop.driver import Means, RunDriver
from sayso.control.loop.run import Answered, Cancel, LoopRun, OfferedTool, Phase
from sayso.control.loop.telling import AGENT, CHOICES, PERSON
from sayso.control.protocol.consent import read_consent_answer
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import (
    PermissionResolveRequest,
    PermissionResolveResponse,
    ToolsListRequest,
    ToolsListResponse,
)
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.run import RunCancelRequest, RunCancelResponse, RunStatus
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import (
    ActiveRun,
    MessageSubmitRequest,
    MessageSubmitResponse,
    SessionState,
    SessionStatus,
)
from sayso.control.protocol.signals import TERMINALS
from sayso.core.refusal import Refused

__all__ = ("LoopSession", "LoopSettings")

_CLOSE_SECONDS = 15.0
_STATUS: dict[Phase, RunStatus] = {
    Phase.THINKING: "running",
    Phase.CALLING: "running",
    Phase.ASKING: "waiting_for_input",
    Phase.WINDING: "cancelling",
    Phase.RELEASING: "cancelling",
    Phase.ENDED: "running",
}
"""A run that has ended is still told as running until its terminal was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """What every run of a session is made with."""

    descriptor: Descriptor
    offers: Mapping[str, OfferedTool]
    model_ref: str
    system: Callable[[], str] | None
    max_turns: int


class LoopSession:
    """An `AdapterSession` over our own loop."""

    def __init__(self, session_id: str, means: Means, settings: LoopSettings) -> None:
        self._id = session_id
        self._means = means
        self._settings = settings
        self._messages: tuple[Message, ...] = ()
        self._runs: dict[str, RunDriver] = {}
        self._live: tuple[RunDriver, str] | None = None
        self._is_closed = False

    @property
    def id(self) -> str:
        return self._id

    async def submit(self, request: Envelope[MessageSubmitRequest]) -> MessageSubmitResponse:
        """Starts a run; `run_active` while another lives, for nothing is queued here yet."""
        verify_submit(request, self._settings.descriptor)
        payload = request.payload
        if any(message.role != "user" for message in payload.messages):
            raise Refused.because("invalid_submission", "a submitted message is the user's", place="$.payload.messages")
        if self._is_closed:
            raise Refused.because("session_closed", "the session is closed")
        if self._live is not None:
            raise Refused.because("run_active", "a run is under way in this session")
        driver = self._new_run(payload.messages)
        self._live = (driver, request.id)
        driver.start()
        return MessageSubmitResponse(
            session_id=self._id,
            accepted=True,
            submission_id=self._means.ids.new("sub"),
            requested_delivery=payload.delivery,
            effective_delivery="start",
            delivery_resolution="session_idle",
            admission="started",
            run_id=driver.run.run_id,
            status="running",
            model_id=self._settings.model_ref,
        )

    def _new_run(self, said: tuple[Message, ...]) -> RunDriver:
        settings = self._settings
        run = LoopRun(
            session_id=self._id,
            run_id=self._means.ids.new("run"),
            model_ref=settings.model_ref,
            system=settings.system() if settings.system else None,
            offers=settings.offers,
            max_turns=settings.max_turns,
            messages=(*self._messages, *said),
        )
        driver = self._runs[run.run_id] = RunDriver(run, self._means)
        return driver

    async def events(self, run_id: str) -> AsyncIterator[Envelope[Wire]]:
        """The session is free for the next message once the terminal of this run was read, not before: a run is over
        for everybody at the same point of the trace.
        """
        driver = self._driver(run_id)
        async for envelope in driver.events.read():
            if envelope.type in TERMINALS:
                self._messages, self._live = driver.run.messages, None
            yield envelope

    async def resolve(self, request: Envelope[Wire]) -> PermissionResolveResponse:
        verify_pin(request, self._settings.descriptor)
        payload = request.payload
        if not isinstance(payload, PermissionResolveRequest):
            details = {"feature": "user_input", "reason": "unadvertised"}
            raise Refused.because("unsupported_feature", "this loop asks for permissions only", details=details)
        driver = self._driver(payload.run_id)
        _verify_answer(driver, payload)
        signed = read_consent_answer(request).signed
        answer = ToolAnswer(payload.granted, signed or None, payload.reason or None)
        driver.send(Answered(answer))
        return PermissionResolveResponse(
            interaction_id=payload.interaction_id, session_id=self._id, run_id=payload.run_id, accepted=True
        )

    async def cancel(self, request: Envelope[RunCancelRequest]) -> RunCancelResponse:
        verify_pin(request, self._settings.descriptor)
        payload = request.payload
        driver = self._driver(payload.run_id)
        ending = driver.run.ending.type if driver.run.ending else "run.completed"
        if driver.run.phase is Phase.ENDED and ending != "run.cancelled":
            raise Refused.because("run_terminal", "the run has ended")
        driver.send(Cancel(payload.reason or None))
        status: RunStatus = "cancelled" if driver.run.phase is Phase.ENDED else "cancelling"
        return RunCancelResponse(session_id=self._id, run_id=payload.run_id, accepted=True, status=status)

    async def state(self) -> SessionState:
        status: SessionStatus = "closed" if self._is_closed else "idle"
        runs: tuple[ActiveRun, ...] = ()
        if self._live is not None:
            runs = (self._active_run(*self._live),)
            status = "waiting_for_input" if runs[0].status == "waiting_for_input" else "running"
        return SessionState(
            session_id=self._id,
            status=status,
            active_run_id=runs[0].run_id if runs else UNSET,
            active_runs=runs,
            current_model_id=self._settings.model_ref,
            updated_at_ms=int(self._means.clock.now().timestamp() * 1000),
            sources=self._settings.descriptor.capabilities.sources,
        )

    def _active_run(self, driver: RunDriver, request_id: str) -> ActiveRun:
        question = driver.run.interaction_id
        return ActiveRun(
            run_id=driver.run.run_id,
            status=_STATUS[driver.run.phase],
            relationship="primary",
            as_of_sequence=driver.sequence,
            admitted_submit_requests=(request_id,),
            pending_interactions=(question,) if question else (),
        )

    async def tools(self, request: ToolsListRequest) -> ToolsListResponse:
        capabilities = self._settings.descriptor.capabilities
        return ToolsListResponse(session_id=self._id, sources=capabilities.sources, tools=capabilities.tools or ())

    async def close(self) -> None:
        self._is_closed = True
        if self._live is not None:
            driver, _ = self._live
            driver.send(Cancel("the session was closed"))
            with anyio.move_on_after(_CLOSE_SECONDS):
                await driver.ended.wait()

    def _driver(self, run_id: str) -> RunDriver:
        driver = self._runs.get(run_id)
        if driver is None:
            raise Refused.because("run_not_found", "this session never had that run")
        return driver


def _verify_answer(driver: RunDriver, payload: PermissionResolveRequest) -> None:
    """Raises `Refused`: `resolution_rejected`, `unsupported_feature`, `invalid_request`."""
    if driver.run.interaction_id != payload.interaction_id:
        raise Refused.because("resolution_rejected", "this question is not open", reason="unknown_interaction")
    if (payload.requested_by, payload.responded_by) != (AGENT, PERSON):
        raise Refused.because("resolution_rejected", "this question is another's to answer", reason="wrong_responder")
    if payload.updated_arguments_json is not UNSET:
        details = {"feature": "permissions.updated_arguments", "reason": "unadvertised"}
        raise Refused.because("unsupported_feature", "an answer may not rewrite the arguments", details=details)
    if payload.choice_id is not UNSET and CHOICES.get(payload.choice_id) is not payload.granted:
        raise Refused.because("invalid_request", "the choice and the grant contradict one another")
