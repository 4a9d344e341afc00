"""A tool call: requested, started, and ended as completed, failed or cancelled (OAP-013, OAP-084).

It may fail or be cancelled before it starts, as a denied one does, but never complete. Where the control layer runs the
call, `handed` says what its events must rest on.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from sayso.control.protocol.conversation import CallState, Run
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.machine.faults import Faults
from sayso.control.protocol.machine.handed import call_moved
from sayso.control.protocol.payloads.scalars import Wire

__all__ = ("CALL_TABLE", "CallMove", "call_event")


class CallMove(Enum):
    """What an event does to its tool call."""

    REQUEST = "action.call.requested"
    START = "action.call.started"
    PROGRESS = "action.call.progress"
    COMPLETE = "action.call.completed"
    FAIL = "action.call.failed"
    CANCEL = "action.call.cancelled"


CALL_TABLE: Mapping[tuple[CallState, CallMove], CallState] = {
    (CallState.ABSENT, CallMove.REQUEST): CallState.REQUESTED,
    (CallState.REQUESTED, CallMove.START): CallState.STARTED,
    (CallState.REQUESTED, CallMove.FAIL): CallState.FAILED,
    (CallState.REQUESTED, CallMove.CANCEL): CallState.CANCELLED,
    (CallState.STARTED, CallMove.PROGRESS): CallState.STARTED,
    (CallState.STARTED, CallMove.COMPLETE): CallState.COMPLETED,
    (CallState.STARTED, CallMove.FAIL): CallState.FAILED,
    (CallState.STARTED, CallMove.CANCEL): CallState.CANCELLED,
}
CALL_LANDS: Mapping[CallMove, CallState] = {
    CallMove.START: CallState.STARTED,
    CallMove.PROGRESS: CallState.STARTED,
    CallMove.COMPLETE: CallState.COMPLETED,
    CallMove.FAIL: CallState.FAILED,
    CallMove.CANCEL: CallState.CANCELLED,
}
"""Where a call stands that was met under way; and where a faulty terminal leaves one."""
_TERMINALS = (CallMove.COMPLETE, CallMove.FAIL, CallMove.CANCEL)


def call_event(run: Run, envelope: Envelope[Wire], faults: Faults, *, is_partial: bool) -> Run:
    """The run after one event of a tool call."""
    name, move = str(envelope.tool_call_id), CallMove(envelope.type)
    before = run.calls.get(name, CallState.ABSENT)
    after = CALL_TABLE.get((before, move))
    if after is None and before is CallState.ABSENT and run.is_met:
        after = CALL_LANDS[move]
    if after is None:
        code = "unmatched_tool" if before is CallState.ABSENT else "illegal_tool_transition"
        faults.add(code, f"`{envelope.type}` cannot come while the call is {before.value}")
        if before is CallState.ABSENT:
            return run
        after = CALL_LANDS[move] if move in _TERMINALS else before
    elif before is not CallState.ABSENT or move is CallMove.REQUEST:
        run = call_moved(run, name, envelope, faults, is_partial=is_partial)
    return msgspec.structs.replace(run, calls=run.calls.set(name, after))
