"""Envelopes of made-up runs, numbered as a hub numbers them: to show the terminal UI's parts and to test them.

A `Tale` is one session. Each method returns the envelope it made, so that a test may tell it late, twice or never.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sayso.control.protocol.consent import write_consent_question
from sayso.control.protocol.envelope import Envelope
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
from sayso.control.protocol.payloads.compaction import RunCompactionEnded, RunCompactionStarted
from sayso.control.protocol.payloads.content import Message, ReasoningPart, TextPart, Usage
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.interaction import UserInputRequested, UserInputResolved, UserQuestion
from sayso.control.protocol.payloads.run import ContentDelta, RunCancelled, RunCompleted, RunFailed, RunStarted
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe, Wire
from sayso.control.protocol.payloads.steer import RunSteerApplied, RunSteerDropped

__all__ = ("Tale",)

_SESSION = "s1"
_CHOICES = (PermissionChoice(id="yes", label="Yes"), PermissionChoice(id="no", label="No"))


class Tale:
    """One session, told event by event to `hear`; `clock_ms` moves by 100 with each."""

    def __init__(self, hear: Callable[[Envelope[Wire]], None] = lambda envelope: None, *, clock_ms: int = 0) -> None:
        self.hear = hear
        self.clock_ms = clock_ms
        self.told: list[Envelope[Wire]] = []
        self._numbers: dict[str, int] = {}

    def tell(
        self, type_: str, payload: Wire, run: str, call: str | None = None, beside: Maybe[JsonObject] = UNSET
    ) -> Envelope[Wire]:
        """Any event of a run."""
        number = self._numbers[run] = self._numbers.get(run, 0) + 1
        self.clock_ms += 100
        envelope: Envelope[Wire] = Envelope(
            type=type_,
            id=f"e{len(self.told) + 1}",
            payload=payload,
            sequence=number,
            timestamp_ms=self.clock_ms,
            session_id=_SESSION,
            run_id=run,
            tool_call_id=call or UNSET,
            extensions=beside,
        )
        self.told.append(envelope)
        self.hear(envelope)
        return envelope

    def start(self, run: str = "r1", model: Maybe[str] = UNSET) -> Envelope[Wire]:
        """`run.started`."""
        return self.tell("run.started", RunStarted(**_scope(run), status="running", model_id=model), run)

    def text(self, delta: str, run: str = "r1", message: Maybe[str] = UNSET) -> Envelope[Wire]:
        """A delta of the answer."""
        return self.tell(
            "content.delta", ContentDelta(**_scope(run), part=TextPart(text=delta), message_id=message), run
        )

    def think(self, delta: str, run: str = "r1") -> Envelope[Wire]:
        """A delta of reasoning."""
        return self.tell("content.delta", ContentDelta(**_scope(run), part=ReasoningPart(reasoning=delta)), run)

    def complete(self, final: str = "", run: str = "r1", usage: Maybe[Usage] = UNSET) -> Envelope[Wire]:
        """`run.completed`."""
        message = Message(role="assistant", content=final)
        end = RunCompleted(**_scope(run), final_response=message, stop_reason="end_turn", usage=usage)
        return self.tell("run.completed", end, run)

    def fail(self, code: str, message: str, run: str = "r1") -> Envelope[Wire]:
        """`run.failed`."""
        return self.tell("run.failed", RunFailed(**_scope(run), error=ProtocolError(code=code, message=message)), run)

    def cancel(self, run: str = "r1") -> Envelope[Wire]:
        """`run.cancelled`."""
        return self.tell("run.cancelled", RunCancelled(**_scope(run)), run)

    def ask_call(self, name: str, arguments: object, call: str = "c1", run: str = "r1") -> Envelope[Wire]:
        """`action.call.requested`."""
        asked = ActionCallRequested(**_call(run, call), requested_by="agent", name=name, arguments_json=arguments)
        return self.tell("action.call.requested", asked, run, call)

    def start_call(self, name: str, call: str = "c1", run: str = "r1") -> Envelope[Wire]:
        """`action.call.started`."""
        return self.tell("action.call.started", ActionCallStarted(**_call(run, call), name=name), run, call)

    def end_call(self, result: object, call: str = "c1", run: str = "r1") -> Envelope[Wire]:
        """`action.call.completed`."""
        return self.tell("action.call.completed", ActionCallCompleted(**_call(run, call), result=result), run, call)

    def fail_call(self, message: str, call: str = "c1", run: str = "r1") -> Envelope[Wire]:
        """`action.call.failed`."""
        failed = ActionCallFailed(**_call(run, call), error=ProtocolError(code="tool_failed", message=message))
        return self.tell("action.call.failed", failed, run, call)

    def cancel_call(self, call: str = "c1", run: str = "r1") -> Envelope[Wire]:
        """`action.call.cancelled`."""
        return self.tell("action.call.cancelled", ActionCallCancelled(**_call(run, call)), run, call)

    def ask(
        self,
        title: str,
        text: str,
        question: str = "q1",
        call: str = "c1",
        run: str = "r1",
        document: bytes | None = None,
    ) -> Envelope[Wire]:
        """`action.permission.requested`; with a document, one to sign."""
        asked = PermissionRequested(
            **_scope(run), **_question(question), title=title, description=text, choices=_CHOICES, tool_call_id=call
        )
        beside: Maybe[JsonObject] = UNSET
        if document is not None:
            beside = write_consent_question(kind="limits", media_type="application/json", document=document, text=text)
        return self.tell("action.permission.requested", asked, run, call, beside)

    def answer(self, *, granted: bool, question: str = "q1", run: str = "r1") -> Envelope[Wire]:
        """`action.permission.resolved`."""
        resolved = PermissionResolved(**_scope(run), **_question(question), outcome="resolved", granted=granted)
        return self.tell("action.permission.resolved", resolved, run)

    def ask_input(
        self, title: str, questions: Sequence[UserQuestion], question: str = "q1", run: str = "r1", **more: Any
    ) -> Envelope[Wire]:
        """`user.input.requested`."""
        asked = UserInputRequested(
            **_scope(run), **_question(question), title=title, questions=tuple(questions), **more
        )
        return self.tell("user.input.requested", asked, run)

    def withdraw(self, question: str = "q1", run: str = "r1") -> Envelope[Wire]:
        """`user.input.resolved` as cancelled."""
        resolved = UserInputResolved(**_scope(run), **_question(question), status="cancelled")
        return self.tell("user.input.resolved", resolved, run)

    def settle_steer(self, submission: str, why: str = "", run: str = "r1") -> Envelope[Wire]:
        """`run.steer.applied`, or dropped for a reason."""
        scope: Mapping[str, Any] = {**_scope(run), "submission_id": submission, "request_id": f"{submission}-request"}
        if why:
            dropped = RunSteerDropped(**scope, reason=ProtocolError(code="steer_dropped", message=why))
            return self.tell("run.steer.dropped", dropped, run)
        return self.tell("run.steer.applied", RunSteerApplied(**scope, message_ids=(), boundary="turn"), run)

    def compact(self, before: int, after: int, summary: str, run: str = "r1") -> Envelope[Wire]:
        """A compaction from start to end."""
        started = RunCompactionStarted(**_scope(run), compaction_id="k1", reason="threshold", history_tokens=before)
        self.tell("run.compaction.started", started, run)
        message = Message(role="assistant", content=summary)
        ended = RunCompactionEnded(
            **_scope(run), compaction_id="k1", outcome="completed", summary=message, history_tokens=after
        )
        return self.tell("run.compaction.ended", ended, run)


def _scope(run: str) -> dict[str, Any]:
    return {"session_id": _SESSION, "run_id": run}


def _call(run: str, call: str) -> dict[str, Any]:
    return {**_scope(run), "tool_call_id": call, "execution_owner": "agent"}


def _question(question: str) -> dict[str, Any]:
    return {"interaction_id": question, "requested_by": "agent", "responded_by": "user"}
