"""One session of our own loop behind the adapter port: requests come in and are admitted, answered or refused.

What a run decides is `loop.machine`; how runs follow one another, `lineup`; what a request may elect, `adapters.gates`
and `controls`; whether an answer counts, `answers`, because an adapter never trusts that a hub judged it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from sayso.control.adapters.choosing import no_controls, verify_model
from sayso.control.adapters.gates import verify_compact, verify_feature, verify_pin, verify_submit
from sayso.control.adapters.stream import RunStream
from sayso.control.loop.answers import call_answer, judge_word, verify_permission, verify_reply
from sayso.control.loop.contract import ToolAnswer
from sayso.control.loop.controls import read_controls
from sayso.control.loop.conversations import ModelSwitched
from sayso.control.loop.driver import Means, RunDriver
from sayso.control.loop.line.places import Standing
from sayso.control.loop.lineup import Lineup
from sayso.control.loop.run import Answered, Cancel, Replied, Steer, Steered, Worded, Work
from sayso.control.loop.settings import Kept, LoopSettings, Ticket
from sayso.control.loop.views import SessionView, state_of
from sayso.control.protocol.consent import read_consent_answer
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import (
    ActionCallResolveRequest,
    ActionCallResolveResponse,
    PermissionResolveRequest,
    PermissionResolveResponse,
    ToolsListRequest,
    ToolsListResponse,
)
from sayso.control.protocol.payloads.compaction import SessionCompactRequest, SessionCompactResponse
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.interaction import (
    UserInputCancelRequest,
    UserInputCancelResponse,
    UserInputResolveRequest,
    UserInputResolveResponse,
)
from sayso.control.protocol.payloads.models import (
    ModelEventPosition,
    ModelsRequest,
    ModelsResponse,
    ModelSwitchRequest,
    ModelSwitchResponse,
)
from sayso.control.protocol.payloads.run import RunCancelRequest, RunCancelResponse, RunStatus
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.protocol.payloads.session import MessageSubmitRequest, MessageSubmitResponse, SessionState
from sayso.core.refusal import Misuse, Refused

__all__ = ("LoopSession",)


class LoopSession:
    """An `AdapterSession` over our own loop, with every unit the loop advertises."""

    def __init__(self, session_id: str, means: Means, settings: LoopSettings, kept: Kept) -> None:
        self._id = session_id
        self._means = means
        self._settings = settings
        self._is_recovered = kept.is_recovered
        self._runs = Lineup(session_id, means, settings, kept)
        self._announcements = RunStream()
        self._announced = 0
        self._switched_by: str | None = None

    @property
    def id(self) -> str:
        return self._id

    @property
    def native_id(self) -> str:
        """The name of its conversation; its own id where none is kept."""
        conversation = self._means.conversation
        return self._id if conversation is None else conversation.native_id

    # --- admission ---

    async def submit(self, request: Envelope[MessageSubmitRequest]) -> MessageSubmitResponse:
        verify_submit(request, self._settings.descriptor)
        payload = request.payload
        if payload.delivery == "steer":
            no_controls(payload)
        controls = read_controls(payload, self._settings.catalog.models, self._runs.toolbox.offers)
        if any(message.role != "user" for message in payload.messages):
            raise Refused.because("invalid_submission", "a submitted message is the user's", place="$.payload.messages")
        if payload.delivery == "steer":
            return await self._steer(request)
        if payload.target_run_id is not UNSET:
            raise Refused.because("invalid_submission", "only a steer has a target", place="$.payload.target_run_id")
        await self._runs.room()
        ticket = Ticket("turns", payload.messages, controls)
        reply = self._runs.admit(request.id, ticket, payload.delivery, MessageSubmitResponse)
        current: Maybe[str] = self._runs.model_ref if reply.admission == "started" else UNSET
        return msgspec.structs.replace(reply, model_id=controls.model_id or current)

    async def compact(self, request: Envelope[SessionCompactRequest]) -> SessionCompactResponse:
        verify_compact(request, self._settings.descriptor)
        payload = request.payload
        await self._runs.room()
        work: Work = "compaction_then_turns" if payload.continue_ is True else "compaction"
        ticket = Ticket(work, focus=payload.focus or None)
        return self._runs.admit(request.id, ticket, payload.delivery or "auto", SessionCompactResponse)

    async def _steer(self, request: Envelope[MessageSubmitRequest]) -> MessageSubmitResponse:
        # Who reads the events has to know that the run started before they hear that it is steered.
        await self._runs.begun(self._steered(request.payload.target_run_id).run.run_id)
        driver = self._steered(request.payload.target_run_id)
        messages = tuple(_with_id(message, self._means.ids.new("msg")) for message in request.payload.messages)
        steer = Steer(self._means.ids.new("sub"), request.id, messages)
        driver.send(Steered(steer))
        return MessageSubmitResponse(
            session_id=self._id,
            accepted=True,
            submission_id=steer.submission_id,
            requested_delivery="steer",
            effective_delivery="steer",
            admission="steered",
            run_id=driver.run.run_id,
            status="running",
            message_ids=steer.message_ids,
            target_sequence=driver.told.sequence,
        )

    def _steered(self, target: Maybe[str]) -> RunDriver:
        """The run a steer goes into. Raises `Refused` `invalid_steer_target`, `session_closed`."""
        if self._runs.line.is_closed:
            raise Refused.because("session_closed", "the session is closed")
        at_work = self._runs.line.at_work
        run_id = target or (at_work.run_id if at_work else "")
        driver, reason = self._runs.drivers.get(run_id), None
        if driver is None:
            named = "not_started" if self._runs.is_waiting(run_id) else "unknown_run"
            reason = named if target else "no_started_run"
        elif driver.told.ending is not None:
            reason = "run_terminal"
        elif not driver.run.is_steerable:
            reason = "not_steerable"
        if driver is None or reason is not None:
            raise Refused.because("invalid_steer_target", "no run takes this steer", reason=reason)
        return driver

    # --- events ---

    def events(self, run_id: str) -> AsyncIterator[Envelope[Wire]]:
        return self._runs.events(run_id)

    def resume(self, run_id: str, after: int) -> AsyncIterator[Envelope[Wire]]:
        return self._runs.resume(run_id, after)

    async def session_events(self) -> AsyncIterator[Envelope[Wire]]:
        async for envelope in self._announcements.read():
            yield envelope

    def _announce(self) -> None:
        self._announced += 1
        envelope: Envelope[Wire] = Envelope(
            type="session.state.updated",
            id=self._means.ids.new("ev"),
            payload=self._state(),
            sequence=self._announced,
            timestamp_ms=self._now_ms(),
            session_id=self._id,
            capability_revision=self._settings.descriptor.revision,
        )
        self._announcements.tell(envelope)

    # --- answers ---

    async def resolve(self, request: Envelope[Any]) -> Wire:
        verify_pin(request, self._settings.descriptor)
        payload = request.payload
        if isinstance(payload, ActionCallResolveRequest):
            return await self.resolve_call(request)
        driver = self._driver(payload.run_id)
        scope = {"interaction_id": payload.interaction_id, "session_id": self._id, "run_id": payload.run_id}
        if isinstance(payload, PermissionResolveRequest):
            verify_permission(driver.run, payload)
            signed = read_consent_answer(request).signed
            answer = ToolAnswer(payload.granted, signed or None, payload.reason or None)
            driver.send(Answered(answer))
            return PermissionResolveResponse(**scope, accepted=True)
        if isinstance(payload, UserInputResolveRequest):
            verify_reply(driver.run, payload)
            driver.send(Replied(payload.answers))
            return UserInputResolveResponse(**scope, accepted=True)
        if isinstance(payload, UserInputCancelRequest):
            verify_reply(driver.run, payload)
            driver.send(Replied(None))
            return UserInputCancelResponse(**scope, accepted=True)
        raise Misuse(f"`{request.type}` answers nothing")

    async def resolve_call(self, request: Envelope[ActionCallResolveRequest]) -> ActionCallResolveResponse:
        verify_pin(request, self._settings.descriptor)
        payload = request.payload
        driver = self._runs.drivers.get(payload.run_id)
        if driver is None:
            return call_answer(payload, "unknown_interaction")
        reason = judge_word(driver.run, payload, driver.told.settled)
        if reason is None:
            driver.send(Worded(request.id, payload))
            return call_answer(payload)
        settlement = driver.told.settled.get(payload.interaction_id)
        if settlement is not None:
            # What the answer points at comes before it for everybody.
            await driver.told.dealt_with(settlement.sequence)
        return call_answer(payload, reason, settlement)

    async def cancel(self, request: Envelope[RunCancelRequest]) -> RunCancelResponse:
        verify_pin(request, self._settings.descriptor)
        payload = request.payload
        told = self._runs.told.get(payload.run_id)
        if told is None:
            raise Refused.because("run_not_found", "this session never had that run")
        if told.ending not in (None, "run.cancelled"):
            raise Refused.because("run_terminal", "the run has ended")
        place = self._runs.line.place_of(payload.run_id)
        status: RunStatus = "cancelling" if told.ending is None else "cancelled"
        if place is not None and place.standing is Standing.RESERVED:
            self._runs.withdraw(payload.run_id, payload.reason or None)
        elif (driver := self._runs.drivers.get(payload.run_id)) is not None:
            driver.send(Cancel(payload.reason or None))
        return RunCancelResponse(session_id=self._id, run_id=payload.run_id, accepted=True, status=status)

    def _driver(self, run_id: str) -> RunDriver:
        driver = self._runs.drivers.get(run_id)
        if driver is None:
            raise Refused.because("run_not_found", "this session started no such run")
        return driver

    # --- settings and views ---

    async def switch_model(self, request: Envelope[ModelSwitchRequest]) -> ModelSwitchResponse:
        verify_feature(request, self._settings.descriptor, "session.model.switch")
        model_id, before = request.payload.model_id, self._runs.model_ref
        verify_model(model_id, self._settings.catalog.models)
        if self._runs.line.is_closed:
            raise Refused.because("session_closed", "the session is closed")
        self._runs.switch(model_id)
        self._switched_by = request.id
        if self._means.conversation is not None:
            self._means.conversation.keep(ModelSwitched(model_ref=model_id))
        self._announce()
        return ModelSwitchResponse(session_id=self._id, model_id=model_id, previous_model_id=before)

    async def state(self) -> SessionState:
        return self._state()

    def _state(self) -> SessionState:
        runs, settings = self._runs, self._settings
        return state_of(
            SessionView(
                session_id=self._id,
                line=runs.line,
                drivers=runs.drivers,
                told=runs.told,
                requests=runs.requests,
                model_ref=runs.model_ref,
                sources=settings.toolbox.published,
                policy=settings.terms.compaction_policy,
                level=settings.terms.reasoning_level,
                is_recovered=self._is_recovered,
                at_ms=self._now_ms(),
            )
        )

    async def models(self, request: ModelsRequest) -> ModelsResponse:
        catalog, switched = self._settings.catalog, self._switched_by
        return ModelsResponse(
            session_id=self._id,
            models=tuple(catalog.models.values()),
            current_model_id=self._runs.model_ref,
            providers=catalog.providers,
            as_of_model_event=ModelEventPosition(switch_request_id=switched) if switched else UNSET,
        )

    async def tools(self, request: ToolsListRequest) -> ToolsListResponse:
        toolbox = self._runs.toolbox
        return ToolsListResponse(session_id=self._id, sources=toolbox.published, tools=toolbox.definitions)

    def _now_ms(self) -> int:
        return int(self._means.clock.now().timestamp() * 1000)

    # --- the end ---

    async def close(self) -> None:
        if self._runs.line.is_closed:
            return
        try:
            await self._runs.close()
        finally:  # also where whoever closes gives up: a conversation that stays locked cannot be taken up again
            self._announcements.end()
            if self._settings.release is not None:
                await self._settings.release()


def _with_id(message: Message, minted: str) -> Message:
    return message if message.id else msgspec.structs.replace(message, id=minted)
