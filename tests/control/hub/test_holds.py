"""What a steer's answer holds back, as a transcript: nothing is lost, nothing overtakes it, and a deadline ends it."""

from __future__ import annotations

import pytest

from sayso.control.hub.machine import MAILBOX, Answer, Ask, Close, Ending, Publish, Subscribe, Withhold
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire
from tests.control.hub.test_machine import Floor
from tests.control.protocol.talk import admit, complete, envelope, error, say, start


def steer(request_id: str = "t1") -> Envelope[Wire]:
    payload = {
        "session_id": "s1",
        "messages": [{"role": "user", "content": "go on"}],
        "delivery": "steer",
        "target_run_id": "r1",
    }
    return envelope("session.message.submit.request", payload, id=request_id, session_id="s1")


def steered(request_id: str = "t1", *, at: int) -> Envelope[Wire]:
    return admit(
        request_id,
        requested_delivery="steer",
        effective_delivery="steer",
        admission="steered",
        run_id="r1",
        target_sequence=at,
    )


def applied(sequence: int, request_id: str = "t1") -> Envelope[Wire]:
    payload = {
        "session_id": "s1",
        "run_id": "r1",
        "submission_id": "sub1",
        "request_id": request_id,
        "boundary": "immediate",
        "message_ids": ["m1"],
    }
    return envelope("run.steer.applied", payload, session_id="s1", run_id="r1", sequence=sequence)


def running(floor: Floor) -> None:
    """A run that has told two events, its reader, and a steer that is with the adapter."""
    floor.machine.apply(Subscribe("a"))
    floor.begin()
    floor.tell(start(), say(2))
    assert floor.take() == ([1, 2], [])
    floor.machine.apply(Ask(steer()))
    floor.machine.apply(Withhold("t1"))


@pytest.mark.req("OAP-096", "OAP-011")
def test_what_comes_with_a_steer_waits_for_its_answer() -> None:
    """Up to the sequence it names it goes out first, the rest behind the answer."""
    floor = Floor()
    running(floor)
    floor.tell(say(3), say(4))
    assert floor.take() == ([], [])
    floor.machine.apply(Answer(steered(at=3)))
    assert floor.take() == ([3], [])
    floor.tell(applied(5))
    assert floor.take() == ([], [])
    floor.machine.apply(Publish("t1"))
    assert floor.take() == ([4, 5], [])


@pytest.mark.req("OAP-096")
def test_only_the_steer_that_holds_lets_go() -> None:
    """Another request's answer frees nothing, and is free to come."""
    floor = Floor()
    running(floor)
    floor.tell(say(3))
    floor.machine.apply(Publish("q1"))
    assert floor.take() == ([], [])
    floor.machine.apply(Answer(steered(at=2)))
    floor.machine.apply(Publish("t1"))
    floor.machine.apply(Publish("t1"))
    assert floor.take() == ([3], [])


@pytest.mark.req("OAP-096")
def test_a_steer_that_is_refused_holds_nothing() -> None:
    """Its refusal is its answer."""
    floor = Floor()
    running(floor)
    floor.tell(say(3))
    floor.machine.apply(Answer(error("t1")))
    assert floor.take() == ([3], [])


@pytest.mark.req("OAP-096")
def test_a_terminal_that_is_held_back_still_ends_the_stream() -> None:
    """And a session that closes lets everything go."""
    floor = Floor()
    running(floor)
    floor.tell(say(3))
    floor.machine.apply(Answer(steered(at=2)))
    floor.tell(applied(4), complete(5))
    assert floor.take() == ([], [])
    floor.machine.apply(Publish("t1"))
    got, rest = floor.take()
    assert (got, [end.why for end in rest]) == ([3, 4, 5], [Ending.TERMINAL])  # type: ignore[attr-defined]
    other = Floor()
    running(other)
    other.tell(say(3))
    other.machine.apply(Close())
    got, rest = other.take()
    assert (got, [end.why for end in rest]) == ([3], [Ending.CLOSED])  # type: ignore[attr-defined]


@pytest.mark.req("OAP-096", "OAP-011")
def test_what_the_answer_names_may_still_be_on_its_way() -> None:
    """Told after the answer, up to its target it goes out at once; behind the target it waits."""
    floor = Floor()
    running(floor)
    floor.machine.apply(Answer(steered(at=4)))
    floor.tell(say(3), say(4))
    assert floor.take() == ([3, 4], [])
    floor.tell(applied(5))
    assert floor.take() == ([], [])
    floor.machine.apply(Publish("t1"))
    assert floor.take() == ([5], [])


@pytest.mark.req("OAP-096")
def test_what_was_shown_is_never_taken_back() -> None:
    """An answer that names an event long gone holds back what comes from now on, and no reader goes backwards."""
    floor = Floor()
    running(floor)
    floor.machine.apply(Answer(steered(at=1)))
    floor.machine.apply(Subscribe("late"))
    floor.tell(say(3))
    assert (floor.take(), floor.take("late")) == (([], []), ([], [("r1", 2)]))
    floor.machine.apply(Publish("t1"))
    assert (floor.take(), floor.take("late")) == (([3], []), ([3], []))


@pytest.mark.req("OAP-095", "OAP-096")
def test_a_reader_that_joins_behind_a_hold_joins_at_what_is_shown() -> None:
    """What is held back is still to come for it too, and so is not what it missed."""
    floor = Floor()
    running(floor)
    floor.tell(say(3))
    floor.machine.apply(Subscribe("late"))
    floor.machine.apply(Answer(steered(at=2)))
    assert floor.take("late") == ([], [("r1", 2)])
    floor.machine.apply(Publish("t1"))
    assert floor.take("late") == ([3], [])


@pytest.mark.req("OAP-092", "OAP-096")
def test_a_hold_that_lets_much_go_at_once_fills_a_mailbox_and_no_more() -> None:
    """The bound is the mailbox's also when its entries come in one step."""
    floor = Floor()
    running(floor)
    floor.tell(*(say(number) for number in range(3, 203)))
    floor.machine.apply(Answer(error("t1")))
    got, (end,) = floor.take(limit=1000)
    assert (got, end.at) == (list(range(3, 3 + MAILBOX)), ("r1", 2 + MAILBOX))  # type: ignore[attr-defined]
