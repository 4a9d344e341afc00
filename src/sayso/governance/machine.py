"""The proposal machine: how an act that an agent asked for becomes an act that a person decided (GTW-030, GTW-032).

Theory. A proposal is judged by the constitution the moment it is filed, in the same unit: it ends
`refused_by_constitution`, or it is `pending` and waits in the queue for a person. It is decided once. A yes makes it
`approved`, and whichever process claims it first makes it `executing`; that is where its intent is receipted. An act
that finds another signature missing midway waits in `awaiting_person`, with a deadline of its own, and goes on from
there. It ends `executed` or `failed`.

Silence is a no: every state that waits for somebody has a deadline, and at that instant it counts as passed, whether or
not anybody has swept yet. `approved` has one too, because a yes of last week says little about today; `executing` has
none, because what has begun must be finished or reported.

`moves` counts the transitions. It is what a waiter compares, and what a writer shows it has seen: whoever saves with an
older number has been overtaken and saves nothing.

What the tables cannot say, conditions do: that a deadline has not passed (`Approve`, `Reject`, `Withdraw`, `Answer`,
`Begin`), or that it has (`Lapse`). Who may decide is the constitution's (`Article VI`), what has to be signed the
consent sources'; neither is asked here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from sayso.core.refusal import Misuse, Refused

__all__ = (
    "ALREADY_DECIDED",
    "ENDED",
    "NOTHING_ASKED",
    "PROPOSAL_EXPIRED",
    "PROPOSAL_MOVED",
    "TABLE",
    "WAITING",
    "Again",
    "Answer",
    "Approve",
    "Ask",
    "Begin",
    "Command",
    "Drop",
    "Fail",
    "Lapse",
    "ProposalState",
    "Queue",
    "Refuse",
    "Reject",
    "Standing",
    "Succeed",
    "Withdraw",
    "step",
)

ALREADY_DECIDED = "already_decided"
PROPOSAL_EXPIRED = "proposal_expired"
NOTHING_ASKED = "nothing_asked"
PROPOSAL_MOVED = "proposal_moved"


class ProposalState(Enum):
    """Where a proposal stands; the values are the wire's words."""

    PROPOSED = "proposed"
    """Asked for, not yet judged."""
    REFUSED_BY_CONSTITUTION = "refused_by_constitution"
    """An article forbids it, or none allows it; no person was asked."""
    PENDING = "pending"
    """In the queue of people."""
    APPROVED = "approved"
    """A person said yes; it has not begun."""
    REJECTED = "rejected"
    """A person said no."""
    EXPIRED = "expired"
    """Nobody decided in time, or a second question was not answered in time."""
    WITHDRAWN = "withdrawn"
    """The agent took it back before it began."""
    EXECUTING = "executing"
    """Begun, and neither over nor waiting for a person."""
    AWAITING_PERSON = "awaiting_person"
    """Begun, and waits for one more signature of the person."""
    EXECUTED = "executed"
    """It was done."""
    FAILED = "failed"
    """It was not done, or nobody can tell: the refusal says which."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The constitution allows it, and people are asked until then."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Refuse:
    """The constitution does not allow it."""


@dataclass(frozen=True, slots=True)
class Approve:
    """A person says yes; it must begin before then."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Reject:
    """A person says no."""


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The agent takes it back."""


@dataclass(frozen=True, slots=True)
class Lapse:
    """The deadline has passed."""


@dataclass(frozen=True, slots=True)
class Begin:
    """A worker has claimed it and is about to touch the world."""


@dataclass(frozen=True, slots=True)
class Drop:
    """What was approved may no longer run: judged again just before it began, the answer was no."""


@dataclass(frozen=True, slots=True)
class Again:
    """A worker takes up what another left, or tries once more where the first try cannot have harmed."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The act found another signature missing; the person has until then."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Answer:
    """The person answered the second question, whichever way."""


@dataclass(frozen=True, slots=True)
class Succeed:
    """The act was done."""


@dataclass(frozen=True, slots=True)
class Fail:
    """The act was not done, or its outcome cannot be known."""


Command = Queue | Refuse | Approve | Reject | Withdraw | Lapse | Begin | Drop | Again | Ask | Answer | Succeed | Fail

TABLE: Final[Mapping[ProposalState, Mapping[type[Command], ProposalState]]] = {
    ProposalState.PROPOSED: {
        Queue: ProposalState.PENDING,
        Refuse: ProposalState.REFUSED_BY_CONSTITUTION,
    },
    ProposalState.REFUSED_BY_CONSTITUTION: {},
    ProposalState.PENDING: {
        Approve: ProposalState.APPROVED,
        Reject: ProposalState.REJECTED,
        Withdraw: ProposalState.WITHDRAWN,
        Lapse: ProposalState.EXPIRED,
    },
    ProposalState.APPROVED: {
        Begin: ProposalState.EXECUTING,
        Drop: ProposalState.FAILED,
        Withdraw: ProposalState.WITHDRAWN,
        Lapse: ProposalState.EXPIRED,
    },
    ProposalState.REJECTED: {},
    ProposalState.EXPIRED: {},
    ProposalState.WITHDRAWN: {},
    ProposalState.EXECUTING: {
        Again: ProposalState.EXECUTING,
        Ask: ProposalState.AWAITING_PERSON,
        Succeed: ProposalState.EXECUTED,
        Fail: ProposalState.FAILED,
    },
    ProposalState.AWAITING_PERSON: {
        Answer: ProposalState.EXECUTING,
        Lapse: ProposalState.EXPIRED,
    },
    ProposalState.EXECUTED: {},
    ProposalState.FAILED: {},
}

ENDED: Final = frozenset(state for state, row in TABLE.items() if not row)
"""The states that nothing leaves."""
WAITING: Final = frozenset(state for state, row in TABLE.items() if Lapse in row)
"""The states with a deadline."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What the machine knows of a proposal. `deadline` is set exactly in the states that wait for somebody."""

    state: ProposalState
    moves: int
    deadline: datetime | None = None


def _is_in_time(proposal: Standing, now: datetime) -> None:
    if proposal.deadline is None or now >= proposal.deadline:
        raise _too_late()


def _deadline_passed(proposal: Standing, now: datetime) -> None:
    if proposal.deadline is None or now < proposal.deadline:
        raise Misuse("a proposal lapses at its deadline, not before")


_CONDITIONS: Final[Mapping[type[Command], Callable[[Standing, datetime], None]]] = {
    Approve: _is_in_time,
    Reject: _is_in_time,
    Withdraw: _is_in_time,
    Answer: _is_in_time,
    Begin: _is_in_time,
    Lapse: _deadline_passed,
}


def step(proposal: Standing, command: Command, now: datetime) -> Standing:
    """The proposal after the command. Refused with nothing changed: `already_decided`, `nothing_asked` or
    `proposal_moved` where no row of the table names the pair, `proposal_expired` where it comes too late.
    """
    # Invariant PG-01: a proposal is decided once; only `pending` has a row for a decision.
    after = TABLE[proposal.state].get(type(command))
    if after is None:
        raise _misplaced(proposal.state, command)
    if (condition := _CONDITIONS.get(type(command))) is not None:
        condition(proposal, now)
    # Invariant PG-02: a state that waits has a deadline, and no other has one.
    deadline = command.until if isinstance(command, Queue | Approve | Ask) else None
    return Standing(state=after, moves=proposal.moves + 1, deadline=deadline)


def _misplaced(state: ProposalState, command: Command) -> Refused:
    details = {"state": state.value}
    if state is ProposalState.EXPIRED and isinstance(command, Approve | Reject | Withdraw | Answer):
        return _too_late()
    match command:
        case Approve() | Reject() | Withdraw():
            return Refused.because(
                ALREADY_DECIDED,
                f"The proposal is {state.value.replace('_', ' ')}, and that stands",
                help="Read the proposal again: somebody was first.",
                details=details,
            )
        case Answer():
            return Refused.because(
                NOTHING_ASKED,
                f"The proposal is {state.value.replace('_', ' ')}, and asks nobody anything now",
                details=details,
            )
        case _:
            return Refused.because(
                PROPOSAL_MOVED,
                f"{type(command).__name__} does not apply to a proposal that is {state.value.replace('_', ' ')}",
                details=details,
            )


def _too_late() -> Refused:
    return Refused.because(
        PROPOSAL_EXPIRED,
        "The time to answer is over, and silence is a no",
        help="The agent may propose it again.",
        details={"state": ProposalState.EXPIRED.value},
    )
