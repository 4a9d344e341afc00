"""One session of the memory adapter, as decisions: a command goes in, a new session, tellings and an answer come out.

Theory. A session has runs, of which one at most has started and not ended; behind it stands at most one reservation. A
run is *reserved* by its admission and starts when every run admitted before it is over. Started, it plays the beats of
its script (`scene`) until one waits: for a permission (*permitting*), for answers (*asking*), for the client's own tool
(*calling*), in a compaction held open (*compacting*), or for nothing but a steer (*holding*). Every wait ends by the
command made for it or by a cancel; a cancel closes what is open, innermost first, and only then tells the terminal. A
run leaves the queue once its first event was *read*, and is over for the session once its terminal was, so that both
happen at the same point of the trace for everybody.

Admission is one ladder. What is elected at all was judged by `adapters.gates`; here the values come first (`controls`),
then the session's state: busy without room is `run_active`, a steer without a run that takes it `invalid_steer_target`.
A refusal leaves the session as it was, ids included.

What an answer does to its run stands in `answering`, with what the table cannot say: who may answer, whether answers
fit their questions, and the ways in which a client's word about its tool cannot count, ranked. Time, envelope ids and
streams are the driver's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import msgspec

from sayso.control.adapters.choosing import ToolChoice, verify_model
from sayso.control.adapters.reference.answering import (
    answer_questions,
    decline_questions,
    permit,
    refuse_call,
    reject_answer,
    resolve_call,
    resolve_late,
)
from sayso.control.adapters.reference.controls import Controls, read_controls
from sayso.control.adapters.reference.offering import ATTACHABLE, MAX_QUEUED_RUNS
from sayso.control.adapters.reference.scene import Scene
from sayso.control.adapters.reference.script import SCRIPTS, Beat, compaction_beats, script_of, text_of_last
from sayso.control.adapters.reference.talk import Decision, MemoryRun, MemorySession, Phase, Steer
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ActionCallResolveRequest, PermissionResolveRequest
from sayso.control.protocol.payloads.capabilities import EffectiveDelivery, RequestedDelivery
from sayso.control.protocol.payloads.compaction import SessionCompactRequest, SessionCompactResponse
from sayso.control.protocol.payloads.content import text_of
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.interaction import UserInputCancelRequest, UserInputResolveRequest
from sayso.control.protocol.payloads.models import (
    ModelDescriptor,
    ModelSwitchRequest,
    ModelSwitchResponse,
    ProviderAttachRequest,
    ProviderAttachResponse,
    SessionProvider,
)
from sayso.control.protocol.payloads.run import RunCancelRequest, RunCancelResponse
from sayso.control.protocol.payloads.scalars import UNSET, Maybe
from sayso.control.protocol.payloads.session import Admission, MessageSubmitRequest, MessageSubmitResponse
from sayso.core.refusal import Refused

__all__ = ("ELSE", "TABLE", "Begun", "Close", "Command", "Read", "decide")

# --- commands --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Begun:
    """The first event of this run was read."""

    run_id: str


@dataclass(frozen=True, slots=True)
class Read:
    """The terminal of this run was read."""

    run_id: str


@dataclass(frozen=True, slots=True)
class Close:
    """The session ends."""


Command: TypeAlias = Envelope[Any] | Begun | Read | Close
"""A request as it came, or what happened to the session."""


def decide(session: MemorySession, command: Command, responder: str = "user") -> Decision:
    """What one command changes; `responder` answers the questions of a run it admits.

    Raises `Refused`: `invalid_submission`, `unsupported_feature`, `model_not_found`, `run_active`,
    `invalid_steer_target`, `run_not_found`, `run_terminal`, `resolution_rejected`, `provider_conflict`,
    `session_closed`.
    """
    if isinstance(command, Begun):
        return Decision(session.with_run(replace(session.runs[command.run_id], is_waiting=False)))
    if isinstance(command, Read):
        return _read(session, command.run_id)
    if isinstance(command, Close):
        return _close(session)
    if session.is_closed:
        raise Refused.because("session_closed", "the session is closed")
    if isinstance(command.payload, (MessageSubmitRequest, SessionCompactRequest)):
        return _admit(session, command, responder)
    if isinstance(command.payload, ModelSwitchRequest):
        return _switch(session, command)
    if isinstance(command.payload, ProviderAttachRequest):
        return _attach(session, command.payload)
    return _to_run(session, command)


# --- admission -------------------------------------------------------------------------------------------------------


def _admit(session: MemorySession, request: Envelope[Any], responder: str) -> Decision:
    payload = request.payload
    if isinstance(payload, SessionCompactRequest):
        beats = compaction_beats(continues=payload.continue_ is True)
        run = MemoryRun(
            run_id="",
            request_id=request.id,
            responder=responder,
            messages=(),
            beats=beats,
            controls=Controls(None, None, ToolChoice(), has_schema=False),
            focus=payload.focus or None,
            is_steerable=payload.continue_ is True,
        )
        return _place(session, run, payload.delivery or "auto", SessionCompactResponse)
    tools, models = session.tools, [model.id for model in session.models]
    controls = read_controls(payload, models, tools)
    if any(message.role != "user" for message in payload.messages):
        raise Refused.because("invalid_submission", "a submitted message is the user's", place="$.payload.messages")
    if payload.delivery == "steer":
        return _steer(session, request)
    if payload.target_run_id is not UNSET:
        raise Refused.because("invalid_submission", "only a steer has a target", place="$.payload.target_run_id")
    script = script_of(text_of_last(payload.messages))
    run = MemoryRun(
        run_id="",
        request_id=request.id,
        responder=responder,
        messages=payload.messages,
        beats=(Beat.THRESHOLD, *SCRIPTS[script]),
        controls=controls,
        is_stubborn=script == "stubborn",
    )
    return _place(session, run, payload.delivery, MessageSubmitResponse)


def _place(
    session: MemorySession,
    run: MemoryRun,
    delivery: RequestedDelivery,
    answer: type[MessageSubmitResponse] | type[SessionCompactResponse],
) -> Decision:
    """A run of its own: started where the session is free, reserved where it is not or where that was asked for."""
    is_busy = bool(session.live)
    if is_busy and len(session.waiting) >= MAX_QUEUED_RUNS:
        raise Refused.because("run_active", "a run is under way and the queue is full")
    run_id, session = session.mint("r")
    submission_id, session = session.mint("s")
    starts = not is_busy and delivery == "auto"
    run = replace(run, run_id=run_id, is_waiting=not starts)
    session = replace(session.with_run(run), live=(*session.live, run_id))
    admission: Admission = "started" if starts else "queued"
    effective: EffectiveDelivery = "start" if starts else "queue"
    scene = _start(session, run) if not is_busy else Scene(session, run)
    reply = answer(
        session_id=session.session_id,
        accepted=True,
        submission_id=submission_id,
        requested_delivery=delivery,
        effective_delivery=effective,
        admission=admission,
        delivery_resolution=_resolution(delivery, is_busy=is_busy),
        run_id=run_id,
        status="running" if starts else "queued",
    )
    if isinstance(reply, MessageSubmitResponse):
        model_id: Maybe[str] = scene.run.model_id if starts else run.controls.model_id or UNSET
        reply = msgspec.structs.replace(reply, model_id=model_id)
    return Decision(scene.session, reply, tuple(scene.tellings))


def _resolution(delivery: RequestedDelivery, *, is_busy: bool) -> Maybe[str]:
    if delivery != "auto":
        return UNSET
    return "session_busy" if is_busy else "session_idle"


def _start(session: MemorySession, run: MemoryRun) -> Scene:
    """A reservation's model is the one in force now, unless its submission named one."""
    scene = Scene(session, run)
    scene.change(model_id=run.controls.model_id or session.model_id, has_started=True)
    scene.emit(scene.tell.started(scene.run.model_id))
    scene.play()
    return scene


def _steer(session: MemorySession, request: Envelope[MessageSubmitRequest]) -> Decision:
    payload = request.payload
    target = _target(session, payload.target_run_id)
    submission_id, session = session.mint("s")
    ids = []
    for message in payload.messages:
        minted, session = session.mint("m")
        ids.append(message.id or minted)
    scene = Scene(session, target)
    told = target.told
    steer = Steer(submission_id, request.id, tuple(ids), "\n".join(text_of(each.content) for each in payload.messages))
    scene.change(steers=(*target.steers, steer))
    if target.phase is Phase.HOLDING:
        scene.take_steers("turn")
        scene.play()
    reply = MessageSubmitResponse(
        session_id=session.session_id,
        accepted=True,
        submission_id=submission_id,
        requested_delivery="steer",
        effective_delivery="steer",
        admission="steered",
        run_id=target.run_id,
        status="running",
        message_ids=tuple(ids),
        target_sequence=told,
    )
    return Decision(scene.session, reply, tuple(scene.tellings))


def _target(session: MemorySession, target_run_id: Maybe[str]) -> MemoryRun:
    named = session.started if target_run_id is UNSET else session.runs.get(target_run_id)
    reason = None
    if named is None:
        reason = "no_started_run" if target_run_id is UNSET else "unknown_run"
    elif named.phase is Phase.RESERVED:
        reason = "not_started"
    elif named.phase is Phase.ENDED:
        reason = "run_terminal"
    elif not named.is_steerable:
        reason = "not_steerable"
    if named is None or reason is not None:
        raise Refused.because("invalid_steer_target", "no run takes this steer", reason=reason)
    return named


# --- the session -----------------------------------------------------------------------------------------------------


def _switch(session: MemorySession, request: Envelope[ModelSwitchRequest]) -> Decision:
    model_id = request.payload.model_id
    verify_model(model_id, [model.id for model in session.models])
    reply = ModelSwitchResponse(session_id=session.session_id, model_id=model_id, previous_model_id=session.model_id)
    return Decision(replace(session, model_id=model_id, switched_by=request.id), reply, announced=True)


def _attach(session: MemorySession, payload: ProviderAttachRequest) -> Decision:
    asked = payload.provider
    reply = ProviderAttachResponse(session_id=session.session_id, provider_id=asked.id)
    if session.attached.get(asked.id) == asked.provider_id and asked.service_id is UNSET:
        return Decision(session, reply)
    if asked.service_id is not UNSET or asked.provider_id != ATTACHABLE:
        details = {"feature": "action.providers.attach", "reason": "unsatisfiable", "field": "provider"}
        raise Refused.because("unsupported_feature", "no such provider can be attached here", details=details)
    if asked.id in {provider.id for provider in session.providers}:
        details = {"provider_id": asked.id}
        raise Refused.because("provider_conflict", "another provider has this id here", details=details)
    return Decision(
        replace(
            session,
            attached={**session.attached, asked.id: asked.provider_id},
            providers=(*session.providers, SessionProvider(id=asked.id)),
            models=(*session.models, ModelDescriptor(id=f"{asked.id}/one", provider_id=asked.id)),
        ),
        reply,
    )


def _read(session: MemorySession, run_id: str) -> Decision:
    """The run is over for everybody; the next in the order of admission starts, if it can."""
    live = tuple(name for name in session.live if name != run_id)
    session = replace(session, live=live)
    waiting = [run for run in session.live_runs if run.phase is Phase.RESERVED]
    if not waiting or session.live_runs[0] is not waiting[0]:
        return Decision(session)
    scene = _start(session, waiting[0])
    return Decision(scene.session, tellings=tuple(scene.tellings))


def _close(session: MemorySession) -> Decision:
    """What is live fails: nobody accepted a cancel of it."""
    tellings = []
    for run in session.live_runs:
        if run.phase is not Phase.ENDED:
            scene = Scene(session, run)
            scene.close_open()
            error = ProtocolError(code="session_closed", message="the session was closed")
            scene.end(scene.tell.failed(error), run.messages if run.has_started else ())
            session = scene.session
            tellings += scene.tellings
    return Decision(replace(session, is_closed=True), tellings=tuple(tellings))


# --- commands to a run -----------------------------------------------------------------------------------------------


def _to_run(session: MemorySession, request: Envelope[Any]) -> Decision:
    run_id = str(request.payload.run_id)
    run = session.runs.get(run_id)
    if run is None and isinstance(request.payload, ActionCallResolveRequest):
        return refuse_call(session, request.payload, "unknown_interaction")
    if run is None:
        raise Refused.because("run_not_found", "this session never had that run")
    act = TABLE.get((run.phase, type(request.payload))) or ELSE[type(request.payload)]
    return act(session, run, request)


def _cancel(session: MemorySession, run: MemoryRun, request: Envelope[RunCancelRequest]) -> Decision:
    """What is open closes, then `run.cancelled`; a stubborn run completes instead."""
    scene = Scene(session, run)
    if run.is_stubborn and run.has_started:
        scene.emit(scene.tell.status("cancelling"))
        scene.play()
    else:
        if run.has_started:
            scene.emit(scene.tell.status("cancelling"))
        scene.close_open()
        scene.end(scene.tell.cancelled(request.payload.reason), run.messages if run.has_started else ())
    return Decision(scene.session, _cancelled(session, run, "cancelling"), tuple(scene.tellings))


def _cancel_late(session: MemorySession, run: MemoryRun, _request: Envelope[RunCancelRequest]) -> Decision:
    """Accepted again where a cancel ended the run, else `run_terminal`."""
    if run.ending != "run.cancelled":
        raise Refused.because("run_terminal", "the run has ended")
    return Decision(session, _cancelled(session, run, "cancelled"))


def _cancelled(session: MemorySession, run: MemoryRun, status: Any) -> RunCancelResponse:
    return RunCancelResponse(session_id=session.session_id, run_id=run.run_id, accepted=True, status=status)


# --- table -----------------------------------------------------------------------------------------------------------

Act = Callable[[MemorySession, MemoryRun, Envelope[Any]], Decision]

_OPEN = tuple(phase for phase in Phase if phase is not Phase.ENDED)

TABLE: Mapping[tuple[Phase, type], Act] = {
    **{(phase, RunCancelRequest): _cancel for phase in _OPEN},
    (Phase.ENDED, RunCancelRequest): _cancel_late,
    (Phase.PERMITTING, PermissionResolveRequest): permit,
    (Phase.ASKING, UserInputResolveRequest): answer_questions,
    (Phase.ASKING, UserInputCancelRequest): decline_questions,
    (Phase.CALLING, ActionCallResolveRequest): resolve_call,
}
ELSE: Mapping[type, Act] = {
    PermissionResolveRequest: reject_answer,
    UserInputResolveRequest: reject_answer,
    UserInputCancelRequest: reject_answer,
    ActionCallResolveRequest: resolve_late,
}
"""What a command comes to in any other phase."""
