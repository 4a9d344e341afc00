"""One submit to its end straight at an adapter's session, without a hub (OAP-043).

Every question of the run is put to a policy: a permission, questions to the person, a call of the client's own tool.
Without a policy every answer is a no.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import msgspec

from sayso.control.adapters.contract import AdapterSession, ResolvesCalls, Resumes
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import (
    ActionCallRequested,
    ActionCallResolveRequest,
    PermissionRequested,
    PermissionResolveRequest,
)
from sayso.control.protocol.payloads.content import Message, Usage
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.interaction import (
    UserInputCancelRequest,
    UserInputRequested,
    UserInputResolveRequest,
)
from sayso.control.protocol.payloads.run import RunCancelled, RunCompleted, RunFailed
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe, Wire
from sayso.control.protocol.payloads.session import MessageSubmitRequest
from sayso.core.ids import Ids
from sayso.core.refusal import Misuse, PeerUnreachable, Refused

__all__ = ("Answers", "Policy", "RunResult", "denying", "run_to_terminal")

Answers = PermissionResolveRequest | UserInputResolveRequest | UserInputCancelRequest | ActionCallResolveRequest
"""What a policy may answer with: the payload of the request that resolves what was asked."""
Policy = Callable[[Envelope[Wire]], Awaitable[Answers]]
_TYPES: dict[type, str] = {
    PermissionResolveRequest: "action.permission.resolve.request",
    UserInputResolveRequest: "user.input.resolve.request",
    UserInputCancelRequest: "user.input.cancel.request",
    ActionCallResolveRequest: "action.call.resolve.request",
}


@dataclass(frozen=True, slots=True)
class RunResult:
    """What became of a run: its response if it completed, its error if it failed, neither if it was cancelled."""

    run_id: str
    response: Message | None
    error: ProtocolError | None
    stop_reason: str | None
    result: Maybe[JsonObject]
    usage: Maybe[Usage]
    tool_calls: int


async def denying(asked: Envelope[Wire]) -> Answers:
    """The policy of nobody being there: every permission is denied, questions are declined, the client has no tools."""
    payload = asked.payload
    if not isinstance(payload, (PermissionRequested, UserInputRequested, ActionCallRequested)):
        raise Misuse(f"{asked.type} asks nothing")
    gate = {
        "interaction_id": str(payload.interaction_id),
        "requested_by": payload.requested_by,
        "responded_by": str(payload.responded_by),
        "session_id": payload.session_id,
        "run_id": payload.run_id,
    }
    if isinstance(payload, PermissionRequested):
        return PermissionResolveRequest(**gate, granted=False)
    if isinstance(payload, UserInputRequested):
        return UserInputCancelRequest(**gate)
    error = ProtocolError(code="tool_failed", message="nobody runs this tool here")
    return msgspec.convert({**gate, "tool_call_id": payload.tool_call_id, "error": error}, ActionCallResolveRequest)


async def run_to_terminal(
    session: AdapterSession,
    request: Envelope[MessageSubmitRequest],
    policy: Policy = denying,
    *,
    ids: Ids,
    watch: Callable[[Envelope[Wire]], None] | None = None,
) -> RunResult:
    """Submits, and returns at the terminal of the run; `watch` sees every event before anything is answered.

    Where the stream tells of an overflow and the session keeps a journal, it is resumed behind the last event. Raises
    what the session's `submit` and `resolve` raise, and `PeerUnreachable` when the events end before the run.
    """
    admitted = await session.submit(request)
    if admitted.run_id is UNSET or admitted.admission == "steered":
        raise Misuse("a steer has no run of its own to follow")
    calls = 0
    async for envelope in _followed(session, admitted.run_id):
        if watch is not None:
            watch(envelope)
        payload = envelope.payload
        calls += isinstance(payload, ActionCallRequested)
        if _is_asking(payload):
            await _resolve(session, await policy(envelope), ids)
        elif isinstance(payload, (RunCompleted, RunFailed, RunCancelled)):
            return _result(payload, calls)
    raise PeerUnreachable("the adapter", "the run's events ended before the run")


def _is_asking(payload: Wire) -> bool:
    if isinstance(payload, ActionCallRequested):
        return payload.interaction_id is not UNSET
    return isinstance(payload, (PermissionRequested, UserInputRequested))


async def _followed(session: AdapterSession, run_id: str) -> AsyncIterator[Envelope[Wire]]:
    last, events = 0, session.events(run_id)
    while True:
        try:
            async for envelope in events:
                last = int(envelope.sequence or 0)
                yield envelope
        except Refused as refused:
            if refused.refusal.code != "overflow" or not isinstance(session, Resumes):
                raise
            events = session.resume(run_id, last)
        else:
            return


async def _resolve(session: AdapterSession, answer: Answers, ids: Ids) -> None:
    request: Envelope[Wire] = Envelope(
        type=_TYPES[type(answer)],
        id=ids.new("env"),
        payload=answer,
        session_id=answer.session_id,
        run_id=answer.run_id,
    )
    try:
        if isinstance(answer, ActionCallResolveRequest) and isinstance(session, ResolvesCalls):
            await session.resolve_call(request)  # type: ignore[arg-type]
        else:
            await session.resolve(request)
    except Refused as refused:
        # Somebody else answered first, or the run was cancelled meanwhile; its events tell which.
        if refused.refusal.code != "resolution_rejected":
            raise


def _result(payload: RunCompleted | RunFailed | RunCancelled, calls: int) -> RunResult:
    completed = payload if isinstance(payload, RunCompleted) else None
    return RunResult(
        run_id=payload.run_id,
        response=completed.final_response if completed else None,
        error=payload.error if isinstance(payload, RunFailed) else None,
        stop_reason=completed.stop_reason if completed else None,
        result=completed.result if completed else UNSET,
        usage=payload.usage,
        tool_calls=calls,
    )
