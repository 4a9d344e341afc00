"""What must be said before a run can end early: whatever is coupled to it closes first, innermost first (OAP-013).

The hub uses it when an adapter's stream breaks off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sayso.control.protocol.conversation import Run
from sayso.control.protocol.payloads.action import ActionCallCancelled, PermissionResolved
from sayso.control.protocol.payloads.compaction import RunCompactionEnded
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.interaction import UserInputResolved
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe, Wire
from sayso.control.protocol.payloads.steer import RunSteerDropped

__all__ = ("Telling", "closings")


@dataclass(frozen=True, slots=True)
class Telling:
    """An event yet without number and id."""

    type: str
    payload: Wire
    tool_call_id: str | None = None
    extensions: Maybe[JsonObject] = UNSET


def closings(
    run: Run, run_id: str, execution_owner: str, error: ProtocolError, submissions: Mapping[str, str]
) -> list[Telling]:
    """The events that close what is open in this run: interactions, the calls that waited for them, a compaction, which
    fails with `error`, and steers, whose submissions `submissions` names by their request.
    """
    tellings = [_gate_closing(run, run_id, name) for name in run.open_gates]
    for name in run.open_calls:
        payload = ActionCallCancelled(
            session_id=run.session_id, run_id=run_id, tool_call_id=name, execution_owner=execution_owner
        )
        tellings.append(Telling("action.call.cancelled", payload, name))
    for name in run.open_compactions:
        ended = RunCompactionEnded(
            session_id=run.session_id, run_id=run_id, compaction_id=name, outcome="failed", error=error
        )
        tellings.append(Telling("run.compaction.ended", ended))
    for name in run.open_steers:
        dropped = RunSteerDropped(
            session_id=run.session_id,
            run_id=run_id,
            submission_id=submissions.get(name, name),
            request_id=name,
            reason=ProtocolError(code="run_terminated", message="the run ended before the guidance was applied"),
        )
        tellings.append(Telling("run.steer.dropped", dropped))
    return tellings


def _gate_closing(run: Run, run_id: str, name: str) -> Telling:
    gate = run.gates[name]
    if gate.kind == "user_input":
        closed = UserInputResolved(
            interaction_id=name,
            requested_by=gate.requested_by,
            responded_by=gate.responded_by,
            session_id=run.session_id,
            run_id=run_id,
            status="cancelled",
        )
        return Telling("user.input.resolved", closed)
    resolved = PermissionResolved(
        interaction_id=name,
        requested_by=gate.requested_by,
        responded_by=gate.responded_by,
        session_id=run.session_id,
        run_id=run_id,
        tool_call_id=gate.tool_call_id or UNSET,
        outcome="cancelled",
    )
    return Telling("action.permission.resolved", resolved, gate.tool_call_id)
