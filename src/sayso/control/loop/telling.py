"""The events a run of our loop tells: one place fills their scope, so that no decision can mix up two runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sayso.control.loop.contract import ToolAnswer, ToolAsks, ToolCall
from sayso.control.protocol.closing import Telling
from sayso.control.protocol.consent import write_consent_question
from sayso.control.protocol.payloads.action import (
    ActionCallCancelled,
    ActionCallCompleted,
    ActionCallFailed,
    ActionCallRequested,
    ActionCallStarted,
    PermissionChoice,
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

__all__ = ("AGENT", "CHOICES", "PERSON", "Owned", "Teller", "failure_of")

AGENT = "agent"
PERSON = "user"
CHOICES = {"yes": True, "no": False}
"""The two ways to answer a permission, and what each grants."""


def failure_of(result: object, last: ToolAnswer | None) -> ProtocolError:
    """An error result as the wire's error: denied if the person's last word was no, else the tool's own words."""
    code = "permission_denied" if last is not None and not last.granted else "tool_failed"
    text = result.get("message") if isinstance(result, Mapping) else result
    message = text if isinstance(text, str) and text else "the tool answered with an error"
    return ProtocolError(code=code, message=message, details={"result": result})


@dataclass(frozen=True, slots=True)
class Owned:
    """Whose a call is: the source it belongs to, who runs it, and, where the client does, the interaction it is."""

    source: Maybe[str] = UNSET
    owner: str = AGENT
    interaction_id: Maybe[str] = UNSET


@dataclass(frozen=True, slots=True)
class Teller:
    """Writes the tellings of one run; `responder` is who answers its questions."""

    session_id: str
    run_id: str
    responder: str = PERSON

    @property
    def _scope(self) -> dict[str, Any]:
        return {"session_id": self.session_id, "run_id": self.run_id}

    def _of(self, call: ToolCall, by: Owned) -> dict[str, Any]:
        return {
            **self._scope,
            "tool_call_id": call.tool_call_id,
            "execution_owner": by.owner,
            "source": by.source,
            "name": call.name,
            "interaction_id": by.interaction_id,
        }

    def _between(self, interaction_id: str) -> dict[str, Any]:
        asked = {"interaction_id": interaction_id, "requested_by": AGENT, "responded_by": self.responder}
        return {**self._scope, **asked}

    def started(self, model_id: str) -> Telling:
        return Telling("run.started", RunStarted(**self._scope, status="running", model_id=model_id))

    def status(self, status: RunStatus, pending: Maybe[str] = UNSET) -> Telling:
        updated = RunStatusUpdated(**self._scope, status=status, pending_user_input_id=pending)
        return Telling("run.status.updated", updated)

    def delta(self, part: ContentPart, message_id: str) -> Telling:
        return Telling("content.delta", ContentDelta(**self._scope, part=part, message_id=message_id))

    # --- calls ---

    def call_requested(self, call: ToolCall, arguments: object, by: Owned) -> Telling:
        requested = ActionCallRequested(
            **self._of(call, by),
            requested_by=AGENT,
            responded_by=UNSET if by.interaction_id is UNSET else self.responder,
            arguments_json=arguments,
        )
        return Telling("action.call.requested", requested, call.tool_call_id)

    def call_started(self, call: ToolCall, by: Owned, request_id: Maybe[str] = UNSET) -> Telling:
        started = ActionCallStarted(**self._of(call, by), request_id=request_id)
        return Telling("action.call.started", started, call.tool_call_id)

    def call_completed(self, call: ToolCall, result: object, by: Owned, request_id: Maybe[str] = UNSET) -> Telling:
        completed = ActionCallCompleted(**self._of(call, by), result=result, request_id=request_id)
        return Telling("action.call.completed", completed, call.tool_call_id)

    def call_failed(self, call: ToolCall, error: ProtocolError, by: Owned, request_id: Maybe[str] = UNSET) -> Telling:
        failed = ActionCallFailed(**self._of(call, by), error=error, request_id=request_id)
        return Telling("action.call.failed", failed, call.tool_call_id)

    def call_cancelled(self, call: ToolCall, by: Owned) -> Telling:
        return Telling("action.call.cancelled", ActionCallCancelled(**self._of(call, by)), call.tool_call_id)

    # --- interactions ---

    def asked(self, call: ToolCall, asks: ToolAsks, interaction_id: str) -> Telling:
        requested = PermissionRequested(
            **self._between(interaction_id),
            tool_call_id=call.tool_call_id,
            title=asks.title,
            description=asks.text,
            choices=(PermissionChoice(id="yes", label="Yes"), PermissionChoice(id="no", label="No")),
            arguments_json=call.arguments,
        )
        beside: Maybe[JsonObject] = UNSET
        if asks.document is not None:
            beside = write_consent_question(
                kind=asks.kind, media_type=asks.media_type, document=asks.document, text=asks.text
            )
        return Telling("action.permission.requested", requested, call.tool_call_id, beside)

    def answered(self, call: ToolCall, interaction_id: str, *, granted: bool) -> Telling:
        resolved = PermissionResolved(
            **self._between(interaction_id),
            tool_call_id=call.tool_call_id,
            outcome="resolved" if granted else "rejected",
            choice_id="yes" if granted else "no",
            granted=granted,
        )
        return Telling("action.permission.resolved", resolved, call.tool_call_id)

    def unanswered(self, call: ToolCall, interaction_id: str) -> Telling:
        resolved = PermissionResolved(
            **self._between(interaction_id), tool_call_id=call.tool_call_id, outcome="cancelled"
        )
        return Telling("action.permission.resolved", resolved, call.tool_call_id)

    def questions_asked(
        self, call: ToolCall, questions: tuple[UserQuestion, ...], title: str, interaction_id: str
    ) -> Telling:
        asked = UserInputRequested(
            **self._between(interaction_id),
            tool_call_id=call.tool_call_id,
            title=title,
            questions=questions,
            allow_cancel=True,
        )
        return Telling("user.input.requested", asked, call.tool_call_id)

    def questions_closed(self, interaction_id: str, answers: tuple[UserAnswer, ...] | None) -> Telling:
        closed = UserInputResolved(
            **self._between(interaction_id),
            status="cancelled" if answers is None else "submitted",
            answers=UNSET if answers is None else answers,
        )
        return Telling("user.input.resolved", closed)

    # --- steers and compactions ---

    def steer_applied(
        self, submission_id: str, request_id: str, message_ids: tuple[str, ...], boundary: SteerBoundary
    ) -> Telling:
        applied = RunSteerApplied(
            **self._scope,
            submission_id=submission_id,
            request_id=request_id,
            message_ids=message_ids,
            boundary=boundary,
        )
        return Telling("run.steer.applied", applied)

    def steer_dropped(self, submission_id: str, request_id: str) -> Telling:
        reason = ProtocolError(code="run_terminated", message="the run ended before the steer was applied")
        dropped = RunSteerDropped(**self._scope, submission_id=submission_id, request_id=request_id, reason=reason)
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
        self,
        final: Message,
        stop_reason: str,
        model_id: str,
        usage: Maybe[Usage],
        result: Maybe[JsonObject] = UNSET,
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

    def cancelled(self, reason: str | None) -> Telling:
        return Telling("run.cancelled", RunCancelled(**self._scope, reason=reason or UNSET, settled_by="observed"))
