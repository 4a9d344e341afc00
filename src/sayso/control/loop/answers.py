"""Whether an answer counts: to a permission, to the model's questions, about a tool of the client's own (OAP-017, 083).

Only the declared responder answers, once, and answers are held against their questions before anything goes on. A
permission is a yes or a no to one call as it stands: arguments are not rewritten, and no yes lasts (OAP-157). What
cannot count is refused, except a client's word about its tool, whose refusal is an answer with a reason; of several
reasons the highest is given: unknown_interaction, wrong_responder, already_resolved, repeated_acknowledgement. The
fifth, late_acknowledgement, cannot happen here: a result and the terminal it makes are one step.
"""

from __future__ import annotations

from collections.abc import Mapping

from sayso.control.loop.questions import misfit
from sayso.control.loop.run import LoopRun, Phase
from sayso.control.loop.telling import AGENT, CHOICES
from sayso.control.loop.told import Settled
from sayso.control.protocol.payloads.action import (
    ActionCallResolveRequest,
    ActionCallResolveResponse,
    CallRefusal,
    CallRefusalReason,
    PermissionResolveRequest,
)
from sayso.control.protocol.payloads.interaction import UserInputCancelRequest, UserInputResolveRequest
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.core.refusal import Refused

__all__ = ("call_answer", "judge_word", "verify_permission", "verify_reply")


def verify_permission(run: LoopRun, payload: PermissionResolveRequest) -> None:
    """Raises `Refused`: `resolution_rejected`, `unsupported_feature`, `invalid_request`."""
    _verify_who(run, payload, asks_questions=False)
    if payload.updated_arguments_json is not UNSET:
        details = {"feature": "permissions.updated_arguments", "reason": "unadvertised"}
        raise Refused.because("unsupported_feature", "an answer may not rewrite the arguments", details=details)
    if payload.choice_id is not UNSET and CHOICES.get(payload.choice_id) is not payload.granted:
        raise Refused.because("invalid_request", "the choice and the grant contradict one another")


def verify_reply(run: LoopRun, payload: UserInputResolveRequest | UserInputCancelRequest) -> None:
    """Raises `Refused` `resolution_rejected`; the questions stay open."""
    _verify_who(run, payload, asks_questions=True)
    questions = run.current.questions if run.current else None
    if isinstance(payload, UserInputResolveRequest) and (wrong := misfit(questions or (), payload.answers)):
        raise Refused.because("resolution_rejected", wrong, reason="invalid_answer")


def _verify_who(
    run: LoopRun,
    payload: PermissionResolveRequest | UserInputResolveRequest | UserInputCancelRequest,
    *,
    asks_questions: bool,
) -> None:
    current = run.current
    is_kind = current is not None and (current.questions is not None) == asks_questions
    if run.phase is not Phase.ASKING or not is_kind or run.interaction_id != payload.interaction_id:
        raise Refused.because("resolution_rejected", "this question is not open", reason="unknown_interaction")
    if (payload.requested_by, payload.responded_by) != (AGENT, run.responder):
        raise Refused.because("resolution_rejected", "this question is another's to answer", reason="wrong_responder")


def judge_word(
    run: LoopRun, payload: ActionCallResolveRequest, settled: Mapping[str, Settled]
) -> CallRefusalReason | None:
    """Why a client's word about its tool cannot count now; None when it does."""
    is_theirs = (payload.requested_by, payload.responded_by) == (AGENT, run.responder)
    before = settled.get(payload.interaction_id)
    if before is not None and before.tool_call_id == payload.tool_call_id:
        return "already_resolved" if is_theirs else "wrong_responder"
    current = run.current
    if current is None or run.phase is not Phase.HANDED:
        return "unknown_interaction"
    if (current.interaction_id, current.call.tool_call_id) != (payload.interaction_id, payload.tool_call_id):
        return "unknown_interaction"
    if not is_theirs:
        return "wrong_responder"
    is_repeated = payload.started is not UNSET and current.acknowledged is not None
    return "repeated_acknowledgement" if is_repeated else None


def call_answer(
    payload: ActionCallResolveRequest, reason: CallRefusalReason | None = None, settlement: Settled | None = None
) -> ActionCallResolveResponse:
    """The answer to a client's word: accepted, or why not, and then by which event its call had ended."""
    is_late = reason == "already_resolved" and settlement is not None
    return ActionCallResolveResponse(
        interaction_id=payload.interaction_id,
        session_id=payload.session_id,
        run_id=payload.run_id,
        tool_call_id=payload.tool_call_id,
        accepted=reason is None,
        reason=reason or UNSET,
        details=CallRefusal(settlement_id=settlement.envelope_id) if is_late and settlement else UNSET,
    )
