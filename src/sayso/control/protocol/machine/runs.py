"""A run: reserved by an admission, started by `run.started`, ended once (OAP-012, OAP-013).

A run that never started may only fail, or be cancelled. Its events are numbered from 1 without a gap. Whatever is
coupled to it closes before its terminal, and nothing of the run follows it. `run.cancelled` needs an accepted cancel.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from sayso.control.protocol.conversation import ENDED, Conversation, Run, RunState
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.machine.early import admitting, work_of
from sayso.control.protocol.machine.faults import Faults
from sayso.control.protocol.payloads.scalars import Wire

__all__ = (
    "COUPLED",
    "RUN_FAULTS",
    "RUN_LANDS",
    "RUN_MOVES",
    "RUN_TABLE",
    "RunMove",
    "meet",
    "number",
    "run_of",
    "settle",
)


class RunMove(Enum):
    """What an event does to its run."""

    START = "run.started"
    SPEAK = "any other event"
    COMPLETE = "run.completed"
    FAIL = "run.failed"
    CANCEL = "run.cancelled"


RUN_TABLE: Mapping[tuple[RunState, RunMove], RunState] = {
    (RunState.RESERVED, RunMove.START): RunState.STARTED,
    (RunState.RESERVED, RunMove.FAIL): RunState.FAILED,
    (RunState.RESERVED, RunMove.CANCEL): RunState.CANCELLED,
    (RunState.STARTED, RunMove.SPEAK): RunState.STARTED,
    (RunState.STARTED, RunMove.COMPLETE): RunState.COMPLETED,
    (RunState.STARTED, RunMove.FAIL): RunState.FAILED,
    (RunState.STARTED, RunMove.CANCEL): RunState.CANCELLED,
}
_TERMINALS = (RunMove.COMPLETE, RunMove.FAIL, RunMove.CANCEL)
RUN_FAULTS: Mapping[tuple[RunState, RunMove], str] = {
    (RunState.RESERVED, RunMove.SPEAK): "missing_run_started",
    (RunState.RESERVED, RunMove.COMPLETE): "missing_run_started",
    (RunState.STARTED, RunMove.START): "illegal_run_transition",
    **{(state, move): "duplicate_run_terminal" for state in ENDED for move in _TERMINALS},
    **{(state, move): "event_after_terminal" for state in ENDED for move in (RunMove.START, RunMove.SPEAK)},
}
RUN_LANDS: Mapping[RunMove, RunState] = {
    RunMove.COMPLETE: RunState.COMPLETED,
    RunMove.FAIL: RunState.FAILED,
    RunMove.CANCEL: RunState.CANCELLED,
}
"""Where a faulty move leaves a run that has not ended; other faulty moves leave it where it was."""

COUPLED = (
    ("calls", "pending_tool_at_terminal"),
    ("gates", "pending_interaction_at_terminal"),
    ("steers", "illegal_run_transition"),
    ("compactions", "illegal_run_transition"),
)
"""What must have closed before a run's terminal, and the code when it has not."""

_NAMED = 5
"""How many open things a fault names."""

RUN_MOVES: Mapping[str, RunMove] = {move.value: move for move in RunMove if move is not RunMove.SPEAK}


def run_of(state: Conversation, run_id: str) -> Run | None:
    """The run, live or ended."""
    return state.runs.get(run_id) or state.ended.get(run_id)


def meet(state: Conversation, envelope: Envelope[Wire], move: RunMove, faults: Faults) -> Run:
    """A run never heard of: in a partial view it is joined where it stands; in a whole one it starts only early."""
    session_id, sequence = str(envelope.session_id), int(envelope.sequence or 1)
    if state.is_partial:
        if sequence == 1:
            return Run(session_id=session_id)
        return Run(session_id=session_id, state=RunState.STARTED, last=sequence - 1, is_met=True)
    names = admitting(state, session_id)
    if move is RunMove.START and not names:
        faults.add("illegal_run_transition", "a run starts after it was admitted")
    return Run(session_id=session_id, work=work_of(state, names))


def number(last: int, envelope: Envelope[Wire], faults: Faults, *, is_joined: bool) -> int:
    """The number of the latest event of a domain, after this one."""
    sequence = int(envelope.sequence or 0)
    if sequence <= last:
        faults.add("sequence_regression", f"event {sequence} comes after event {last}")
        return last
    if sequence > last + 1 and not is_joined:
        faults.add("sequence_gap", f"event {sequence} comes right after event {last}")
    return sequence


def settle(state: Conversation, run: Run, move: RunMove, faults: Faults) -> None:
    """What is wrong with a run that ends here."""
    for name, code in COUPLED:
        if left := getattr(run, f"open_{name}"):
            faults.add(code, f"the run ends while {', '.join(left[:_NAMED])} is open")
    is_cancel_known = run.is_cancel_accepted or run.is_met or state.is_partial
    if move is RunMove.CANCEL and not is_cancel_known:
        faults.add("illegal_run_transition", "a run is cancelled only behind an accepted cancel")


def accept_cancel(run: Run) -> Run:
    """The run with its cancel accepted: intent, no more."""
    return msgspec.structs.replace(run, is_cancel_accepted=True)
