"""Runs that the conversation does not begin with: recovered by a state, admitted by an open, taken over by a cursor
(OAP-019, OAP-079, OAP-091).

A recovered state speaks for its runs: a position stated for one is where its events go on, else the cursor of the run
that was recovered, else its beginning. A gap is declared with both its mark and its cursor, and then states no position
at all: the cursor is the boundary of what is still kept.
"""

from __future__ import annotations

import msgspec

from sayso.control.protocol.conversation import Asked, Conversation, Run, RunState
from sayso.control.protocol.machine.faults import Faults
from sayso.control.protocol.machine.queue import enter, reserve
from sayso.control.protocol.machine.runs import run_of
from sayso.control.protocol.payloads.run import Recovery
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.payloads.session import ActiveRun, SessionState

__all__ = ("GAP", "admit_with_open", "adopt", "recover")

GAP = "replay_gap"


def adopt(state: Conversation, session_id: str, run_id: str, sequence: int) -> Conversation:
    """Takes over a run that is under way, so that its next event is `sequence` + 1: a resume, a joined stream."""
    run = Run(session_id=session_id, state=RunState.STARTED, last=sequence, is_admitted=True, is_met=True)
    return enter(state, run_id, run)


def recover(state: Conversation, payload: SessionState, faults: Faults) -> Conversation:
    """The conversation with the runs a recovered state names."""
    recovery = payload.recovery
    if recovery is UNSET:
        return state
    is_whole = recovery.recovered is True and recovery.resume_cursor not in (UNSET, "")
    if recovery.reason == GAP and not is_whole:
        faults.add("undeclared_replay_gap", "a gap is declared as recovered, with the cursor that could not be served")
        return state
    if recovery.recovered is not True:
        return state
    for entry in payload.active_runs or ():
        if run_of(state, entry.run_id) is None:
            state = enter(state, entry.run_id, _listed(payload, entry, recovery))
    run_id = payload.active_run_id
    if run_id is not UNSET and run_of(state, run_id) is None:
        state = enter(state, run_id, _pointed(payload.session_id, recovery))
    return state


def _listed(payload: SessionState, entry: ActiveRun, recovery: Recovery) -> Run:
    is_reserved = entry.status == "queued" or (entry.status == "cancelling" and entry.queue_position is not UNSET)
    is_cancelling = entry.status == "cancelling"
    if is_reserved:
        return Run(payload.session_id, is_admitted=True, is_met=True, is_cancel_accepted=is_cancelling)
    pointed = _pointed(payload.session_id, recovery)
    if entry.as_of_sequence is not UNSET:
        return msgspec.structs.replace(pointed, last=entry.as_of_sequence, is_afloat=False)
    if recovery.previous_run_id in (UNSET, entry.run_id):
        return pointed
    return msgspec.structs.replace(pointed, last=0, is_afloat=False)


def _pointed(session_id: str, recovery: Recovery) -> Run:
    cursor = recovery.resume_cursor
    is_stated = recovery.reason != GAP and cursor is not UNSET and cursor.isascii() and cursor.isdigit()
    return Run(
        session_id,
        RunState.STARTED,
        last=int(str(cursor)[:18]) if is_stated else 0,
        is_admitted=True,
        is_met=True,
        is_afloat=not is_stated,
    )


def admit_with_open(state: Conversation, payload: SessionState, asked: Asked | None, faults: Faults) -> Conversation:
    """An open that carried a message is answered by the state, which names the run it was admitted as."""
    if asked is None or getattr(asked.envelope.payload, "message", UNSET) is UNSET:
        return state
    name, admitted = asked.envelope.id, False
    for entry in payload.active_runs or ():
        if name in (entry.admitted_submit_requests or ()):
            state, admitted = reserve(state, entry.run_id, payload.session_id), True
    is_settled = payload.as_of is not UNSET and name in (payload.as_of.admitted_submit_requests or ())
    if not admitted and not is_settled:
        faults.add("session_state_mismatch", "the open carried a message and its answer names no run for it")
    return state
