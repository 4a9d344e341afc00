"""From what is known of a run to the protocol's documents, and from a no to its error (GTW-004, GTW-034, GTW-021a).

A run's status is never stored where a proposal stands behind it: it is what the proposal's state says when somebody
asks. Whatever is not over yet is `awaiting`, so that a call that returns has always come to a stop the client knows:
it either reads the outcome or asks again by resuming. The message in `await_request` says how far it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from sayso.core import strictjson
from sayso.core.frames import SseEvent, write_sse
from sayso.core.refusal import Refusal
from sayso.gateway.crossing import Answer, Crossing, Denial
from sayso.gateway.doors.acp import wire
from sayso.gateway.doors.acp.order import JSON, TEXT, WITHDRAW
from sayso.governance.machine import ProposalState
from sayso.governance.proposal import Proposal

__all__ = ("RUN_ID", "Facts", "Outcome", "deny", "events_of", "run_of", "withdrawn", "write_events", "write_json")

RUN_ID = b"run-id"
EVENTS = "text/event-stream"

_SETTLED: Mapping[ProposalState, wire.Status] = {
    ProposalState.EXECUTED: "completed",
    ProposalState.FAILED: "failed",
    ProposalState.REJECTED: "failed",
    ProposalState.EXPIRED: "failed",
    ProposalState.REFUSED_BY_CONSTITUTION: "failed",
    ProposalState.WITHDRAWN: "cancelled",
}
_WHY = {
    ProposalState.FAILED: "It was tried and did not succeed",
    ProposalState.REJECTED: "A person said no",
    ProposalState.EXPIRED: "Nobody decided in time, so the answer is no",
    ProposalState.REFUSED_BY_CONSTITUTION: "The constitution does not allow it",
}
_ENDS: Mapping[wire.Status, type[wire.RunCompleted | wire.RunFailed | wire.RunCancelled | wire.RunAwaiting]] = {
    "awaiting": wire.RunAwaiting,
    "cancelled": wire.RunCancelled,
    "completed": wire.RunCompleted,
    "failed": wire.RunFailed,
}


class Outcome(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an act answered."""

    result: Mapping[str, Any]
    is_error: bool


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a run. Of an execution `proposal` is its proposal's id; of a disclosure there is its outcome."""

    run_id: str
    session_id: str
    agent_name: str
    act: str
    created_at: datetime
    proposal: str | None = None
    outcome: Outcome | None = None


def run_of(facts: Facts, proposal: Proposal | None) -> wire.AcpRun:
    """The run as it is now."""
    if facts.outcome is not None:
        ok = not facts.outcome.is_error
        return _run(
            facts,
            "completed" if ok else "failed",
            output=[_said(facts, facts.created_at, _json_part(facts.outcome.result))] if ok else [],
            error=None if ok else _failed_disclosure(facts.outcome.result),
            finished_at=facts.created_at,
        )
    assert proposal is not None
    state, moved = proposal.state, proposal.changed_at
    status = _SETTLED.get(state, "awaiting")
    if status == "awaiting":
        return _run(facts, status, await_request=_await_request(facts, proposal))
    return _run(
        facts,
        status,
        output=[_said(facts, moved, _json_part(proposal.result or {}))] if status == "completed" else [],
        error=_failed(proposal) if status == "failed" else None,
        finished_at=moved,
    )


def withdrawn(run: wire.AcpRun, at: datetime) -> wire.AcpRun:
    """A run that awaited, once its proposal is taken back."""
    return msgspec.structs.replace(run, status="cancelled", await_request=None, finished_at=at)


def events_of(run: wire.AcpRun, facts: Facts, *, resumed: bool = False) -> list[wire.Event]:
    """What happened to a run, in order. After a resume its beginning is not told again."""
    begun = _run(facts, "in-progress")
    events: list[wire.Event] = [] if resumed else [wire.RunCreated(_run(facts, "created"))]
    events.append(wire.RunInProgress(begun))
    for message in run.output:
        events.append(wire.MessageCreated(message))
        events += [wire.MessagePart(part) for part in message.parts]
        events.append(wire.MessageCompleted(message))
    events.append(_ENDS[run.status](run))
    return events


def write_json(value: object, status: int = 200, run_id: str | None = None) -> Answer:
    """An answer of one document; with a run's id in its header where there is one."""
    return Answer(status=status, body=strictjson.encode(value), headers=_run_header(run_id))


def write_events(events: list[wire.Event], run_id: str) -> Answer:
    """An answer of bare `data:` lines, one event each. It is whole when it begins, so all of it is receipted."""
    body = b"".join(write_sse(SseEvent(strictjson.encode(event))) for event in events)
    head = (*_run_header(run_id), (b"x-accel-buffering", b"no"))
    return Answer(status=200, body=body, content_type=EVENTS, headers=head)


def deny(_crossing: Crossing, denial: Denial) -> Answer:
    """A no: the protocol's three codes, and our own under `data`."""
    said = _data(denial.refusal, dict(denial.refusal.details))
    data = msgspec.structs.replace(said, left=denial.left, retry_after=denial.retry_after)
    error = wire.Error(code=_code(denial.status), message=denial.refusal.message, data=data)
    body = strictjson.encode(error)
    wait = () if denial.retry_after is None else ((b"retry-after", str(denial.retry_after).encode()),)
    return Answer(status=denial.status, body=body, headers=wait)


def _code(status: int) -> wire.ErrorCode:
    if status >= 500:
        return "server_error"
    return "not_found" if status == 404 else "invalid_input"


def _run_header(run_id: str | None) -> tuple[tuple[bytes, bytes], ...]:
    return () if run_id is None else ((RUN_ID, run_id.encode()),)


def _run(
    facts: Facts,
    status: wire.Status,
    *,
    await_request: wire.AwaitRequest | None = None,
    output: list[wire.Message] | None = None,
    error: wire.Error | None = None,
    finished_at: datetime | None = None,
) -> wire.AcpRun:
    return wire.AcpRun(
        run_id=facts.run_id,
        agent_name=facts.agent_name,
        session_id=facts.session_id,
        status=status,
        await_request=await_request,
        output=output or [],
        error=error,
        created_at=facts.created_at,
        finished_at=finished_at,
    )


def _said(facts: Facts, at: datetime, *parts: wire.Part) -> wire.Message:
    return wire.Message(role=f"agent/{facts.agent_name}", parts=list(parts), created_at=at, completed_at=at)


def _json_part(value: object) -> wire.Part:
    return wire.Part(content_type=JSON, content=strictjson.encode(value).decode())


def _await_request(facts: Facts, proposal: Proposal) -> wire.AwaitRequest:
    state = proposal.state.value
    text = (
        f"Proposal {proposal.id} for {facts.act} is {state}. Resume this run to ask again; "
        f"a message that says {WITHDRAW} takes it back."
    )
    how_far = {"proposal": proposal.id, "state": state, "expires_at": proposal.expires_at}
    parts = (wire.Part(content_type=TEXT, content=text), _json_part(how_far))
    return wire.AwaitRequest(message=_said(facts, proposal.changed_at, *parts))


def _failed(proposal: Proposal) -> wire.Error:
    state, refusal, decision = proposal.state, proposal.refusal, proposal.decision
    details = _known(proposal=proposal.id, state=state.value, article=proposal.article)
    code: wire.ErrorCode = "server_error" if state is ProposalState.FAILED else "invalid_input"
    if refusal is not None:
        return _error(code, refusal, {**refusal.details, **details})
    data = wire.ErrorData(code=state.value, reason=decision.reason if decision else None, details=details)
    return wire.Error(code=code, message=_WHY[state], data=data)


def _failed_disclosure(result: Mapping[str, Any]) -> wire.Error:
    """What stopped a disclosure: its body is the refusal, as the governor writes it."""
    refusal = strictjson.convert(result["refused"], Refusal)
    return _error("invalid_input", refusal, dict(refusal.details))


def _error(code: wire.ErrorCode, refusal: Refusal, details: dict[str, Any]) -> wire.Error:
    return wire.Error(code=code, message=refusal.message, data=_data(refusal, details))


def _data(refusal: Refusal, details: dict[str, Any]) -> wire.ErrorData:
    return wire.ErrorData(
        code=refusal.code, reason=refusal.reason, place=refusal.place, help=refusal.help, details=details
    )


def _known(**facts: object) -> dict[str, object]:
    return {name: fact for name, fact in facts.items() if fact is not None}
