"""What must be said before a run can end early: every open interaction and tool call closes first (OAP-013).

The loop uses it when a run is cancelled or fails, the hub when an adapter's stream breaks off.
"""

from __future__ import annotations

from dataclasses import dataclass

from sayso.control.protocol.conversation import Run
from sayso.control.protocol.payloads.action import ActionCallCancelled, PermissionResolved
from sayso.control.protocol.payloads.interaction import UserInputResolved
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe, Wire

__all__ = ("Telling", "closings")


@dataclass(frozen=True, slots=True)
class Telling:
    """An event yet without number and id."""

    type: str
    payload: Wire
    tool_call_id: str | None = None
    extensions: Maybe[JsonObject] = UNSET


def closings(run: Run, run_id: str, execution_owner: str) -> list[Telling]:
    """The events that close what is open in this run: interactions first, then the calls that waited for them."""
    tellings = [_gate_closing(run, run_id, name) for name in run.open_gates]
    for name in run.open_calls:
        payload = ActionCallCancelled(
            session_id=run.session_id, run_id=run_id, tool_call_id=name, execution_owner=execution_owner
        )
        tellings.append(Telling("action.call.cancelled", payload, name))
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
