"""The order of a session: one run at a time, in the order of admission (OAP-012, OAP-015, OAP-052, OAP-053).

An admission is started, queued or steered. `auto` starts or queues and never steers; an explicit mode means itself; a
started one needs an idle session. A reservation starts when every run admitted before it has ended, however it ended.
Only the terminal of a run that never started may come before its turn, because it frees a place.

How many may wait is a promise of the descriptor, so the validator judges it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.control.protocol.conversation import Asked, Conversation, Queue, Run, RunState, SteerState, Work
from sayso.control.protocol.machine.early import work_asked
from sayso.control.protocol.machine.faults import Faults
from sayso.control.protocol.machine.runs import run_of
from sayso.control.protocol.payloads.scalars import UNSET

__all__ = ("ADMISSIONS", "DELIVERIES", "admit", "enter", "is_busy", "leave", "reserve")

ADMISSIONS: Mapping[tuple[str, str], str] = {("started", "start"): "running", ("queued", "queue"): "queued"}
"""Admission and effective delivery that belong together, and the status they imply."""

STEERED = ("steered", "steer")

DELIVERIES: Mapping[str, tuple[str, ...]] = {
    "auto": ("started", "queued"),
    "queue": ("queued",),
    "steer": ("steered",),
    "btw": (),
}
"""What a requested delivery may be admitted as."""


def is_busy(state: Conversation, session_id: str) -> bool:
    """Whether the session has a run that has not ended."""
    queue = state.queues.get(session_id)
    return queue is not None and queue.first < queue.next


def enter(state: Conversation, run_id: str, run: Run) -> Conversation:
    """The conversation with this run admitted last of its session."""
    queue = state.queues.get(run.session_id) or Queue()
    return msgspec.structs.replace(
        state,
        runs=state.runs.set(run_id, msgspec.structs.replace(run, place=queue.next)),
        line=state.line.set((run.session_id, queue.next), run_id),
        queues=state.queues.set(run.session_id, Queue(queue.first, queue.next + 1)),
    )


def leave(state: Conversation, run: Run) -> Conversation:
    """The conversation whose line begins at the first run that is still live; `run` is no longer."""
    queue = state.queues.get(run.session_id)
    if queue is None or run.place != queue.first:
        return state
    first, line = queue.first, state.line
    while first < queue.next and line.get((run.session_id, first), "") not in state.runs:
        line = line.without((run.session_id, first))
        first += 1
    queues = state.queues.set(run.session_id, Queue(first, queue.next))
    return msgspec.structs.replace(state, line=line, queues=queues)


def reserve(state: Conversation, run_id: str, session_id: str, work: Work = "messages") -> Conversation:
    """The conversation with a new run admitted; a known one is only marked as admitted."""
    known = run_of(state, run_id)
    if known is None:
        return enter(state, run_id, Run(session_id=session_id, is_admitted=True, work=work))
    known = msgspec.structs.replace(known, is_admitted=True, work=work)
    if run_id in state.early:
        state = msgspec.structs.replace(state, early=state.early.without(run_id))
    if run_id in state.runs:
        return msgspec.structs.replace(state, runs=state.runs.set(run_id, known))
    return msgspec.structs.replace(state, ended=state.ended.set(run_id, known))


def admit(state: Conversation, payload: Any, asked: Asked | None, faults: Faults) -> Conversation:
    """An accepted submit or compaction."""
    pair = (payload.admission, payload.effective_delivery)
    if asked is not None and (fault := _misdelivery(payload, asked)):
        faults.add("illegal_run_transition", fault)
    if pair == STEERED:
        return _steer(state, payload, asked, faults)
    status = ADMISSIONS.get(pair)
    if status is None or payload.run_id is UNSET or payload.status not in (UNSET, status):
        if not faults.found():
            faults.add("illegal_run_transition", "admission, delivery and status of a submit belong together")
        return state
    known = run_of(state, payload.run_id)
    if known is not None and known.is_admitted:
        faults.add("illegal_run_transition", "this run was admitted before")
        return state
    if asked is not None and asked.envelope.id not in state.early.get(payload.run_id, (asked.envelope.id,)):
        faults.add("illegal_run_transition", "a run speaks after it was asked for")
    is_alone = known is not None or not is_busy(state, payload.session_id)
    if payload.admission == "started" and not is_alone and not state.is_partial:
        faults.add("illegal_run_transition", "a session runs one run at a time")
    return reserve(state, payload.run_id, payload.session_id, work_asked(asked))


def _misdelivery(payload: Any, asked: Asked) -> str | None:
    """What is wrong with how a request was delivered, given what it asked for."""
    delivery = getattr(asked.envelope.payload, "delivery", UNSET)
    delivery = "auto" if delivery is UNSET else delivery
    if payload.requested_delivery != delivery:
        return f"the request asked for `{delivery}`"
    allowed = DELIVERIES[delivery]
    if asked.envelope.type == "session.compact.request" and delivery not in ("auto", "queue"):
        return "a compaction starts or queues"
    if payload.admission in ("started", "queued", "steered") and payload.admission not in allowed:
        return f"`{delivery}` is not admitted as `{payload.admission}`"
    return None


def _steer(state: Conversation, payload: Any, asked: Asked | None, faults: Faults) -> Conversation:
    if state.is_partial and (payload.run_id is UNSET or payload.run_id not in state.runs):
        return state
    run = None if payload.run_id is UNSET else state.runs.get(payload.run_id)
    if run is None or run.state is not RunState.STARTED:
        faults.add("illegal_run_transition", "only a run that has started can be steered")
        return state
    if run.work == "compaction":
        faults.add("illegal_run_transition", "a compaction without a turn behind it cannot be steered")
    if payload.target_sequence is UNSET:
        faults.add("illegal_run_transition", "an admitted steer names the target's last number")
    name = asked.envelope.id if asked is not None else ""
    if not name or name in run.steers:
        return state
    run = msgspec.structs.replace(run, steers=run.steers.set(name, SteerState.PENDING))
    return msgspec.structs.replace(state, runs=state.runs.set(payload.run_id, run))
