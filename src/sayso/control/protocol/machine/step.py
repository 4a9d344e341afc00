"""One envelope: what it does to the conversation, and what is wrong with it. The dispatch, and the machine of requests.

A request is open until exactly one response names it (OAP-007). A cancel's answer is intent, so completed and failed
may still win; whether it was legal is judged where its request stood (OAP-014).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from sayso.control.protocol.conversation import (
    ENDED,
    Asked,
    Conversation,
    Diagnostic,
    GateState,
    Illegal,
    LoginState,
    ResolveFault,
    Run,
    RunState,
)
from sayso.control.protocol.envelope import Envelope, scope_disagreements
from sayso.control.protocol.machine.calls import CallMove, call_event
from sayso.control.protocol.machine.compactions import compaction_event, judge_settlement
from sayso.control.protocol.machine.early import admitting, judge_early
from sayso.control.protocol.machine.faults import Faults
from sayso.control.protocol.machine.gates import accept_answer, answer_fault, gate_asked, gate_closed
from sayso.control.protocol.machine.handed import RESOLVE_CODES, accept_resolution, judge_refusal, resolution_fault
from sayso.control.protocol.machine.logins import cancel_login, login_event, start_login
from sayso.control.protocol.machine.queue import admit, enter, is_busy, leave
from sayso.control.protocol.machine.recovery import admit_with_open, recover
from sayso.control.protocol.machine.runs import (
    RUN_FAULTS,
    RUN_LANDS,
    RUN_MOVES,
    RUN_TABLE,
    RunMove,
    accept_cancel,
    meet,
    number,
    run_of,
    settle,
)
from sayso.control.protocol.machine.steers import steer_event
from sayso.control.protocol.payloads.run import RunCancelRequest
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.types import AGENT_TYPES, Kind

__all__ = ("SPEECH", "conclude", "observe", "resolve_fault", "step")

_RESOLVES = ("action.permission.resolve.request", "user.input.resolve.request", "user.input.cancel.request")
_CALL_RESOLVE = "action.call.resolve.request"
_MINTED = "oap-request-"
"""How the hub names a question that came without an envelope, as a GET does; each has one answer like any other."""
_READINGS = frozenset(
    ("capabilities.response", "session.state.response", "models.response", "action.tools.list.response")
)


def resolve_fault(state: Conversation, request: Envelope[Wire]) -> ResolveFault | None:
    """Why this resolve may not be accepted now, the highest reason first; None when it may (OAP-017, OAP-083)."""
    run = run_of(state, str(request.run_id))
    if run is None or run.session_id != request.session_id:
        return "unknown_run"
    if request.type == _CALL_RESOLVE:
        return resolution_fault(run, request.payload)
    return answer_fault(run, request.payload)


def observe(state: Conversation, envelope: Envelope[Wire]) -> Conversation:
    """The conversation after this envelope. Raises `Illegal` with every fault of it; then nothing has moved."""
    after, faults = step(state, envelope)
    if faults:
        raise Illegal(faults)
    return after


def step(
    state: Conversation, envelope: Envelope[Wire], role: Kind | None = None
) -> tuple[Conversation, tuple[Diagnostic, ...]]:
    """The conversation after this envelope, and its faults; a fault is stepped over, never fatal.

    `role` is what a type does that the core does not have: a loaded pack says it. Where nobody does, such an envelope
    has an id, and takes the next number of a run it speaks of; nothing else is known of it.
    """
    if envelope.type in SPEECH and (after := _speak(state, envelope)) is not None:
        return after, ()
    faults = Faults(envelope)
    if envelope.id in state.ids:
        faults.add("duplicate_envelope_id", "an envelope has an id of its own")
        return state, faults.found()
    state = replace(state, ids=state.ids.set(envelope.id, value=True))
    if wrong := scope_disagreements(envelope):
        faults.add("scope_mismatch", f"envelope and payload differ in {', '.join(wrong)}")
    row = AGENT_TYPES.get(envelope.type)
    if row is None and role is None:
        return _stranger(state, envelope, faults), faults.found()
    kind = row.kind if row is not None else role
    if kind is Kind.REQUEST:
        state = _request(state, envelope)
    elif kind is Kind.RESPONSE:
        state = _response(state, envelope, faults)
    elif envelope.run_id is not UNSET:
        state = _run_event(state, envelope, faults)
    elif envelope.type.startswith("auth."):
        state = login_event(state, envelope, faults)
    elif row is not None:
        state = _session_event(state, envelope, faults)
    return state, faults.found()


def _speak(state: Conversation, envelope: Envelope[Wire]) -> Conversation | None:
    """The conversation after a started run said its next thing; None for anything but that, which is most of what
    there is in a stream. What it does is what the rest of this file would do, and a test holds the two together.
    """
    run, payload = state.runs.get(envelope.run_id), _any(envelope.payload)  # type: ignore[arg-type]
    is_next = (
        run is not None
        and run.state is RunState.STARTED
        and envelope.sequence == run.last + 1
        and not run.is_afloat
        and run.session_id == envelope.session_id == payload.session_id
        and envelope.run_id == payload.run_id
        and envelope.id not in state.ids
    )
    if not is_next or run is None:
        return None
    queue = state.queues.get(run.session_id)
    if queue is not None and queue.first < run.place and not state.is_partial:
        return None
    runs = state.runs.set(payload.run_id, replace(run, last=run.last + 1))
    return replace(state, ids=state.ids.set(envelope.id, value=True), runs=runs)


def _any(payload: Wire) -> Any:
    return payload


def _stranger(state: Conversation, envelope: Envelope[Wire], faults: Faults) -> Conversation:
    """An envelope of a type nobody knows: an answer must name something, an event may be a run's next."""
    name = envelope.in_reply_to
    if name is not UNSET and name not in state.ids and not state.is_partial:
        faults.add("unmatched_response", "no request has this id")
    run = state.runs.get(str(envelope.run_id))
    is_next = run is not None and run.state is RunState.STARTED and envelope.sequence == run.last + 1
    return _run_event(state, envelope, faults) if is_next else state


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
    for name, login in state.logins.items():
        if login.state is LoginState.STARTED:
            owed.append(Diagnostic("missing_auth_terminal", name, "a login flow never ended"))
    return tuple(owed)


# --- requests and their answers --------------------------------------------------------------------------------------


def _request(state: Conversation, envelope: Envelope[Wire]) -> Conversation:
    late, fault = False, None
    if isinstance(envelope.payload, RunCancelRequest):
        ended = state.ended.get(envelope.payload.run_id)
        late = ended is not None and ended.state is not RunState.CANCELLED
    elif envelope.type == _CALL_RESOLVE or envelope.type in _RESOLVES:
        fault = resolve_fault(state, envelope)
        state = _count_resolve(state, envelope, 1)
    busy = envelope.session_id is not UNSET and is_busy(state, envelope.session_id)
    return replace(state, requests=state.requests.set(envelope.id, Asked(envelope, late, busy, fault)))


def _response(state: Conversation, envelope: Envelope[Wire], faults: Faults) -> Conversation:
    state = _settle(state, envelope, faults)
    return judge_early(state, faults) if state.early else state


def _settle(state: Conversation, envelope: Envelope[Wire], faults: Faults) -> Conversation:
    name = str(envelope.in_reply_to)
    asked = state.requests.get(name)
    if asked is None:
        if name in state.answered:
            faults.add("duplicate_response", "a request is answered once")
            return state
        if envelope.type in _READINGS and name.startswith(_MINTED):
            state = replace(state, answered=state.answered.set(name, value=True))
        elif not state.is_partial:
            faults.add("unmatched_response", "no open request has this id")
        return _apply(state, envelope, None, faults)
    state = replace(state, requests=state.requests.without(name), answered=state.answered.set(name, value=True))
    if asked.envelope.type == _CALL_RESOLVE or asked.envelope.type in _RESOLVES:
        state = _count_resolve(state, asked.envelope, -1)
    if not _answers(envelope.type, asked.envelope.type):
        faults.add("unmatched_response", f"`{asked.envelope.type}` is not answered by `{envelope.type}`")
        return state
    for scope in ("session_id", "run_id"):
        before, after = getattr(asked.envelope, scope), getattr(envelope, scope)
        if before is not UNSET and after is not UNSET and before != after:
            faults.add("scope_mismatch", f"the answer's {scope} is not the request's")
    return _apply(state, envelope, asked, faults)


def _answers(answer: str, request: str) -> bool:
    """Whether one type answers the other; which of a pack's own types do is the pack's to say."""
    row = AGENT_TYPES.get(request)
    if answer == "error.response":
        return True
    return answer not in AGENT_TYPES if row is None else answer == row.answer


def _apply(state: Conversation, envelope: Envelope[Wire], asked: Asked | None, faults: Faults) -> Conversation:
    decide = _ANSWERS.get(envelope.type)
    return decide(state, envelope.payload, asked, faults) if decide else state


def _count_resolve(state: Conversation, envelope: Envelope[Wire], more: int) -> Conversation:
    key = f"{envelope.run_id} {getattr(envelope.payload, 'interaction_id', '')}"
    left = state.resolving.get(key, 0) + more
    return replace(state, resolving=state.resolving.set(key, left) if left else state.resolving.without(key))


def _admitted(state: Conversation, payload: Any, asked: Asked | None, faults: Faults) -> Conversation:
    return admit(state, payload, asked, faults) if payload.accepted else state


def _cancelled(state: Conversation, payload: Any, asked: Asked | None, faults: Faults) -> Conversation:
    if not payload.accepted:
        return state
    if asked is not None and asked.is_too_late:
        faults.add("illegal_run_transition", "a cancel asked after the run's end cannot be accepted")
    run = state.runs.get(payload.run_id)
    if run is None:
        if payload.run_id not in state.ended and not state.is_partial:
            faults.add("illegal_run_transition", "a cancel of an unknown run cannot be accepted")
        return state
    return replace(state, runs=state.runs.set(payload.run_id, accept_cancel(run)))


def _told_state(state: Conversation, payload: Any, asked: Asked | None, faults: Faults) -> Conversation:
    return recover(admit_with_open(state, payload, asked, faults), payload, faults)


def _resolved(state: Conversation, payload: Any, asked: Asked | None, faults: Faults) -> Conversation:
    if asked is None:
        return state
    run_id = str(asked.envelope.run_id)
    run = run_of(state, run_id)
    if not payload.accepted:
        if asked.envelope.type == _CALL_RESOLVE:
            judge_refusal(state, run, asked, payload, faults)
        return state
    fault = resolve_fault(state, asked.envelope)
    if fault and not (run is not None and _was_answered_by(run, asked)):
        if not state.is_partial:
            faults.add(RESOLVE_CODES[fault], f"a resolve cannot be accepted: {fault}")
        return state
    if run is None:
        return state
    run = accept_resolution(run, asked) if asked.envelope.type == _CALL_RESOLVE else accept_answer(run, asked)
    if run_id in state.runs:
        return replace(state, runs=state.runs.set(run_id, run))
    return replace(state, ended=state.ended.set(run_id, run))


def _was_answered_by(run: Run, asked: Asked) -> bool:
    """The resolved event overtook the answer to the resolve it came from: response and events are not ordered."""
    gate = run.gates.get(str(getattr(asked.envelope.payload, "interaction_id", "")))
    is_first = gate is not None and gate.state is GateState.CLOSED and gate.answered_by is None
    return is_first and asked.fault is None and asked.envelope.type in _RESOLVES


def _login_started(state: Conversation, payload: Any, asked: Asked | None, faults: Faults) -> Conversation:
    return start_login(state, payload.flow_id, asked, faults)


def _login_cancelled(state: Conversation, payload: Any, asked: Asked | None, faults: Faults) -> Conversation:
    if payload.accepted:
        cancel_login(state, payload.flow_id, faults)
    return state


# --- events ----------------------------------------------------------------------------------------------------------


def _session_event(state: Conversation, envelope: Envelope[Wire], faults: Faults) -> Conversation:
    domain = "endpoint" if envelope.session_id is UNSET else f"session {envelope.session_id}"
    last = number(state.domains.get(domain, 0), envelope, faults, is_joined=domain not in state.domains)
    return replace(state, domains=state.domains.set(domain, last))


def _run_event(state: Conversation, envelope: Envelope[Wire], faults: Faults) -> Conversation:
    run_id, move = str(envelope.run_id), RUN_MOVES.get(envelope.type, RunMove.SPEAK)
    run = run_of(state, run_id)
    if run is None:
        run = meet(state, envelope, move, faults)
        if names := admitting(state, run.session_id):
            state = replace(state, early=state.early.set(run_id, names))
        state = enter(state, run_id, run)
        run = state.runs[run_id]
    elif run.session_id != envelope.session_id:
        faults.add("scope_mismatch", "this run belongs to another session")
    last = number(run.last, envelope, faults, is_joined=run.is_afloat)
    after = RUN_TABLE.get((run.state, move))
    if after is None:
        faults.add(RUN_FAULTS[run.state, move], f"`{envelope.type}` cannot come while the run is {run.state.value}")
        after = run.state if run.state in ENDED else RUN_LANDS.get(move, run.state)
    if run.state in ENDED:
        return state
    _judge_order(state, run, after, faults)
    couple = _COUPLED_MOVES.get(envelope.type)
    if couple is not None:
        run = couple(state, run, envelope, faults)
    if after in ENDED:
        judge_settlement(run, envelope, faults)
    run = replace(run, last=last, state=after, is_afloat=False)
    if after not in ENDED:
        return replace(state, runs=state.runs.set(run_id, run))
    settle(state, run, move, faults)
    return leave(replace(state, runs=state.runs.without(run_id), ended=state.ended.set(run_id, run)), run)


def _judge_order(state: Conversation, run: Run, after: RunState, faults: Faults) -> None:
    """A run speaks when every run admitted before it has ended; its end without a start may come at any time."""
    if state.is_partial or (run.state is RunState.RESERVED and after in ENDED):
        return
    queue = state.queues.get(run.session_id)
    if queue is not None and queue.first < run.place:
        faults.add("queue_order_violation", "a run admitted before this one has not ended")


Couple = Callable[[Conversation, Run, Envelope[Wire], Faults], Run]


def _call(state: Conversation, run: Run, envelope: Envelope[Wire], faults: Faults) -> Run:
    return call_event(run, envelope, faults, is_partial=state.is_partial)


def _steer(state: Conversation, run: Run, envelope: Envelope[Wire], faults: Faults) -> Run:
    return steer_event(run, envelope, faults, is_partial=state.is_partial)


def _asked(_state: Conversation, run: Run, envelope: Envelope[Wire], faults: Faults) -> Run:
    return gate_asked(run, envelope, faults)


def _closed(_state: Conversation, run: Run, envelope: Envelope[Wire], faults: Faults) -> Run:
    return gate_closed(run, envelope, faults)


def _compacted(_state: Conversation, run: Run, envelope: Envelope[Wire], faults: Faults) -> Run:
    return compaction_event(run, envelope, faults)


_ANSWERS: Mapping[str, Callable[[Conversation, Any, Asked | None, Faults], Conversation]] = {
    "session.message.submit.response": _admitted,
    "session.compact.response": _admitted,
    "run.cancel.response": _cancelled,
    "session.open.response": _told_state,
    "session.state.response": _told_state,
    "action.permission.resolve.response": _resolved,
    "user.input.resolve.response": _resolved,
    "user.input.cancel.response": _resolved,
    "action.call.resolve.response": _resolved,
    "auth.login.start.response": _login_started,
    "auth.login.cancel.response": _login_cancelled,
}
_COUPLED_MOVES: Mapping[str, Couple] = {
    **{move.value: _call for move in CallMove},
    "action.permission.requested": _asked,
    "user.input.requested": _asked,
    "action.permission.resolved": _closed,
    "user.input.resolved": _closed,
    "run.steer.applied": _steer,
    "run.steer.dropped": _steer,
    "run.compaction.started": _compacted,
    "run.compaction.ended": _compacted,
}
SPEECH = frozenset(
    name
    for name, row in AGENT_TYPES.items()
    if row.kind is Kind.EVENT and "run_id" in row.required and name not in RUN_MOVES and name not in _COUPLED_MOVES
)
"""Events that neither move their run nor anything coupled to it."""
