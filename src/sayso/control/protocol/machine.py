"""The legality of a conversation: which envelope may come after which.

Theory. A conversation is one party's whole view of what was asked, answered and told. Five machines run in it and are
coupled. A *request* is open until exactly one response names it. A *run* is reserved by an accepted submit, started by
`run.started`, and ends once as completed, failed or cancelled; a run that never started may only fail, or be cancelled.
A *call* of a tool is requested, started, and ends as completed, failed or cancelled; it may fail or be cancelled before
it starts (a denied one), but never complete. A *gate* is a question to a declared responder, a permission or a user
input: open, perhaps answered by an accepted resolve, then closed by its resolved event, once. A *domain* numbers
events: one for each run, contiguous from 1, and one for each session's own events; numbers of two domains never meet.

The coupling: a run's calls and gates close before its terminal, and nothing of the run follows it. A cancel's answer is
intent, so completed and failed may still win; but `run.cancelled` needs an accepted cancel before it, and a cancel
asked after a completed or failed terminal cannot have been accepted.

What the tables cannot say stands in the conditions below them: numbers, scope, who answers a gate, and that an accepted
answer is the one its resolved event reports.

This file does not know who is speaking (style of h11): hub, loop, client and validator obey one law. `step` never
raises and goes on after a fault in the way the fixtures of the specification expect, so a validator can list every
fault of a trace; `observe` raises at the first and moves nothing. A party that joined late or sees only one stream
declares a `partial` view: it cannot know what was admitted or accepted elsewhere, so those two conditions are waived.

Not here yet, by plan: queue, steer and compaction admissions, catalogs and capability gates (validator).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from typing import Literal

from sayso.control.protocol.conversation import (
    ENDED,
    Asked,
    CallState,
    Conversation,
    Diagnostic,
    Gate,
    GateKind,
    GateState,
    Illegal,
    Run,
    RunState,
)
from sayso.control.protocol.envelope import Envelope, scope_disagreements
from sayso.control.protocol.payloads.action import PermissionRequested, PermissionResolved, PermissionResolveRequest
from sayso.control.protocol.payloads.interaction import UserInputRequested, UserInputResolved
from sayso.control.protocol.payloads.run import RunCancelRequest, RunCancelResponse
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import MessageSubmitResponse, SessionState
from sayso.control.protocol.types import AGENT_TYPES, Kind

__all__ = (
    "ADMISSIONS",
    "CALL_TABLE",
    "COUPLED",
    "GATE_TABLE",
    "RUN_FAULTS",
    "RUN_TABLE",
    "CallMove",
    "GateMove",
    "ResolveFault",
    "RunMove",
    "adopt",
    "conclude",
    "observe",
    "resolve_fault",
    "run_of",
    "step",
)


# --- moves -----------------------------------------------------------------------------------------------------------


class RunMove(Enum):
    """What an event does to its run."""

    START = "run.started"
    SPEAK = "any other event"
    COMPLETE = "run.completed"
    FAIL = "run.failed"
    CANCEL = "run.cancelled"


class CallMove(Enum):
    """What an event does to its tool call."""

    REQUEST = "action.call.requested"
    START = "action.call.started"
    PROGRESS = "action.call.progress"
    COMPLETE = "action.call.completed"
    FAIL = "action.call.failed"
    CANCEL = "action.call.cancelled"


class GateMove(Enum):
    """What an event or an accepted resolve does to its gate."""

    ASK = "requested"
    ANSWER = "resolve accepted"
    CLOSE = "resolved"


# --- tables ----------------------------------------------------------------------------------------------------------

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
    CallMove.COMPLETE: CallState.COMPLETED,
    CallMove.FAIL: CallState.FAILED,
    CallMove.CANCEL: CallState.CANCELLED,
}

GATE_TABLE: Mapping[tuple[GateState, GateMove], GateState] = {
    (GateState.ABSENT, GateMove.ASK): GateState.OPEN,
    (GateState.OPEN, GateMove.ANSWER): GateState.ANSWERED,
    (GateState.OPEN, GateMove.CLOSE): GateState.CLOSED,
    (GateState.ANSWERED, GateMove.CLOSE): GateState.CLOSED,
}

# --- coupled ---------------------------------------------------------------------------------------------------------

COUPLED = (("calls", "pending_tool_at_terminal"), ("gates", "pending_interaction_at_terminal"))
"""What must have closed before a run's terminal, and the code when it has not."""

ADMISSIONS: Mapping[tuple[str, str], str] = {("started", "start"): "running", ("queued", "queue"): "queued"}
"""Admission and effective delivery that belong together, and the status they imply."""

# --- conditions ------------------------------------------------------------------------------------------------------

ResolveFault = Literal["unknown_run", "unknown_interaction", "already_resolved", "wrong_responder"]


def run_of(state: Conversation, run_id: str) -> Run | None:
    """The run, live or ended."""
    return state.runs.get(run_id) or state.ended.get(run_id)


def resolve_fault(state: Conversation, request: Envelope[Wire]) -> ResolveFault | None:
    """Why this resolve may not be accepted now; None when it may (OAP-017)."""
    run = run_of(state, str(request.run_id))
    if run is None or run.session_id != request.session_id:
        return "unknown_run"
    gate = run.gates.get(getattr(request.payload, "interaction_id", ""))
    if gate is None or gate.kind != _gate_kind(request.payload):
        return "unknown_interaction"
    if gate.state is not GateState.OPEN:
        return "already_resolved"
    asked = (getattr(request.payload, "requested_by", None), getattr(request.payload, "responded_by", None))
    return None if asked == (gate.requested_by, gate.responded_by) else "wrong_responder"


def _gate_kind(payload: Wire) -> GateKind:
    is_permission = isinstance(payload, (PermissionRequested, PermissionResolveRequest, PermissionResolved))
    return "permission" if is_permission else "user_input"


# --- the step --------------------------------------------------------------------------------------------------------


def observe(state: Conversation, envelope: Envelope[Wire]) -> Conversation:
    """The conversation after this envelope. Raises `Illegal` with every fault of it; then nothing has moved."""
    after, faults = step(state, envelope)
    if faults:
        raise Illegal(faults)
    return after


def step(state: Conversation, envelope: Envelope[Wire]) -> tuple[Conversation, tuple[Diagnostic, ...]]:
    """The conversation after this envelope, and its faults; a fault is stepped over, never fatal."""
    faults = _Faults(envelope)
    if state.ids.get(envelope.id):
        faults.add("duplicate_envelope_id", "an envelope has an id of its own")
        return state, faults.found()
    state = replace(state, ids=state.ids.add(envelope.id, value=True))
    if wrong := scope_disagreements(envelope):
        faults.add("scope_mismatch", f"envelope and payload differ in {', '.join(wrong)}")
    kind = AGENT_TYPES[envelope.type].kind
    if kind is Kind.REQUEST:
        state = _request(state, envelope)
    elif kind is Kind.RESPONSE:
        state = _response(state, envelope, faults)
    elif envelope.run_id is UNSET:
        state = _session_event(state, envelope, faults)
    else:
        state = _run_event(state, envelope, faults)
    return state, faults.found()


def conclude(state: Conversation) -> tuple[Diagnostic, ...]:
    """What is still owed when the conversation ends: answers, starts, terminals and settled cancels."""
    owed = [Diagnostic("missing_response", name, "a request was never answered") for name in state.requests]
    for name, run in state.runs.items():
        if run.is_cancel_accepted:
            owed.append(Diagnostic("cancel_not_settled", name, "an accepted cancel was never settled"))
            continue
        if run.state is RunState.RESERVED:
            owed.append(Diagnostic("missing_run_started", name, "an admitted run never started"))
        owed.append(Diagnostic("missing_run_terminal", name, "a run never ended"))
    return tuple(owed)


def adopt(state: Conversation, session_id: str, run_id: str, sequence: int) -> Conversation:
    """Takes over a run that is under way, so that its next event is `sequence` + 1: a resume, a joined stream."""
    run = Run(session_id=session_id, state=RunState.STARTED, last=sequence, is_admitted=True)
    return replace(state, runs={**state.runs, run_id: run})


class _Faults:
    """The faults of one envelope."""

    def __init__(self, envelope: Envelope[Wire]) -> None:
        self._at = envelope.id
        self._found: list[Diagnostic] = []

    def add(self, code: str, message: str) -> None:
        self._found.append(Diagnostic(code, self._at, message))

    def found(self) -> tuple[Diagnostic, ...]:
        return tuple(self._found)


def _request(state: Conversation, envelope: Envelope[Wire]) -> Conversation:
    late = False
    if isinstance(envelope.payload, RunCancelRequest):
        ended = state.ended.get(envelope.payload.run_id)
        late = ended is not None and ended.state is not RunState.CANCELLED
    return replace(state, requests={**state.requests, envelope.id: Asked(envelope, late)})


def _response(state: Conversation, envelope: Envelope[Wire], faults: _Faults) -> Conversation:
    name = str(envelope.in_reply_to)
    asked = state.requests.get(name)
    if asked is None:
        if state.answered.get(name):
            faults.add("duplicate_response", "a request is answered once")
            return state
        if not state.is_partial:
            faults.add("unmatched_response", "no open request has this id")
        return _apply(state, envelope, None, faults)
    rest = {key: value for key, value in state.requests.items() if key != name}
    state = replace(state, requests=rest, answered=state.answered.add(name, value=True))
    if envelope.type not in ("error.response", AGENT_TYPES[asked.envelope.type].answer):
        faults.add("unmatched_response", f"`{asked.envelope.type}` is not answered by `{envelope.type}`")
        return state
    for scope in ("session_id", "run_id"):
        before, after = getattr(asked.envelope, scope), getattr(envelope, scope)
        if before is not UNSET and after is not UNSET and before != after:
            faults.add("scope_mismatch", f"the answer's {scope} is not the request's")
    return _apply(state, envelope, asked, faults)


def _apply(state: Conversation, envelope: Envelope[Wire], asked: Asked | None, faults: _Faults) -> Conversation:
    payload = envelope.payload
    if isinstance(payload, MessageSubmitResponse):
        return _admit(state, payload, faults) if payload.accepted else state
    if isinstance(payload, RunCancelResponse):
        return _cancel(state, payload, asked, faults) if payload.accepted else state
    if isinstance(payload, SessionState):
        return _recover(_open_admits(state, payload, asked), payload)
    if asked is not None and getattr(payload, "accepted", False) and hasattr(payload, "interaction_id"):
        return _answer_gate(state, asked.envelope, faults)
    return state


def _admit(state: Conversation, payload: MessageSubmitResponse, faults: _Faults) -> Conversation:
    status = ADMISSIONS.get((payload.admission, payload.effective_delivery))
    if status is None or payload.run_id is UNSET or payload.status not in (UNSET, status):
        faults.add("illegal_run_transition", "admission, delivery and status of a submit belong together")
        return state
    known = run_of(state, payload.run_id)
    if known is None:
        fresh = Run(session_id=payload.session_id, is_admitted=True)
        return replace(state, runs={**state.runs, payload.run_id: fresh})
    if known.is_admitted:
        faults.add("illegal_run_transition", "this run was admitted before")
    return state


def _open_admits(state: Conversation, payload: SessionState, asked: Asked | None) -> Conversation:
    """An open that carried a message is answered by the state, which names the run it was admitted as."""
    for run in payload.active_runs or ():
        if asked is not None and asked.envelope.id in (run.admitted_submit_requests or ()):
            fresh = Run(session_id=payload.session_id, is_admitted=True)
            state = replace(state, runs={**state.runs, run.run_id: fresh})
    return state


def _cancel(state: Conversation, payload: RunCancelResponse, asked: Asked | None, faults: _Faults) -> Conversation:
    if asked is not None and asked.is_too_late:
        faults.add("illegal_run_transition", "a cancel asked after the run's end cannot be accepted")
    run = state.runs.get(payload.run_id)
    if run is None:
        if state.ended.get(payload.run_id) is None and not state.is_partial:
            faults.add("illegal_run_transition", "a cancel of an unknown run cannot be accepted")
        return state
    return replace(state, runs={**state.runs, payload.run_id: replace(run, is_cancel_accepted=True)})


def _recover(state: Conversation, payload: SessionState) -> Conversation:
    recovery, run_id = payload.recovery, payload.active_run_id
    if recovery is UNSET or recovery.recovered is not True or run_id is UNSET or run_of(state, run_id) is not None:
        return state
    cursor = recovery.resume_cursor
    return adopt(state, payload.session_id, run_id, int(cursor)) if cursor and cursor.isdigit() else state


def _answer_gate(state: Conversation, request: Envelope[Wire], faults: _Faults) -> Conversation:
    codes = {"wrong_responder": "wrong_interaction_responder", "already_resolved": "duplicate_interaction"}
    if fault := resolve_fault(state, request):
        if not state.is_partial:
            faults.add(codes.get(fault, "unmatched_interaction"), f"a resolve cannot be accepted: {fault}")
        return state
    run = state.runs[str(request.run_id)]
    name = str(getattr(request.payload, "interaction_id", ""))
    gate = replace(run.gates[name], state=GateState.ANSWERED, granted=getattr(request.payload, "granted", None))
    return _with_run(state, str(request.run_id), replace(run, gates={**run.gates, name: gate}))


def _session_event(state: Conversation, envelope: Envelope[Wire], faults: _Faults) -> Conversation:
    domain = "endpoint" if envelope.session_id is UNSET else f"session {envelope.session_id}"
    last = _number(state.domains.get(domain, 0), envelope, faults, is_joined=domain not in state.domains)
    return replace(state, domains={**state.domains, domain: last})


def _run_event(state: Conversation, envelope: Envelope[Wire], faults: _Faults) -> Conversation:
    run_id, move = str(envelope.run_id), _RUN_MOVES.get(envelope.type, RunMove.SPEAK)
    run = run_of(state, run_id)
    if run is None:
        run = _meet(state, envelope, move, faults)
    elif run.session_id != envelope.session_id:
        faults.add("scope_mismatch", "this run belongs to another session")
    last = _number(run.last, envelope, faults, is_joined=False)
    after = RUN_TABLE.get((run.state, move))
    if after is None:
        faults.add(RUN_FAULTS[run.state, move], f"`{envelope.type}` cannot come while the run is {run.state.value}")
        after = run.state if run.state in ENDED else RUN_LANDS.get(move, run.state)
    if run.state in ENDED:
        return state
    couple = _COUPLED_MOVES.get(envelope.type)
    run = replace(couple(run, envelope, faults) if couple else run, last=last, state=after)
    if after in ENDED:
        _settle(state, run, move, faults)
    return _with_run(state, run_id, run)


def _meet(state: Conversation, envelope: Envelope[Wire], move: RunMove, faults: _Faults) -> Run:
    """A run never heard of: in a partial view it is joined where it stands, in a whole one it is a fault."""
    session_id, number = str(envelope.session_id), int(envelope.sequence or 1)
    if state.is_partial:
        began = RunState.RESERVED if number == 1 else RunState.STARTED
        return Run(session_id=session_id, state=began, last=number - 1)
    if move is RunMove.START:
        faults.add("illegal_run_transition", "a run starts after it was admitted")
    return Run(session_id=session_id)


def _number(last: int, envelope: Envelope[Wire], faults: _Faults, *, is_joined: bool) -> int:
    number = int(envelope.sequence or 0)
    if number <= last:
        faults.add("sequence_regression", f"event {number} comes after event {last}")
        return last
    if number > last + 1 and not is_joined:
        faults.add("sequence_gap", f"event {number} comes right after event {last}")
    return number


def _settle(state: Conversation, run: Run, move: RunMove, faults: _Faults) -> None:
    for name, code in COUPLED:
        if left := getattr(run, f"open_{name}"):
            faults.add(code, f"the run ends while {', '.join(left)} is open")
    if move is RunMove.CANCEL and not run.is_cancel_accepted and not state.is_partial:
        faults.add("illegal_run_transition", "a run is cancelled only behind an accepted cancel")


def _with_run(state: Conversation, run_id: str, run: Run) -> Conversation:
    if run.state not in ENDED:
        return replace(state, runs={**state.runs, run_id: run})
    live = {key: value for key, value in state.runs.items() if key != run_id}
    return replace(state, runs=live, ended=state.ended.add(run_id, run))


def _call_event(run: Run, envelope: Envelope[Wire], faults: _Faults) -> Run:
    name, move = str(envelope.tool_call_id), CallMove(envelope.type)
    before = run.calls.get(name, CallState.ABSENT)
    after = CALL_TABLE.get((before, move))
    if after is None:
        code = "unmatched_tool" if before is CallState.ABSENT else "illegal_tool_transition"
        faults.add(code, f"`{envelope.type}` cannot come while the call is {before.value}")
        if before is CallState.ABSENT:
            return run
        after = CALL_LANDS.get(move, before)
    return replace(run, calls={**run.calls, name: after})


def _gate_asked(run: Run, envelope: Envelope[Wire], faults: _Faults) -> Run:
    payload = envelope.payload
    if not isinstance(payload, (PermissionRequested, UserInputRequested)):
        return run
    if payload.interaction_id in run.gates:
        faults.add("duplicate_interaction", "an interaction is asked once")
        return run
    call = payload.tool_call_id if payload.tool_call_id is not UNSET else None
    gate = Gate(_gate_kind(payload), payload.requested_by, payload.responded_by, call)
    return replace(run, gates={**run.gates, payload.interaction_id: gate})


def _gate_closed(run: Run, envelope: Envelope[Wire], faults: _Faults) -> Run:
    payload = envelope.payload
    if not isinstance(payload, (PermissionResolved, UserInputResolved)):
        return run
    gate = run.gates.get(payload.interaction_id)
    if gate is None or gate.kind != _gate_kind(payload):
        faults.add("unmatched_interaction", "no such interaction was asked")
        return run
    if (gate.state, GateMove.CLOSE) not in GATE_TABLE:
        faults.add("duplicate_interaction", "an interaction is resolved once")
    elif (payload.requested_by, payload.responded_by) != (gate.requested_by, gate.responded_by):
        faults.add("wrong_interaction_responder", "only the declared responder answers")
    elif isinstance(payload, PermissionResolved) and _contradicts(gate, payload):
        faults.add("resolution_payload_mismatch", "the event does not report the answer that was accepted")
    return replace(run, gates={**run.gates, payload.interaction_id: replace(gate, state=GateState.CLOSED)})


def _contradicts(gate: Gate, payload: PermissionResolved) -> bool:
    told = payload.outcome in ("resolved", "rejected") and payload.granted is not UNSET
    return told and gate.granted is not None and payload.granted != gate.granted


_RUN_MOVES: Mapping[str, RunMove] = {move.value: move for move in RunMove if move is not RunMove.SPEAK}
_COUPLED_MOVES: Mapping[str, Callable[[Run, Envelope[Wire], _Faults], Run]] = {
    **{move.value: _call_event for move in CallMove},
    "action.permission.requested": _gate_asked,
    "user.input.requested": _gate_asked,
    "action.permission.resolved": _gate_closed,
    "user.input.resolved": _gate_closed,
}
