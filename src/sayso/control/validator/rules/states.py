"""A session's state, held against the conversation and against itself (OAP-055, OAP-079, OAP-091).

A state read is not ordered with the events of the runs it describes, so it is judged by what it states of its own
moment: where it says that it read a run to, what it says has settled, which requests it reflects. What it lists is one
moment all the same: each run once, none that had ended before it was asked for, at most one that executes, reservations
numbered in their order behind it, and a status that agrees. A state event is told at no stated moment; it is held to
itself alone.
"""

from __future__ import annotations

from typing import Any

from sayso.control.protocol.conversation import ENDED, GateState, HandedState, Run
from sayso.control.protocol.machine import run_of
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.validator.rules.scene import Heard, Scene, Session

__all__ = ("hear_terminal", "judge_state")

_CODE = "session_state_mismatch"
_OVER = ("completed", "failed", "cancelled")


def judge_state(scene: Scene, session: Session, heard: Heard) -> None:
    """One state, answered or told."""
    entries = heard.payload.active_runs or ()
    _judge_listing(entries, heard)
    _judge_status(entries, heard)
    if heard.question is None:
        return
    for entry in entries:
        _judge_entry(scene, session, entry, heard)
    _judge_pointer(scene, heard)
    _judge_capture(scene, session, heard)


# --- a state by itself -----------------------------------------------------------------------------------------------


def _judge_listing(entries: Any, heard: Heard) -> None:
    names = [entry.run_id for entry in entries]
    if len(set(names)) != len(names):
        heard.add(_CODE, "a run is listed twice")
    if any(entry.status in _OVER for entry in entries):
        heard.add(_CODE, "a run that ended is listed as active")
    executing = [entry for entry in entries if entry.status in ("running", "waiting_for_input")]
    if len(executing) > 1:
        heard.add(_CODE, "two runs are listed as executing")
    if any(entry.queue_position is not UNSET for entry in executing):
        heard.add(_CODE, "a run that executes has no place in the queue")
    waiting = [entry for entry in entries if entry.status == "queued"]
    if any(entry.queue_position is UNSET for entry in waiting):
        heard.add(_CODE, "a reservation says its place in the queue")
    places = [entry.queue_position for entry in entries if entry.queue_position is not UNSET]
    if places != list(range(1, len(places) + 1)):
        heard.add(_CODE, "places in the queue count from 1, oldest admission first")
    if executing and waiting and names.index(waiting[0].run_id) < names.index(executing[0].run_id):
        heard.add(_CODE, "a reservation is listed before the run it waits for")


def _judge_status(entries: Any, heard: Heard) -> None:
    payload = heard.payload
    executing = [entry for entry in entries if entry.status in ("running", "waiting_for_input")]
    is_all_waiting = bool(entries) and all(entry.status == "queued" for entry in entries)
    if len(executing) == 1:
        if payload.active_run_id != executing[0].run_id:
            heard.add(_CODE, "`active_run_id` names the run that executes")
        if payload.status in ("idle", "queued"):
            heard.add(_CODE, f"a session with a run that executes is not {payload.status}")
        elif payload.status == "running" and executing[0].status == "waiting_for_input":
            heard.add(_CODE, "a session whose run waits is waiting")
        elif payload.status == "waiting_for_input" and not _is_blocked(executing[0]):
            heard.add(_CODE, "a session whose run waits for nothing is running")
    elif is_all_waiting:
        if payload.active_run_id is not UNSET:
            heard.add(_CODE, "nothing executes, so `active_run_id` names nothing")
        if payload.status in ("idle", "running", "waiting_for_input"):
            heard.add(_CODE, f"a session that holds reservations alone is queued, not {payload.status}")


def _is_blocked(entry: Any) -> bool:
    return entry.status == "waiting_for_input" or bool(entry.pending_interactions)


# --- a state against the conversation --------------------------------------------------------------------------------


def _judge_entry(scene: Scene, session: Session, entry: Any, heard: Heard) -> None:
    run = run_of(scene.after, entry.run_id)
    if run is None:
        anchors = entry.admitted_submit_requests or ()
        if session.is_fresh and not any(name in scene.questions for name in anchors):
            heard.add(_CODE, f"nothing admitted the run `{entry.run_id}`")
        return
    if run.session_id != heard.payload.session_id:
        heard.add("scope_mismatch", f"the run `{entry.run_id}` belongs to another session")
    elif run.state in ENDED and _had_ended(run, entry, heard, scene):
        heard.add(_CODE, f"the run `{entry.run_id}` had ended before the state was asked for")
    elif run.state not in ENDED and entry.as_of_sequence == run.last:
        _judge_pending(scene, run, entry, heard)
    if run.state not in ENDED:
        _judge_steers(run, entry, heard)


def _had_ended(run: Run, entry: Any, heard: Heard, scene: Scene) -> bool:
    """The run's end was told before the question, or the entry says that it read the run to its end."""
    ended_at = scene.ended_at.get(entry.run_id, heard.when)
    asked_at = heard.question.when if heard.question is not None else heard.when
    return ended_at < asked_at or (entry.as_of_sequence is not UNSET and entry.as_of_sequence >= run.last > 0)


def _judge_pending(scene: Scene, run: Run, entry: Any, heard: Heard) -> None:
    """What blocks a run, read at the very number the trace has reached; an answer may be on its way."""
    if entry.pending_interactions is UNSET or run.is_met:
        return
    open_gates = {name for name, gate in run.gates.items() if gate.state is GateState.OPEN}
    answered = {name for name, gate in run.gates.items() if gate.state is GateState.ANSWERED}
    for call in run.handed.values():
        if call.state in (HandedState.OPEN, HandedState.ACKNOWLEDGED):
            open_gates.add(call.interaction_id)
        elif call.state is HandedState.ANSWERED:
            answered.add(call.interaction_id)
    pending = set(entry.pending_interactions)
    # A resolve that was asked and not yet answered may have been accepted already.
    resolving = scene.after.resolving
    missing = [name for name in open_gates - pending if f"{entry.run_id} {name}" not in resolving]
    if pending - open_gates - answered:
        heard.add(_CODE, "an interaction is listed that is not open")
    if missing:
        heard.add(_CODE, "an open interaction is not listed")
    acknowledged = {call.interaction_id for call in run.handed.values() if call.state is HandedState.ACKNOWLEDGED}
    told = set(entry.acknowledged_interactions or ())
    if told - pending or (entry.acknowledged_interactions is not UNSET and acknowledged & pending - told):
        heard.add(_CODE, "the acknowledged interactions are those pending ones whose start was accepted")


def _judge_steers(run: Run, entry: Any, heard: Heard) -> None:
    for steer in entry.pending_steers or ():
        if steer.request_id not in run.steers and not run.is_met:
            heard.add(_CODE, "a steer is listed that was not admitted to this run")


def _judge_pointer(scene: Scene, heard: Heard) -> None:
    name = heard.payload.active_run_id
    run = None if name is UNSET else run_of(scene.after, name)
    if run is None or run.state not in ENDED or heard.question is None:
        return
    if scene.ended_at.get(str(name), heard.when) < heard.question.when:
        heard.add(_CODE, f"the active run `{name}` had ended before the state was asked for")


def _judge_capture(scene: Scene, session: Session, heard: Heard) -> None:
    capture = heard.payload.as_of
    if capture is UNSET:
        return
    for claim in capture.settled or ():
        run, facts = run_of(scene.after, claim.run_id), scene.runs.get(claim.run_id)
        if run is not None and run.state in ENDED and run.last != claim.sequence:
            heard.add(_CODE, f"the run `{claim.run_id}` ended with {run.last}, not {claim.sequence}")
        elif facts is not None:
            facts.settled_claim = claim.sequence
    if session.is_fresh:
        for name in capture.admitted_submit_requests or ():
            if name not in scene.after.ids:
                heard.add(_CODE, f"no request `{name}` was made")


def hear_terminal(scene: Scene, heard: Heard) -> None:
    """A run ended: where a state said it would."""
    facts = scene.runs.get(str(heard.envelope.run_id))
    if facts is not None and facts.settled_claim not in (None, heard.envelope.sequence):
        heard.add(_CODE, f"a state said that the run ended with {facts.settled_claim}")
