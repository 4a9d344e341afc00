"""What each state of a proposal is to an A2A client (GTW-034)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sayso.core.refusal import Refusal
from sayso.gateway.doors.a2a.states import STATES, of_proposal, updates, with_history
from sayso.gateway.doors.a2a.values import ENDED, ArtifactUpdate, Message, Part, State, StatusUpdate
from sayso.governance.machine import ENDED as PROPOSAL_ENDED
from sayso.governance.machine import ProposalState
from sayso.governance.proposal import Proposal

NOW = datetime(2026, 10, 13, 13, tzinfo=UTC)
SAID = Message(id="m", role="user", parts=(Part(text="hi"),))


def proposal(state: ProposalState, *, moves: int = 1) -> Proposal:
    """A proposal in a state."""
    return Proposal(
        id="prop_1", agent="a", owner="ada", door="a2a", act="take_note", title="Take a note", arguments={},
        arguments_sha256="x", constitution="v", article="Article II", state=state, context="c", note=b"",
        scopes=frozenset(), created_at=NOW, expires_at=NOW + timedelta(hours=1), changed_at=NOW, moves=moves,
        result={"noted": True}, refusal=Refusal(code="no", message="It cannot be"),
    )  # fmt: skip


@pytest.mark.req("GTW-034")
def test_every_state_of_a_proposal_has_one_of_a_task() -> None:
    """And it is over for the one exactly when it is for the other."""
    assert set(STATES) == set(ProposalState)
    for theirs, ours in STATES.items():
        assert (theirs in PROPOSAL_ENDED) == (ours in ENDED)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (ProposalState.PENDING, State.SUBMITTED),
        (ProposalState.APPROVED, State.WORKING),
        (ProposalState.EXECUTING, State.WORKING),
        (ProposalState.AWAITING_PERSON, State.AUTH_REQUIRED),
        (ProposalState.EXECUTED, State.COMPLETED),
        (ProposalState.REJECTED, State.REJECTED),
        (ProposalState.REFUSED_BY_CONSTITUTION, State.REJECTED),
        (ProposalState.EXPIRED, State.REJECTED),
        (ProposalState.WITHDRAWN, State.CANCELED),
        (ProposalState.FAILED, State.FAILED),
    ],
)
@pytest.mark.req("GTW-034")
def test_the_task_says_how_the_proposal_stands(state: ProposalState, expected: State) -> None:
    """With words, the proposal's own state, a result only where it was done, a deadline only where it is not over."""
    task = of_proposal(proposal(state), SAID)
    assert task.status.state is expected
    assert task.status.message is not None
    assert task.status.message.parts[0].text
    assert task.metadata["state"] == state.value
    assert bool(task.artifacts) == (expected is State.COMPLETED)
    assert ("expires_at" in task.metadata) == (expected not in ENDED)


@pytest.mark.req("GTW-034")
def test_a_follower_is_told_of_a_state_once_and_of_the_result_before_the_end() -> None:
    """Approved and executing are both working."""
    approved, executing = (of_proposal(proposal(each)) for each in (ProposalState.APPROVED, ProposalState.EXECUTING))
    done = of_proposal(proposal(ProposalState.EXECUTED, moves=4))
    assert updates(approved, executing) == []
    assert [type(each) for each in updates(executing, done)] == [ArtifactUpdate, StatusUpdate]


@pytest.mark.req("GTW-003")
def test_a_history_is_as_long_as_it_is_wanted() -> None:
    """All of it, the newest of it, none of it."""
    task = of_proposal(proposal(ProposalState.PENDING), SAID)
    assert with_history(task, None).history == (SAID,)
    assert with_history(task, 1).history == (SAID,)
    assert with_history(task, 0).history is None
