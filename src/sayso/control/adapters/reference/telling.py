"""The events a run of the memory adapter tells; one place fills their scope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sayso.control.adapters.reference.offering import AGENT
from sayso.control.adapters.reference.talk import Call, Gate, Steer
from sayso.control.protocol.closing import Telling
from sayso.control.protocol.payloads.action import (
    ActionCallCancelled,
    ActionCallCompleted,
    ActionCallFailed,
    ActionCallRequested,
    ActionCallStarted,
    PermissionChoice,
    PermissionOutcome,
    PermissionRequested,
    PermissionResolved,
)
from sayso.control.protocol.payloads.compaction import (
    CompactionOutcome,
    CompactionReason,
    RunCompactionEnded,
    RunCompactionStarted,
)
from sayso.control.protocol.payloads.content import ContentPart, Message, Usage
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.interaction import (
    UserAnswer,
    UserInputRequested,
    UserInputResolved,
    UserQuestion,
)
from sayso.control.protocol.payloads.run import (
    ContentDelta,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    RunStatus,
    RunStatusUpdated,
)
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe
from sayso.control.protocol.payloads.steer import RunSteerApplied, RunSteerDropped, SteerBoundary

__all__ = ("CHOICES", "Teller")

CHOICES = {"allow": True, "deny": False}
"""The two ways to answer a permission, and what each grants."""


@dataclass(frozen=True, slots=True)
class Teller:
    """Writes the tellings of one run; `responder` is who answers its questions."""

    session_id: str
    run_id: str
    responder: str

    @property
    def _scope(self) -> dict[str, Any]:
        return {"session_id": self.session_id, "run_id": self.run_id}

    def started(self, model_id: str) -> Telling:
        return Telling("run.started", RunStarted(**self._scope, status="running", model_id=model_id))

    def status(self, status: RunStatus, pending: Maybe[str] = UNSET) -> Telling:
        updated = RunStatusUpdated(**self._scope, status=status, pending_user_input_id=pending)
        return Telling("run.status.updated", updated)

    def delta(self, part: ContentPart, message_id: str) -> Telling:
        return Telling("content.delta", ContentDelta(**self._scope, part=part, message_id=message_id))

    # --- calls ---

    def call_requested(self, call: Call, interaction_id: Maybe[str] = UNSET) -> Telling:
        requested = ActionCallRequested(
            **self._scope,
            tool_call_id=call.tool_call_id,
            requested_by=AGENT,
            responded_by=UNSET if interaction_id is UNSET else self.responder,
            execution_owner=call.tool.execution_owner,
            source=call.tool.source,
            name=call.tool.name,
            arguments_json=call.arguments,
            interaction_id=interaction_id,
        )
        return Telling("action.call.requested", requested, call.tool_call_id)

    def call_started(self, call: Call, gate: Gate | None = None, request_id: Maybe[str] = UNSET) -> Telling:
        started = ActionCallStarted(
            **self._scope,
            tool_call_id=call.tool_call_id,
            execution_owner=call.tool.execution_owner,
            source=call.tool.source,
            name=call.tool.name,
            interaction_id=gate.interaction_id if gate else UNSET,
            request_id=request_id,
            arguments_json=call.arguments,
        )
        return Telling("action.call.started", started, call.tool_call_id)

    def call_completed(
        self, call: Call, result: object, gate: Gate | None = None, request_id: Maybe[str] = UNSET
    ) -> Telling:
        completed = ActionCallCompleted(
            **self._scope,
            tool_call_id=call.tool_call_id,
            execution_owner=call.tool.execution_owner,
            source=call.tool.source,
            name=call.tool.name,
            interaction_id=gate.interaction_id if gate else UNSET,
            request_id=request_id,
            result=result,
        )
        return Telling("action.call.completed", completed, call.tool_call_id)

    def call_failed(
        self, call: Call, error: ProtocolError, gate: Gate | None = None, request_id: Maybe[str] = UNSET
    ) -> Telling:
        failed = ActionCallFailed(
            **self._scope,
            tool_call_id=call.tool_call_id,
            execution_owner=call.tool.execution_owner,
            source=call.tool.source,
            name=call.tool.name,
            interaction_id=gate.interaction_id if gate else UNSET,
            request_id=request_id,
            error=error,
        )
        return Telling("action.call.failed", failed, call.tool_call_id)

    def call_cancelled(self, call: Call, gate: Gate | None) -> Telling:
        cancelled = ActionCallCancelled(
            **self._scope,
            tool_call_id=call.tool_call_id,
            execution_owner=call.tool.execution_owner,
            source=call.tool.source,
            name=call.tool.name,
            interaction_id=gate.interaction_id if gate else UNSET,
        )
        return Telling("action.call.cancelled", cancelled, call.tool_call_id)

    # --- interactions ---

    def permission_asked(self, gate: Gate, call: Call) -> Telling:
        asked = PermissionRequested(
            **self._scope,
            interaction_id=gate.interaction_id,
            requested_by=AGENT,
            responded_by=self.responder,
            tool_call_id=call.tool_call_id,
            title=f"May {call.tool.name} run?",
            choices=(PermissionChoice(id="allow", label="Allow"), PermissionChoice(id="deny", label="Deny")),
            arguments_json=call.arguments,
        )
        return Telling("action.permission.requested", asked, call.tool_call_id)

    def permission_closed(
        self, gate: Gate, outcome: PermissionOutcome, *, granted: Maybe[bool] = UNSET, choice_id: Maybe[str] = UNSET
    ) -> Telling:
        closed = PermissionResolved(
            **self._scope,
            interaction_id=gate.interaction_id,
            requested_by=AGENT,
            responded_by=self.responder,
            tool_call_id=gate.tool_call_id or UNSET,
            outcome=outcome,
            granted=granted,
            choice_id=choice_id,
        )
        return Telling("action.permission.resolved", closed, gate.tool_call_id)

    def questions_asked(self, gate: Gate, questions: tuple[UserQuestion, ...]) -> Telling:
        asked = UserInputRequested(
            **self._scope,
            interaction_id=gate.interaction_id,
            requested_by=AGENT,
            responded_by=self.responder,
            title="Two questions",
            questions=questions,
            allow_cancel=True,
        )
        return Telling("user.input.requested", asked)

    def questions_closed(self, gate: Gate, answers: Maybe[tuple[UserAnswer, ...]]) -> Telling:
        closed = UserInputResolved(
            **self._scope,
            interaction_id=gate.interaction_id,
            requested_by=AGENT,
            responded_by=self.responder,
            status="cancelled" if answers is UNSET else "submitted",
            answers=answers,
        )
        return Telling("user.input.resolved", closed)

    # --- steers and compactions ---

    def steer_applied(self, steer: Steer, boundary: SteerBoundary) -> Telling:
        applied = RunSteerApplied(
            **self._scope,
            submission_id=steer.submission_id,
            request_id=steer.request_id,
            message_ids=steer.message_ids,
            boundary=boundary,
        )
        return Telling("run.steer.applied", applied)

    def steer_dropped(self, steer: Steer) -> Telling:
        reason = ProtocolError(code="run_terminated", message="the run ended before the steer was applied")
        dropped = RunSteerDropped(
            **self._scope, submission_id=steer.submission_id, request_id=steer.request_id, reason=reason
        )
        return Telling("run.steer.dropped", dropped)

    def compaction_started(self, compaction_id: str, reason: CompactionReason, tokens: int) -> Telling:
        started = RunCompactionStarted(**self._scope, compaction_id=compaction_id, reason=reason, history_tokens=tokens)
        return Telling("run.compaction.started", started)

    def compaction_ended(
        self,
        compaction_id: str,
        outcome: CompactionOutcome,
        *,
        summary: Maybe[Message] = UNSET,
        tokens: Maybe[int] = UNSET,
        error: Maybe[ProtocolError] = UNSET,
    ) -> Telling:
        ended = RunCompactionEnded(
            **self._scope,
            compaction_id=compaction_id,
            outcome=outcome,
            summary=summary,
            history_tokens=tokens,
            error=error,
        )
        return Telling("run.compaction.ended", ended)

    # --- terminals ---

    def completed(
        self, final: Message, stop_reason: str, model_id: str, usage: Usage, result: Maybe[JsonObject]
    ) -> Telling:
        completed = RunCompleted(
            **self._scope,
            final_response=final,
            stop_reason=stop_reason,
            model_id=model_id,
            result=result,
            usage=usage,
            settled_by="observed",
        )
        return Telling("run.completed", completed)

    def failed(self, error: ProtocolError) -> Telling:
        return Telling("run.failed", RunFailed(**self._scope, error=error, settled_by="observed"))

    def cancelled(self, reason: Maybe[str]) -> Telling:
        return Telling("run.cancelled", RunCancelled(**self._scope, reason=reason, settled_by="observed"))
