"""A call that the control layer runs: asked as an interaction, perhaps acknowledged, answered once, then settled by the
call's own terminal (OAP-083, OAP-084).

Why a resolution may not be accepted is ranked: no such interaction, the wrong responder, resolved already, acknowledged
already, acknowledged too late. An endpoint accepts exactly when there is no reason, and reports the highest when there
is one. What the call's events say rests on what was accepted: none starts without an accepted resolution, a completion
carries the accepted result and a failure the accepted error, each naming the request it came from. A call that was
acknowledged and never answered may still fail on its own: the harness waited long enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal

import msgspec

from sayso.control.protocol.conversation import Asked, Conversation, Handed, HandedState, ResolveFault, Run
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.machine.faults import Faults
from sayso.control.protocol.payloads.scalars import UNSET, Wire

__all__ = (
    "HANDED_TABLE",
    "RESOLVE_CODES",
    "HandedMove",
    "accept_resolution",
    "call_moved",
    "judge_refusal",
    "resolution_fault",
)


class HandedMove(Enum):
    """What an event or an accepted resolution does to a handed call."""

    ASK = "action.call.requested"
    ACKNOWLEDGE = "started accepted"
    ANSWER = "result or error accepted"
    SETTLE = "the call's terminal"


HANDED_TABLE: Mapping[tuple[HandedState, HandedMove], HandedState] = {
    (HandedState.ABSENT, HandedMove.ASK): HandedState.OPEN,
    (HandedState.OPEN, HandedMove.ACKNOWLEDGE): HandedState.ACKNOWLEDGED,
    (HandedState.OPEN, HandedMove.ANSWER): HandedState.ANSWERED,
    (HandedState.ACKNOWLEDGED, HandedMove.ANSWER): HandedState.ANSWERED,
    (HandedState.OPEN, HandedMove.SETTLE): HandedState.SETTLED,
    (HandedState.ACKNOWLEDGED, HandedMove.SETTLE): HandedState.SETTLED,
    (HandedState.ANSWERED, HandedMove.SETTLE): HandedState.SETTLED,
}

RESOLVE_CODES: Mapping[ResolveFault, str] = {
    "unknown_run": "unmatched_interaction",
    "unknown_interaction": "unmatched_interaction",
    "wrong_responder": "wrong_interaction_responder",
    "already_resolved": "duplicate_interaction",
    "repeated_acknowledgement": "duplicate_interaction",
    "late_acknowledgement": "duplicate_interaction",
}
"""The diagnostic for a resolution that was accepted, or refused for another reason, though this one held."""

_TERMINALS = ("action.call.completed", "action.call.failed", "action.call.cancelled")
_ARMS: Mapping[str, Literal["result", "error"]] = {"action.call.completed": "result", "action.call.failed": "error"}


def resolution_fault(run: Run, payload: Any) -> ResolveFault | None:
    """The highest reason why this `action.call.resolve.request` may not be accepted; None when it must be."""
    call = run.handed.get(run.interactions.get(payload.interaction_id, ""))
    if call is None or run.interactions.get(payload.interaction_id) != payload.tool_call_id:
        return None if run.is_met and payload.interaction_id not in run.interactions else "unknown_interaction"
    if (payload.requested_by, payload.responded_by) != (call.requested_by, call.responded_by):
        return "wrong_responder"
    if call.state is HandedState.SETTLED:
        return "already_resolved"
    if payload.started is not UNSET:
        if call.acknowledged_by is not None:
            return "repeated_acknowledgement"
        return "late_acknowledgement" if call.state is HandedState.ANSWERED else None
    return "already_resolved" if call.state is HandedState.ANSWERED else None


def accept_resolution(run: Run, asked: Asked) -> Run:
    """The run after an accepted resolution that had no fault."""
    request, payload = asked.envelope, _payload(asked.envelope)
    call = run.handed.get(payload.tool_call_id) or Handed(
        payload.interaction_id, payload.requested_by, payload.responded_by
    )
    if payload.started is not UNSET:
        after = HANDED_TABLE[call.state, HandedMove.ACKNOWLEDGE]
        call = msgspec.structs.replace(call, state=after, acknowledged_by=request.id)
    else:
        arm: Literal["result", "error"] = "error" if payload.error is not UNSET else "result"
        after = HANDED_TABLE[call.state, HandedMove.ANSWER]
        call = msgspec.structs.replace(call, state=after, answered_by=request.id, arm=arm, said=getattr(payload, arm))
    return msgspec.structs.replace(
        run,
        handed=run.handed.set(payload.tool_call_id, call),
        interactions=run.interactions.set(payload.interaction_id, payload.tool_call_id),
    )


def judge_refusal(state: Conversation, run: Run | None, asked: Asked, response: Any, faults: Faults) -> None:
    """A refused resolution: it was due, and for the reason that was given."""
    payload = _payload(asked.envelope)
    now = "unknown_run" if run is None else resolution_fault(run, payload)
    held = {fault for fault in (asked.fault, now) if fault}
    reported = "unknown_run" if response.reason == "unknown_interaction" and "unknown_run" in held else response.reason
    if reported in held or state.is_partial:
        _judge_settlement(run, payload, response, faults)
        return
    if not held and state.resolving.get(f"{asked.envelope.run_id} {payload.interaction_id}", 0) > 0:
        return
    fault = now or asked.fault
    code = RESOLVE_CODES[fault] if fault else "unmatched_interaction"
    faults.add(code, f"the resolution is refused as {response.reason}, but {fault or 'nothing'} stands against it")


def _judge_settlement(run: Run | None, payload: Any, response: Any, faults: Faults) -> None:
    call = run.handed.get(payload.tool_call_id) if run is not None else None
    if response.details is UNSET or call is None or call.settled_as is None:
        return
    if response.details.settlement_id not in (call.settled_as, call.answered_by):
        faults.add("unmatched_interaction", "the refusal points at an envelope that did not settle this call")


def call_moved(run: Run, name: str, envelope: Envelope[Wire], faults: Faults, *, is_partial: bool) -> Run:
    """The run after an event of a call, as far as the call was handed out."""
    payload: Any = envelope.payload
    if envelope.type == "action.call.requested":
        return _hand_out(run, name, payload, faults)
    call = run.handed.get(name)
    if call is None:
        return run
    if not is_partial:
        _judge_evidence(call, envelope, faults)
    if envelope.type not in _TERMINALS:
        return run
    after = HANDED_TABLE.get((call.state, HandedMove.SETTLE), call.state)
    call = msgspec.structs.replace(call, state=after, settled_as=envelope.id)
    return msgspec.structs.replace(run, handed=run.handed.set(name, call))


def _hand_out(run: Run, name: str, payload: Any, faults: Faults) -> Run:
    if payload.interaction_id is UNSET:
        return run
    if payload.interaction_id in run.interactions or payload.interaction_id in run.gates:
        faults.add("duplicate_interaction", "an interaction is asked once")
        return run
    if payload.responded_by is UNSET:
        faults.add("illegal_tool_transition", "a handed call says who may resolve it")
        return run
    call = Handed(payload.interaction_id, payload.requested_by, payload.responded_by)
    return msgspec.structs.replace(
        run,
        handed=run.handed.set(name, call),
        interactions=run.interactions.set(payload.interaction_id, name),
    )


def _judge_evidence(call: Handed, envelope: Envelope[Wire], faults: Faults) -> None:
    payload: Any = envelope.payload
    if envelope.type == "action.call.started":
        accepted = {call.acknowledged_by, call.answered_by} - {None}
        if not accepted:
            faults.add("illegal_tool_transition", "a handed call starts on an accepted resolution")
        elif payload.request_id not in accepted:
            faults.add("unmatched_interaction", "a handed call's start names the resolution it rests on")
        return
    arm = _ARMS.get(envelope.type)
    if arm is None or _gave_up(call, envelope):
        return
    if call.arm != arm:
        faults.add("illegal_tool_transition", f"a handed call ends so on an accepted {arm}")
    elif payload.request_id != call.answered_by:
        faults.add("unmatched_interaction", "a handed call's end names the resolution it rests on")
    elif getattr(payload, arm) != call.said:
        faults.add("resolution_payload_mismatch", f"the {arm} is not the one that was accepted")


def _gave_up(call: Handed, envelope: Envelope[Wire]) -> bool:
    """The harness waited long enough: an acknowledged call fails without an answer."""
    return envelope.type == "action.call.failed" and call.state is HandedState.ACKNOWLEDGED


def _payload(envelope: Envelope[Wire]) -> Any:
    return envelope.payload
