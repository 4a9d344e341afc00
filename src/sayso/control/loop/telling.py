"""The events a run of our loop tells: one place fills their scope, so that no decision can mix up two runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
from sayso.control.protocol.payloads.content import ContentPart, Message, Usage
from sayso.control.protocol.payloads.error import ProtocolError
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

__all__ = ("AGENT", "CHOICES", "PERSON", "Teller", "failure_of")

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
class Teller:
    """Writes the tellings of one run."""

    session_id: str
    run_id: str

    def started(self, model_id: str) -> Telling:
        started = RunStarted(session_id=self.session_id, run_id=self.run_id, status="running", model_id=model_id)
        return Telling("run.started", started)

    def status(self, status: RunStatus) -> Telling:
        updated = RunStatusUpdated(session_id=self.session_id, run_id=self.run_id, status=status)
        return Telling("run.status.updated", updated)

    def delta(self, part: ContentPart, message_id: str) -> Telling:
        delta = ContentDelta(session_id=self.session_id, run_id=self.run_id, part=part, message_id=message_id)
        return Telling("content.delta", delta)

    def call_requested(self, call: ToolCall, arguments: object, source: Maybe[str]) -> Telling:
        requested = ActionCallRequested(
            session_id=self.session_id,
            run_id=self.run_id,
            tool_call_id=call.tool_call_id,
            requested_by=AGENT,
            execution_owner=AGENT,
            source=source,
            name=call.name,
            arguments_json=arguments,
        )
        return Telling("action.call.requested", requested, call.tool_call_id)

    def call_started(self, call: ToolCall, source: Maybe[str]) -> Telling:
        started = ActionCallStarted(
            session_id=self.session_id,
            run_id=self.run_id,
            tool_call_id=call.tool_call_id,
            execution_owner=AGENT,
            source=source,
            name=call.name,
        )
        return Telling("action.call.started", started, call.tool_call_id)

    def call_completed(self, call: ToolCall, result: object, source: Maybe[str]) -> Telling:
        completed = ActionCallCompleted(
            session_id=self.session_id,
            run_id=self.run_id,
            tool_call_id=call.tool_call_id,
            execution_owner=AGENT,
            source=source,
            name=call.name,
            result=result,
        )
        return Telling("action.call.completed", completed, call.tool_call_id)

    def call_failed(self, call: ToolCall, error: ProtocolError, source: Maybe[str]) -> Telling:
        failed = ActionCallFailed(
            session_id=self.session_id,
            run_id=self.run_id,
            tool_call_id=call.tool_call_id,
            execution_owner=AGENT,
            source=source,
            name=call.name,
            error=error,
        )
        return Telling("action.call.failed", failed, call.tool_call_id)

    def call_cancelled(self, call: ToolCall, source: Maybe[str]) -> Telling:
        cancelled = ActionCallCancelled(
            session_id=self.session_id,
            run_id=self.run_id,
            tool_call_id=call.tool_call_id,
            execution_owner=AGENT,
            source=source,
            name=call.name,
        )
        return Telling("action.call.cancelled", cancelled, call.tool_call_id)

    def asked(self, call: ToolCall, asks: ToolAsks, interaction_id: str) -> Telling:
        requested = PermissionRequested(
            interaction_id=interaction_id,
            requested_by=AGENT,
            responded_by=PERSON,
            session_id=self.session_id,
            run_id=self.run_id,
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
            interaction_id=interaction_id,
            requested_by=AGENT,
            responded_by=PERSON,
            session_id=self.session_id,
            run_id=self.run_id,
            tool_call_id=call.tool_call_id,
            outcome="resolved" if granted else "rejected",
            choice_id="yes" if granted else "no",
            granted=granted,
        )
        return Telling("action.permission.resolved", resolved, call.tool_call_id)

    def unanswered(self, call: ToolCall, interaction_id: str) -> Telling:
        resolved = PermissionResolved(
            interaction_id=interaction_id,
            requested_by=AGENT,
            responded_by=PERSON,
            session_id=self.session_id,
            run_id=self.run_id,
            tool_call_id=call.tool_call_id,
            outcome="cancelled",
        )
        return Telling("action.permission.resolved", resolved, call.tool_call_id)

    def completed(self, final: Message, stop_reason: str, model_id: str, usage: Maybe[Usage]) -> Telling:
        completed = RunCompleted(
            session_id=self.session_id,
            run_id=self.run_id,
            final_response=final,
            stop_reason=stop_reason,
            model_id=model_id,
            usage=usage,
            settled_by="observed",
        )
        return Telling("run.completed", completed)

    def failed(self, error: ProtocolError) -> Telling:
        failed = RunFailed(session_id=self.session_id, run_id=self.run_id, error=error, settled_by="observed")
        return Telling("run.failed", failed)

    def cancelled(self, reason: str | None) -> Telling:
        cancelled = RunCancelled(
            session_id=self.session_id, run_id=self.run_id, reason=reason or UNSET, settled_by="observed"
        )
        return Telling("run.cancelled", cancelled)
