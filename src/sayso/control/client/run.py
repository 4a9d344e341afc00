"""One submit to its end: reads the run, has every permission answered by a function, and gives back what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeGuard

from sayso.control.client.contract import Said
from sayso.control.client.verbs import SessionClient
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ActionCallRequested, PermissionRequested
from sayso.control.protocol.payloads.content import Message, Usage
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.run import RunCancelled, RunCompleted, RunFailed
from sayso.control.protocol.payloads.scalars import Maybe, Wire
from sayso.core.refusal import PeerRefused, PeerUnreachable

__all__ = ("Answered", "RunOutcome", "outcome_of", "run_to_terminal")


@dataclass(frozen=True, slots=True)
class Answered:
    """How a person answered one permission."""

    granted: bool
    signed: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What became of a run: its response if it completed, its error if it failed, neither if it was cancelled."""

    run_id: str
    response: Message | None
    error: ProtocolError | None
    stop_reason: str | None
    usage: Maybe[Usage]
    tool_calls: int


Answerer = Callable[[Envelope[PermissionRequested]], Awaitable[Answered]]
Watcher = Callable[[Envelope[Wire]], None]


async def run_to_terminal(
    client: SessionClient, session_id: str, said: Said, answer: Answerer, watch: Watcher | None = None
) -> RunOutcome:
    """Submits, and returns at the run's terminal (OAP-043). `watch` sees every event before anything is answered.

    Raises what the client's `submit`, `events` and `resolve` raise.
    """
    admitted = await client.submit(session_id, said)
    calls = 0
    async with aclosing(client.events(session_id, run_id=str(admitted.run_id), after=0)) as events:
        async for envelope in events:
            if watch is not None:
                watch(envelope)
            payload = envelope.payload
            if isinstance(payload, ActionCallRequested):
                calls += 1
            elif _asks(envelope):
                await _resolve(client, envelope, await answer(envelope))
            elif isinstance(payload, (RunCompleted, RunFailed, RunCancelled)):
                return _outcome(payload, calls)
    raise PeerUnreachable("the hub", "the run's events ended before the run")


def outcome_of(events: Sequence[Envelope[Wire]], peer: str) -> RunOutcome:
    """What became of a run whose events these are, all of them. Raises `PeerUnreachable` without a terminal."""
    calls = sum(isinstance(envelope.payload, ActionCallRequested) for envelope in events)
    for envelope in reversed(events):
        if isinstance(envelope.payload, (RunCompleted, RunFailed, RunCancelled)):
            return _outcome(envelope.payload, calls)
    raise PeerUnreachable(peer, "the run's events ended before the run")


async def _resolve(client: SessionClient, asked: Envelope[PermissionRequested], given: Answered) -> None:
    try:
        await client.resolve(asked, granted=given.granted, signed=given.signed, reason=given.reason)
    except PeerRefused as refused:
        # Another surface answered first, or the run was cancelled meanwhile; its events tell which.
        if refused.refusal.code != "resolution_rejected":
            raise


def _asks(envelope: Envelope[Wire]) -> TypeGuard[Envelope[PermissionRequested]]:
    return isinstance(envelope.payload, PermissionRequested)


def _outcome(payload: RunCompleted | RunFailed | RunCancelled, calls: int) -> RunOutcome:
    completed = payload if isinstance(payload, RunCompleted) else None
    return RunOutcome(
        run_id=payload.run_id,
        response=completed.final_response if completed else None,
        error=payload.error if isinstance(payload, RunFailed) else None,
        stop_reason=completed.stop_reason if completed else None,
        usage=payload.usage,
        tool_calls=calls,
    )
