"""A proposal as an A2A task, and a disclosure as one (GTW-034). Pure.

A person's pending decision is `submitted`: clients poll at it, and a client can do nothing about it, which is what
`input-required` would ask for. A signature that is missing midway is `auth-required`. A no is `rejected`, whoever said
it: the constitution, a person, or a deadline.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sayso.core.refusal import Refusal
from sayso.gateway.doors.a2a.values import (
    ENDED,
    A2aTask,
    Artifact,
    ArtifactUpdate,
    Event,
    Message,
    Part,
    State,
    Status,
    StatusUpdate,
)
from sayso.gateway.doors.a2a.write.instants import write_at
from sayso.governance.machine import ProposalState
from sayso.governance.proposal import Proposal

__all__ = ("STATES", "of_disclosure", "of_proposal", "updates", "with_history")

STATES: Final[Mapping[ProposalState, State]] = {
    ProposalState.PROPOSED: State.SUBMITTED,
    ProposalState.PENDING: State.SUBMITTED,
    ProposalState.APPROVED: State.WORKING,
    ProposalState.EXECUTING: State.WORKING,
    ProposalState.AWAITING_PERSON: State.AUTH_REQUIRED,
    ProposalState.EXECUTED: State.COMPLETED,
    ProposalState.REFUSED_BY_CONSTITUTION: State.REJECTED,
    ProposalState.REJECTED: State.REJECTED,
    ProposalState.EXPIRED: State.REJECTED,
    ProposalState.WITHDRAWN: State.CANCELED,
    ProposalState.FAILED: State.FAILED,
}
_WORDS: Final[Mapping[ProposalState, str]] = {
    ProposalState.APPROVED: "A person said yes; it will begin.",
    ProposalState.EXECUTING: "It is being done.",
    ProposalState.EXECUTED: "It was done.",
    ProposalState.EXPIRED: "Nobody answered in time, and silence is a no.",
    ProposalState.WITHDRAWN: "It was taken back.",
}


def of_proposal(proposal: Proposal, asked: Message | None = None) -> A2aTask:
    """The task a proposal is; `asked` is the message it came with, where this door took it."""
    context = proposal.context or proposal.id
    state = STATES[proposal.state]
    said = Message(
        id=f"{proposal.id}.{proposal.moves}",
        role="agent",
        parts=(Part(text=_words(proposal)),),
        context=context,
        task=proposal.id,
    )
    facts: dict[str, Any] = {"act": proposal.act, "proposal": proposal.id, "state": proposal.state.value}
    if state not in ENDED:
        facts["expires_at"] = write_at(proposal.expires_at)
    return A2aTask(
        id=proposal.id,
        context=context,
        status=Status(state=state, at=proposal.changed_at, message=said),
        artifacts=_results(proposal.id, proposal.act, proposal.result) if state is State.COMPLETED else (),
        history=() if asked is None else (asked,),
        metadata=facts,
    )


def of_disclosure(
    id_: str, context: str, act: str, result: Mapping[str, Any], at: datetime, asked: Message, *, is_error: bool
) -> A2aTask:
    """The task that a disclosure was: over before it is told of, with its result."""
    said = Message(id=f"{id_}.1", role="agent", parts=(Part(data=dict(result)),), context=context, task=id_)
    return A2aTask(
        id=id_,
        context=context,
        status=Status(state=State.FAILED if is_error else State.COMPLETED, at=at, message=said if is_error else None),
        artifacts=() if is_error else _results(id_, act, result),
        history=(asked,),
        metadata={"act": act},
    )


def updates(before: A2aTask, after: A2aTask) -> list[Event]:
    """What a follower is told when a task has moved: its artifacts first, so that the end comes last."""
    if after.status.state is before.status.state:
        return []
    fresh: list[Event] = [
        ArtifactUpdate(task=after.id, context=after.context, artifact=each) for each in after.artifacts
    ]
    return [*fresh, StatusUpdate(task=after.id, context=after.context, status=after.status)]


def with_history(task: A2aTask, length: int | None) -> A2aTask:
    """The task with its newest `length` messages; None for all of them, and 0 leaves `history` out."""
    if length is None or task.history is None:
        return task
    kept = task.history[-length:] if length else None
    return A2aTask(
        id=task.id, context=task.context, status=task.status, artifacts=task.artifacts, history=kept,
        metadata=task.metadata,
    )  # fmt: skip


def _results(id_: str, act: str, result: Mapping[str, Any] | None) -> tuple[Artifact, ...]:
    return (Artifact(id=f"{id_}.result", name=act, parts=(Part(data=dict(result or {})),)),)


def _words(proposal: Proposal) -> str:
    until = write_at(proposal.expires_at)
    match proposal.state:
        case ProposalState.PROPOSED | ProposalState.PENDING:
            return f"A person decides on it, until {until}; silence is a no."
        case ProposalState.AWAITING_PERSON:
            return f"It waits for one more signature of the person, until {until}."
        case ProposalState.REJECTED:
            reason = proposal.decision.reason if proposal.decision else ""
            return f"A person said no: {reason}" if reason else "A person said no."
        case ProposalState.REFUSED_BY_CONSTITUTION:
            return _why(proposal.refusal, f"The constitution refuses it ({proposal.article}).")
        case ProposalState.FAILED:
            return _why(proposal.refusal, "It was not done.")
        case state:
            return _WORDS[state]


def _why(refusal: Refusal | None, otherwise: str) -> str:
    return otherwise if refusal is None else str(refusal)
