"""The line of a session's runs: whose turn it is, whatever happens in whatever order."""

from __future__ import annotations

from itertools import product
from typing import Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.loop.line.machine import BOUND, TABLE, admit, close, decide
from sayso.control.loop.line.places import (
    Begun,
    CloseLine,
    Ended,
    LineCommand,
    LineDecision,
    Promote,
    Read,
    RunLine,
    Standing,
    Withdrawn,
    WithdrawRun,
)
from sayso.core.refusal import Refused

EMPTY = RunLine(BOUND)


def line_of(*names: str, delivery: Literal["auto", "queue"] = "auto") -> RunLine:
    line = EMPTY
    for name in names:
        line = admit(line, name, delivery)[0].line
    return line


def after(line: RunLine, *commands: LineCommand) -> LineDecision:
    """All commands, and the effects of the last."""
    decision = LineDecision(line)
    for command in commands:
        decision = decide(decision.line, command)
    return decision


def read_to_the_end(name: str) -> tuple[LineCommand, ...]:
    return Begun(name), Ended(name), Read(name)


def at(standing: Standing) -> RunLine:
    """A line in which `a` stands so."""
    if standing is Standing.RESERVED:
        return after(line_of("first", "a")).line
    line = line_of("a")
    commands = {
        Standing.STARTING: (),
        Standing.RUNNING: (Begun("a"),),
        Standing.ENDED: (Begun("a"), Ended("a")),
    }[standing]
    return after(line, *commands).line


COMMANDS: dict[type, LineCommand] = {
    Begun: Begun("a"),
    Ended: Ended("a"),
    Read: Read("a"),
    WithdrawRun: WithdrawRun("a"),
    CloseLine: CloseLine("a"),
}


@pytest.mark.req("OAP-160")
@pytest.mark.parametrize(("standing", "command"), list(product(Standing, get_args(LineCommand))))
def test_a_pair_outside_the_table_changes_nothing(standing: Standing, command: type) -> None:
    """Every pair: out of turn nothing happens, in turn something does."""
    line = at(standing)
    decision = decide(line, COMMANDS[command])
    if (standing, command) not in TABLE:
        assert decision == LineDecision(line)
    elif (standing, command) != (Standing.ENDED, Begun):
        assert decision != LineDecision(line)


@pytest.mark.req("OAP-160")
def test_auto_starts_where_nothing_runs_and_waits_where_something_does() -> None:
    """An explicit queue is a reservation first, even when it starts at once."""
    decision, admitted = admit(EMPTY, "a", "auto")
    assert (decision.effects, admitted.starts, admitted.was_busy) == ((Promote("a"),), True, False)
    decision, admitted = admit(decision.line, "b", "auto")
    assert (decision.effects, admitted.starts, admitted.was_busy) == ((), False, True)
    decision, admitted = admit(EMPTY, "c", "queue")
    assert (decision.effects, admitted.starts) == ((Promote("c"),), False)


@pytest.mark.req("OAP-160")
def test_eight_wait_behind_one_and_the_ninth_is_refused() -> None:
    """At the bound and not below it."""
    line = line_of(*"abcdefgh")
    line = admit(line, "i", "queue")[0].line
    assert line.reserved == BOUND == 8
    with pytest.raises(Refused) as refused:
        admit(line, "j", "auto")
    assert refused.value.refusal.code == "run_active"


@pytest.mark.req("OAP-160")
def test_the_next_starts_when_the_end_of_the_one_before_was_read() -> None:
    """Told is not enough: only what was read is over for everybody."""
    line = line_of("a", "b", "c")
    told = after(line, Begun("a"), Ended("a"))
    assert (told.effects, told.line.reserved) == ((), 2)
    read = decide(told.line, Read("a"))
    assert (read.effects, [place.run_id for place in read.line.places]) == ((Promote("b"),), ["b", "c"])


@pytest.mark.req("OAP-160")
def test_a_cancelled_reservation_ends_at_once_and_its_place_is_free() -> None:
    """Within that request: the next message finds room, and readers are still owed the news."""
    line = line_of(*"abcdefghi")
    decision = decide(line, WithdrawRun("e", "changed my mind"))
    assert decision.effects == (Withdrawn("e", is_cancelled=True, reason="changed my mind"),)
    assert (decision.line.reserved, decision.line.seen_reserved) == (7, 8)
    assert admit(decision.line, "j", "auto")[0].line.reserved == 8
    seen = after(decision.line, Begun("e"), Read("e")).line
    assert seen.seen_reserved == 7


@pytest.mark.req("OAP-160")
def test_a_run_that_ends_early_keeps_the_line_behind_it() -> None:
    """B then C, whatever became of A (B15)."""
    line = line_of("a", "b", "c")
    decision = after(line, *read_to_the_end("a"))
    assert decision.effects == (Promote("b"),)
    decision = after(decision.line, *read_to_the_end("b"))
    assert decision.effects == (Promote("c"),)


def test_closing_fails_what_waits_and_starts_nothing_any_more() -> None:
    """The latest first; the run at work is its driver's to stop."""
    line = line_of("a", "b", "c")
    decision = close(line)
    assert decision.effects == (Withdrawn("c", is_cancelled=False), Withdrawn("b", is_cancelled=False))
    assert after(decision.line, *read_to_the_end("a")).effects == ()
    with pytest.raises(Refused) as refused:
        admit(decision.line, "d", "auto")
    assert refused.value.refusal.code == "session_closed"


@pytest.mark.req("OAP-160")
@given(st.lists(st.integers(0, 4).flatmap(lambda kind: st.tuples(st.just(kind), st.integers(0, 30))), max_size=80))
def test_runs_start_in_the_order_of_their_admission_one_at_a_time(moves: list[tuple[int, int]]) -> None:
    """Whatever is admitted, read, told and withdrawn: the started ones are the admitted ones without the withdrawn."""
    line, admitted, withdrawn, started = EMPTY, list[str](), set[str](), list[str]()

    def take(decision: LineDecision) -> None:
        nonlocal line
        line = decision.line
        started.extend(each.run_id for each in decision.effects if isinstance(each, Promote))
        withdrawn.update(each.run_id for each in decision.effects if isinstance(each, Withdrawn))

    for kind, number in moves:
        name = str(number)
        if kind == 0 and name not in admitted and line.reserved < BOUND:
            admitted.append(name)
            take(admit(line, name, "auto" if number % 2 else "queue")[0])
        elif kind > 0:
            take(decide(line, [Begun, Ended, Read, WithdrawRun][kind - 1](name)))
        at_work = [place for place in line.places if place.standing in (Standing.STARTING, Standing.RUNNING)]
        assert len(at_work) <= 1
        assert line.reserved <= BOUND
    assert started == [name for name in admitted if name not in withdrawn][: len(started)]
