"""What an answer does to its run: a permission's, the person's, the client's about a tool of its own (OAP-017, 083).

Only the declared responder answers, once, and answers are held against their questions before anything goes on. What
cannot count is refused, except a client's word about its tool, whose refusal is an answer with a reason; of several
reasons the highest is given: unknown_interaction, wrong_responder, already_resolved, repeated_acknowledgement. The
fifth, late_acknowledgement, cannot happen here: a result and the terminal it makes are one step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sayso.control.adapters.reference.offering import AGENT
from sayso.control.adapters.reference.scene import QUESTIONS, Scene
from sayso.control.adapters.reference.talk import Decision, MemoryRun, MemorySession
from sayso.control.adapters.reference.telling import CHOICES
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import (
    ActionCallResolveRequest,
    ActionCallResolveResponse,
    CallRefusal,
    CallRefusalReason,
    PermissionOutcome,
    PermissionResolveRequest,
    PermissionResolveResponse,
)
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.interaction import (
    UserAnswer,
    UserInputCancelRequest,
    UserInputCancelResponse,
    UserInputResolveRequest,
    UserInputResolveResponse,
    UserQuestion,
)
from sayso.control.protocol.payloads.scalars import UNSET, Maybe
from sayso.core.refusal import Refused

__all__ = (
    "answer_questions",
    "decline_questions",
    "permit",
    "refuse_call",
    "reject_answer",
    "resolve_call",
    "resolve_late",
)


def permit(session: MemorySession, run: MemoryRun, request: Envelope[PermissionResolveRequest]) -> Decision:
    """The tool runs or is denied, and the script goes on."""
    payload = request.payload
    gate, call = run.gate, run.call
    if gate is None or call is None or not _may_answer(run, payload):
        return reject_answer(session, run, request)
    if payload.choice_id is not UNSET and CHOICES.get(payload.choice_id) is not payload.granted:
        raise Refused.because("resolution_rejected", "the choice and the grant differ", reason="invalid_answer")
    scene = Scene(session, run)
    outcome: PermissionOutcome = "resolved" if payload.granted else "rejected"
    scene.emit(
        scene.tell.permission_closed(gate, outcome, granted=payload.granted, choice_id=payload.choice_id),
        scene.tell.status("running"),
    )
    scene.change(gate=None)
    if payload.granted:
        if payload.updated_arguments_json is not UNSET:
            scene.change(call=replace(call, arguments=payload.updated_arguments_json))
        scene.finish_call()
    else:
        error = ProtocolError(code="permission_denied", message="the person said no")
        scene.emit(scene.tell.call_failed(call, error))
        scene.change(call=None)
        scene.take_steers("tool_result")
    scene.play()
    reply = PermissionResolveResponse(
        interaction_id=gate.interaction_id, session_id=session.session_id, run_id=run.run_id, accepted=True
    )
    return Decision(scene.session, reply, tuple(scene.tellings))


def answer_questions(session: MemorySession, run: MemoryRun, request: Envelope[UserInputResolveRequest]) -> Decision:
    """Answers that fit are submitted, and the script goes on."""
    payload = request.payload
    if run.gate is None or not _may_answer(run, payload):
        return reject_answer(session, run, request)
    if wrong := _misfit(payload.answers):
        raise Refused.because("resolution_rejected", wrong, reason="invalid_answer")
    reply = UserInputResolveResponse(
        interaction_id=run.gate.interaction_id, session_id=session.session_id, run_id=run.run_id, accepted=True
    )
    return _go_on(session, run, payload.answers, reply)


def decline_questions(session: MemorySession, run: MemoryRun, request: Envelope[UserInputCancelRequest]) -> Decision:
    """The questions are cancelled, and the script goes on."""
    if run.gate is None or not _may_answer(run, request.payload):
        return reject_answer(session, run, request)
    reply = UserInputCancelResponse(
        interaction_id=run.gate.interaction_id, session_id=session.session_id, run_id=run.run_id, accepted=True
    )
    return _go_on(session, run, UNSET, reply)


def _go_on(
    session: MemorySession,
    run: MemoryRun,
    answers: Maybe[tuple[UserAnswer, ...]],
    reply: UserInputResolveResponse | UserInputCancelResponse,
) -> Decision:
    scene = Scene(session, run)
    if run.gate is not None:
        scene.emit(scene.tell.questions_closed(run.gate, answers), scene.tell.status("running"))
    scene.change(gate=None)
    scene.take_steers("turn")
    scene.play()
    return Decision(scene.session, reply, tuple(scene.tellings))


def _misfit(answers: tuple[UserAnswer, ...]) -> str | None:
    """Why these answers do not fit the questions, or None (OAP-017)."""
    questions = {question.id: question for question in QUESTIONS}
    given = [answer.question_id for answer in answers]
    if len(set(given)) != len(given):
        return "a question is answered twice"
    if missing := [each.id for each in QUESTIONS if each.required is True and each.id not in given]:
        return f"`{missing[0]}` must be answered"
    for answer in answers:
        if answer.question_id not in questions:
            return f"`{answer.question_id}` was not asked"
        if not _fits(questions[answer.question_id], answer):
            return f"this is no answer to `{answer.question_id}`"
    return None


def _fits(question: UserQuestion, answer: UserAnswer) -> bool:
    if question.kind == "text":
        return answer.text is not UNSET
    chosen = answer.selected_option_ids or ()
    offered = {option.id for option in question.options or ()}
    return set(chosen) <= offered and (len(chosen) == 1 or question.kind == "multi_choice")


def _may_answer(run: MemoryRun, payload: Any) -> bool:
    return (
        run.gate is not None
        and payload.interaction_id == run.gate.interaction_id
        and (payload.requested_by, payload.responded_by) == (AGENT, run.responder)
    )


def reject_answer(_session: MemorySession, run: MemoryRun, request: Envelope[Any]) -> Decision:
    is_open = run.gate is not None and request.payload.interaction_id == run.gate.interaction_id
    reason = "wrong_responder" if is_open else "unknown_interaction"
    raise Refused.because("resolution_rejected", "this answer cannot count", reason=reason)


# --- the client's own tools ------------------------------------------------------------------------------------------


def resolve_call(session: MemorySession, run: MemoryRun, request: Envelope[ActionCallResolveRequest]) -> Decision:
    """The call starts, or ends as the client says and the script goes on."""
    payload, gate, call = request.payload, run.gate, run.call
    if gate is None or call is None or payload.interaction_id != gate.interaction_id:
        return resolve_late(session, run, request)
    if payload.tool_call_id != call.tool_call_id:
        return refuse_call(session, payload, "unknown_interaction")
    if (payload.requested_by, payload.responded_by) != (AGENT, run.responder):
        return refuse_call(session, payload, "wrong_responder")
    scene = Scene(session, run)
    if payload.started is not UNSET:
        if call.acknowledged is not None:
            return refuse_call(session, payload, "repeated_acknowledgement")
        scene.change(call=replace(call, acknowledged=request.id))
        scene.emit(scene.tell.call_started(call, gate, request.id))
        return Decision(scene.session, _call_accepted(session, payload), tuple(scene.tellings))
    if call.acknowledged is None:
        scene.emit(scene.tell.call_started(call, gate, request.id))
    if payload.error is not UNSET:
        scene.emit(scene.tell.call_failed(call, payload.error, gate, request.id))
    else:
        scene.emit(scene.tell.call_completed(call, payload.result, gate, request.id))
    scene.settle(gate)
    scene.emit(scene.tell.status("running"))
    scene.change(gate=None, call=None)
    scene.take_steers("tool_result")
    scene.play()
    return Decision(scene.session, _call_accepted(session, payload), tuple(scene.tellings))


def resolve_late(session: MemorySession, run: MemoryRun, request: Envelope[ActionCallResolveRequest]) -> Decision:
    payload = request.payload
    settlement = run.settled.get(payload.interaction_id)
    if settlement is None:
        return refuse_call(session, payload, "unknown_interaction")
    if (payload.requested_by, payload.responded_by) != (AGENT, run.responder):
        return refuse_call(session, payload, "wrong_responder")
    return refuse_call(session, payload, "already_resolved", settlement)


def _call_accepted(session: MemorySession, payload: ActionCallResolveRequest) -> ActionCallResolveResponse:
    return ActionCallResolveResponse(
        interaction_id=payload.interaction_id,
        session_id=session.session_id,
        run_id=payload.run_id,
        tool_call_id=payload.tool_call_id,
        accepted=True,
    )


def refuse_call(
    session: MemorySession,
    payload: ActionCallResolveRequest,
    reason: CallRefusalReason,
    settlement_id: str | None = None,
) -> Decision:
    """What cannot count is an answer; `settlement_id` is made the envelope's id by the driver."""
    reply = ActionCallResolveResponse(
        interaction_id=payload.interaction_id,
        session_id=session.session_id,
        run_id=payload.run_id,
        tool_call_id=payload.tool_call_id,
        accepted=False,
        reason=reason,
        details=UNSET if settlement_id is None else CallRefusal(settlement_id=settlement_id),
    )
    return Decision(session, reply)
