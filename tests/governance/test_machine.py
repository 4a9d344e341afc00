"""The proposal machine alone: every pair of state and command, and what holds along any path."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Misuse, Refused
from sayso.governance import machine
from sayso.governance.machine import ENDED, TABLE, WAITING, ProposalState, Standing, step
from sayso.testing.store import START

LATER = START + timedelta(hours=1)
COMMANDS = {kind: kind(until=LATER) if kind in (machine.Queue, machine.Approve, machine.Ask) else kind()
            for kind in machine.Command.__args__}  # fmt: skip
PAIRS = [(state, kind) for state in ProposalState for kind in COMMANDS]
OUTSIDE = [(state, kind) for state, kind in PAIRS if kind not in TABLE[state]]
INSIDE = [(state, kind) for state, kind in PAIRS if kind in TABLE[state]]


def standing(state: ProposalState) -> Standing:
    return Standing(state=state, moves=3, deadline=LATER if state in WAITING else None)


def name(value: object) -> str:
    return value.value if isinstance(value, ProposalState) else value.__name__


@pytest.mark.req("GTW-032")
@pytest.mark.parametrize(("state", "kind"), INSIDE, ids=name)
def test_a_pair_of_the_table_moves_the_proposal_once(state: ProposalState, kind: type) -> None:
    """To the state its row names, one move further, with a deadline exactly where somebody is waited for."""
    now = LATER if kind is machine.Lapse else START
    after = step(standing(state), COMMANDS[kind], now)
    assert after.state is TABLE[state][kind]
    assert after.moves == 4
    assert (after.deadline is not None) == (after.state in WAITING)


@pytest.mark.req("GTW-032")
@pytest.mark.parametrize(("state", "kind"), OUTSIDE, ids=name)
def test_a_pair_outside_the_table_is_refused(state: ProposalState, kind: type) -> None:
    """With a code that says whether somebody was first, nothing was asked, or it moved."""
    now = LATER if kind is machine.Lapse else START
    with pytest.raises(Refused) as refused:
        step(standing(state), COMMANDS[kind], now)
    decisions = (machine.Approve, machine.Reject, machine.Withdraw)
    if state is ProposalState.EXPIRED and kind in (*decisions, machine.Answer):
        assert refused.value.refusal.code == "proposal_expired"
        return
    expected = (
        "already_decided" if kind in decisions else "nothing_asked" if kind is machine.Answer else "proposal_moved"
    )
    assert (refused.value.refusal.code, refused.value.refusal.details) == (expected, {"state": state.value})


@pytest.mark.req("GTW-032")
@pytest.mark.parametrize(("state", "kind"), [(state, kind) for state, kind in INSIDE if state in WAITING and kind not in
                                             (machine.Lapse, machine.Drop)], ids=name)  # fmt: skip
def test_at_the_deadline_only_lapsing_is_left(state: ProposalState, kind: type) -> None:
    """Silence is a no at that very instant, swept or not."""
    with pytest.raises(Refused) as refused:
        step(standing(state), COMMANDS[kind], LATER)
    assert refused.value.refusal.code == "proposal_expired"
    assert step(standing(state), machine.Lapse(), LATER).state is ProposalState.EXPIRED


@pytest.mark.parametrize("state", sorted(WAITING, key=name), ids=name)
def test_nothing_lapses_before_its_deadline(state: ProposalState) -> None:
    """A sweeper that is early is a bug, not an answer."""
    with pytest.raises(Misuse):
        step(standing(state), machine.Lapse(), LATER - timedelta(microseconds=1))


def test_every_state_is_reached_and_every_command_used() -> None:
    """The table has no dead row and no word without a meaning."""
    reached, open_states = {ProposalState.PROPOSED}, [ProposalState.PROPOSED]
    while open_states:
        for after in TABLE[open_states.pop()].values():
            if after not in reached:
                reached.add(after)
                open_states.append(after)
    assert reached == set(ProposalState) == set(TABLE)
    assert {kind for row in TABLE.values() for kind in row} == set(COMMANDS)
    assert {state.value for state in ENDED} == {
        "refused_by_constitution", "rejected", "expired", "withdrawn", "executed", "failed"
    }  # fmt: skip


@pytest.mark.req("GTW-032", "GTW-033")
@given(st.lists(st.integers(0, 2**16), max_size=30), st.integers(0, 20))
def test_along_any_path_it_is_decided_once_and_begins_only_after_a_yes(path: list[int], minutes: int) -> None:
    """Invariants PG-01 and PG-02: one decision, no execution without it, a deadline exactly while waiting."""
    proposal, now, taken = Standing(state=ProposalState.PROPOSED, moves=0), START, []
    for choice in path:
        # Two of three are taken from the table's row, so that paths get far.
        kinds = sorted(TABLE[proposal.state] if choice % 3 and TABLE[proposal.state] else COMMANDS, key=name)
        kind = kinds[choice // 3 % len(kinds)]
        try:
            proposal = step(proposal, COMMANDS[kind], now)
        except (Refused, Misuse):
            continue
        taken.append(kind)
        now += timedelta(minutes=minutes)
        assert (proposal.deadline is not None) == (proposal.state in WAITING)
    assert proposal.moves == len(taken)
    assert sum(kind in (machine.Approve, machine.Reject) for kind in taken) <= 1
    if machine.Begin in taken:
        assert machine.Approve in taken[: taken.index(machine.Begin)]
        assert taken.count(machine.Begin) == 1
    assert sum(kind in (machine.Succeed, machine.Fail, machine.Drop) for kind in taken) <= 1


def paths(proposal: Standing, taken: tuple[type, ...], left: int) -> Iterator[tuple[type, ...]]:
    """Every way through the table in so many moves."""
    yield taken
    for kind in TABLE[proposal.state] if left else ():
        now = LATER if kind is machine.Lapse else START
        yield from paths(step(proposal, COMMANDS[kind], now), (*taken, kind), left - 1)


@pytest.mark.req("GTW-032", "GTW-033")
def test_on_every_path_of_nine_moves_there_is_one_decision_and_one_beginning() -> None:
    """Invariant PG-01, walked to the end: no row leads back in front of a decision."""
    walked = list(paths(Standing(state=ProposalState.PROPOSED, moves=0), (), 9))
    assert len(walked) > 100
    for taken in walked:
        assert sum(kind in (machine.Approve, machine.Reject) for kind in taken) <= 1
        assert taken.count(machine.Begin) <= 1
        assert machine.Begin not in taken or machine.Approve in taken
        assert sum(kind in (machine.Succeed, machine.Fail, machine.Drop) for kind in taken) <= 1
