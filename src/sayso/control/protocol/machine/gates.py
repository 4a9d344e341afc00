"""A gate: a question to a declared responder, a permission or a user input (OAP-017).

Asked once, perhaps answered by one accepted resolve, closed once by its resolved event, which reports the answer that
was accepted. The answer's response and the event are not ordered, so either may come first.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from sayso.control.protocol.conversation import Asked, Gate, GateKind, GateState, ResolveFault, Run
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.machine.faults import Faults
from sayso.control.protocol.payloads.action import PermissionRequested, PermissionResolved, PermissionResolveRequest
from sayso.control.protocol.payloads.interaction import UserInputRequested, UserInputResolved
from sayso.control.protocol.payloads.scalars import UNSET, Wire

__all__ = ("GATE_TABLE", "GateMove", "accept_answer", "answer_fault", "gate_asked", "gate_closed")


class GateMove(Enum):
    """What an event or an accepted resolve does to its gate."""

    ASK = "requested"
    ANSWER = "resolve accepted"
    CLOSE = "resolved"


GATE_TABLE: Mapping[tuple[GateState, GateMove], GateState] = {
    (GateState.ABSENT, GateMove.ASK): GateState.OPEN,
    (GateState.OPEN, GateMove.ANSWER): GateState.ANSWERED,
    (GateState.OPEN, GateMove.CLOSE): GateState.CLOSED,
    (GateState.ANSWERED, GateMove.CLOSE): GateState.CLOSED,
}


def gate_kind(payload: Wire) -> GateKind:
    """Which of the two kinds a payload speaks of."""
    is_permission = isinstance(payload, (PermissionRequested, PermissionResolveRequest, PermissionResolved))
    return "permission" if is_permission else "user_input"


def answer_fault(run: Run, payload: Wire) -> ResolveFault | None:
    """Why a permission's or a user input's resolve may not be accepted now; None when it may."""
    name = getattr(payload, "interaction_id", "")
    gate = run.gates.get(name)
    if gate is None:
        return None if run.is_met else "unknown_interaction"
    if gate.kind != gate_kind(payload):
        return "unknown_interaction"
    if gate.state is not GateState.OPEN:
        return "already_resolved"
    asked = (getattr(payload, "requested_by", None), getattr(payload, "responded_by", None))
    return None if asked == (gate.requested_by, gate.responded_by) else "wrong_responder"


def accept_answer(run: Run, asked: Asked) -> Run:
    """The run after an accepted resolve that had no fault."""
    name = str(getattr(asked.envelope.payload, "interaction_id", ""))
    gate = run.gates.get(name)
    if gate is None:
        return run
    after = GATE_TABLE.get((gate.state, GateMove.ANSWER), gate.state)
    granted = getattr(asked.envelope.payload, "granted", None)
    answers = getattr(asked.envelope.payload, "answers", None)
    gate = msgspec.structs.replace(gate, state=after, granted=granted, answers=answers, answered_by=asked.envelope.id)
    return msgspec.structs.replace(run, gates=run.gates.set(name, gate))


def gate_asked(run: Run, envelope: Envelope[Wire], faults: Faults) -> Run:
    """The run after a question was asked."""
    payload = envelope.payload
    if not isinstance(payload, (PermissionRequested, UserInputRequested)):
        return run
    if payload.interaction_id in run.gates or payload.interaction_id in run.interactions:
        faults.add("duplicate_interaction", "an interaction is asked once")
        return run
    call = payload.tool_call_id if payload.tool_call_id is not UNSET else None
    gate = Gate(gate_kind(payload), payload.requested_by, payload.responded_by, call)
    return msgspec.structs.replace(run, gates=run.gates.set(payload.interaction_id, gate))


def gate_closed(run: Run, envelope: Envelope[Wire], faults: Faults) -> Run:
    """The run after a question was resolved."""
    payload = envelope.payload
    if not isinstance(payload, (PermissionResolved, UserInputResolved)):
        return run
    gate = run.gates.get(payload.interaction_id)
    if gate is None and run.is_met:
        return run
    if gate is None or gate.kind != gate_kind(payload):
        faults.add("unmatched_interaction", "no such interaction was asked")
        return run
    if (gate.state, GateMove.CLOSE) not in GATE_TABLE:
        faults.add("duplicate_interaction", "an interaction is resolved once")
    elif (payload.requested_by, payload.responded_by) != (gate.requested_by, gate.responded_by):
        faults.add("wrong_interaction_responder", "only the declared responder answers")
    elif _contradicts(gate, payload):
        faults.add("resolution_payload_mismatch", "the event does not report the answer that was accepted")
    closed = msgspec.structs.replace(gate, state=GateState.CLOSED)
    return msgspec.structs.replace(run, gates=run.gates.set(payload.interaction_id, closed))


def _contradicts(gate: Gate, payload: PermissionResolved | UserInputResolved) -> bool:
    """Whether the event says another thing than the accepted answer. Withdrawn after all, it says nothing of it."""
    if isinstance(payload, UserInputResolved):
        is_told = payload.status == "submitted" and gate.answered_by is not None
        return is_told and payload.answers != gate.answers
    told = payload.outcome in ("resolved", "rejected") and payload.granted is not UNSET
    return told and gate.granted is not None and payload.granted != gate.granted
