"""Conversations in a few words: each function gives one envelope of session s1 and run r1."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from sayso.control.protocol.conversation import Conversation
from sayso.control.protocol.envelope import Envelope, convert_envelope
from sayso.control.protocol.machine import conclude, step
from sayso.control.protocol.payloads.scalars import Wire

_number = count(1)
RUN = {"session_id": "s1", "run_id": "r1"}
CALL = {**RUN, "tool_call_id": "t1", "execution_owner": "agent"}
GATE = {**RUN, "interaction_id": "i1", "requested_by": "agent", "responded_by": "user"}


def envelope(type_: str, payload: dict[str, Any], **head: Any) -> Envelope[Wire]:
    return convert_envelope(
        {
            "protocol": "open-agent-protocol",
            "version": "0.1",
            "profile": "open-agent-protocol.agent-control-core",
            "type": type_,
            "id": f"e{next(_number)}",
            "payload": payload,
            **head,
        }
    )


def event(sequence: int, type_: str, **payload: Any) -> Envelope[Wire]:
    return envelope(type_, {**RUN, **payload}, **RUN, sequence=sequence)


def call(sequence: int, what: str, **payload: Any) -> Envelope[Wire]:
    """`what` is the last word of an `action.call.*` event."""
    more = {
        "requested": {"name": "look", "arguments_json": {}, "requested_by": "agent"},
        "started": {"name": "look"},
        "progress": {"progress": 1},
        "completed": {"result": 1},
        "failed": {"error": {"code": "tool_failed", "message": "no"}},
        "cancelled": {},
    }[what]
    return envelope(f"action.call.{what}", {**CALL, **more, **payload}, **RUN, tool_call_id="t1", sequence=sequence)


def submit(request_id: str = "q1", **payload: Any) -> Envelope[Wire]:
    payload = {"session_id": "s1", "messages": [{"role": "user", "content": "go"}], "delivery": "auto", **payload}
    return envelope("session.message.submit.request", payload, id=request_id, session_id="s1")


def admit(request_id: str = "q1", **payload: Any) -> Envelope[Wire]:
    usual = {
        "session_id": "s1",
        "accepted": True,
        "submission_id": "sub1",
        "requested_delivery": "auto",
        "effective_delivery": "start",
        "admission": "started",
        "run_id": "r1",
        "status": "running",
    }
    return envelope("session.message.submit.response", {**usual, **payload}, in_reply_to=request_id, session_id="s1")


def start(sequence: int = 1) -> Envelope[Wire]:
    return event(sequence, "run.started", status="running")


def say(sequence: int) -> Envelope[Wire]:
    return event(sequence, "content.delta", part={"type": "text", "text": "x"})


def complete(sequence: int) -> Envelope[Wire]:
    final = {"role": "assistant", "content": "ok"}
    return event(sequence, "run.completed", final_response=final, stop_reason="end_turn")


def fail(sequence: int) -> Envelope[Wire]:
    return event(sequence, "run.failed", error={"code": "endpoint_error", "message": "no"})


def cancelled(sequence: int) -> Envelope[Wire]:
    return event(sequence, "run.cancelled")


def cancel(request_id: str = "c1") -> Envelope[Wire]:
    return envelope("run.cancel.request", dict(RUN), id=request_id, **RUN)


def cancel_answer(request_id: str = "c1", *, accepted: bool = True) -> Envelope[Wire]:
    payload = {**RUN, "accepted": accepted, "status": "cancelling"}
    return envelope("run.cancel.response", payload, in_reply_to=request_id, **RUN)


def ask(sequence: int, **payload: Any) -> Envelope[Wire]:
    choices = [{"id": "yes", "label": "Yes"}]
    body = {**GATE, "title": "May I?", "choices": choices, "tool_call_id": "t1", **payload}
    return envelope("action.permission.requested", body, **RUN, tool_call_id="t1", sequence=sequence)


def resolve(request_id: str = "p1", *, granted: bool = True, **payload: Any) -> Envelope[Wire]:
    return envelope("action.permission.resolve.request", {**GATE, "granted": granted, **payload}, id=request_id, **RUN)


def resolve_answer(request_id: str = "p1", *, accepted: bool = True) -> Envelope[Wire]:
    payload = {**RUN, "interaction_id": "i1", "accepted": accepted}
    return envelope("action.permission.resolve.response", payload, in_reply_to=request_id, **RUN)


def resolved(sequence: int, *, granted: bool = True, **payload: Any) -> Envelope[Wire]:
    outcome = "resolved" if granted else "rejected"
    body = {**GATE, "outcome": outcome, "granted": granted, **payload}
    return envelope("action.permission.resolved", body, **RUN, sequence=sequence)


def error(request_id: str) -> Envelope[Wire]:
    return envelope("error.response", {"error": {"code": "run_active", "message": "no"}}, in_reply_to=request_id)


def begun() -> list[Envelope[Wire]]:
    """A run that has started."""
    return [submit(), admit(), start()]


def judge(envelopes: Iterable[Envelope[Wire]], *, is_partial: bool = False) -> list[str]:
    """The codes of every fault, the end's included."""
    state, faults = Conversation(is_partial=is_partial), []
    for each in envelopes:
        state, found = step(state, each)
        faults += found
    return [fault.code for fault in (*faults, *conclude(state))]


def reserve(request_id: str = "q2", run_id: str = "r2", **payload: Any) -> Envelope[Wire]:
    queued = {"effective_delivery": "queue", "admission": "queued", "status": "queued", "run_id": run_id}
    return admit(request_id, **{**queued, **payload})


def of_run(run_id: str, sequence: int, type_: str, **payload: Any) -> Envelope[Wire]:
    scope = {"session_id": "s1", "run_id": run_id}
    return envelope(type_, {**scope, **payload}, **scope, sequence=sequence)


def compact(request_id: str = "k1", **payload: Any) -> Envelope[Wire]:
    return envelope("session.compact.request", {"session_id": "s1", **payload}, id=request_id, session_id="s1")


def compact_answer(request_id: str = "k1") -> Envelope[Wire]:
    payload = {
        "session_id": "s1",
        "accepted": True,
        "submission_id": "sub1",
        "requested_delivery": "auto",
        "effective_delivery": "start",
        "admission": "started",
        "run_id": "r1",
        "status": "running",
    }
    return envelope("session.compact.response", payload, in_reply_to=request_id, session_id="s1")


def give(request_id: str = "g1", **arm: Any) -> Envelope[Wire]:
    """A resolution of the handed call t1."""
    who = {"requested_by": "agent", "responded_by": "user"}
    payload = {**RUN, "interaction_id": "i1", "tool_call_id": "t1", **who, **arm}
    return envelope("action.call.resolve.request", payload, id=request_id, **RUN)


def give_answer(request_id: str = "g1", *, accepted: bool = True, **payload: Any) -> Envelope[Wire]:
    payload = {**RUN, "interaction_id": "i1", "tool_call_id": "t1", "accepted": accepted, **payload}
    return envelope("action.call.resolve.response", payload, in_reply_to=request_id, **RUN)
