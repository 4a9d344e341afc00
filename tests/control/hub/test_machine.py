"""One session's subscriptions and claims as a transcript: no task and no network."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from msgspec.structs import astuple

from sayso.control.hub.journal import Journal
from sayso.control.hub.machine import (
    MAILBOX,
    TABLE,
    Answer,
    Ask,
    Claim,
    Close,
    Cursor,
    Deliver,
    Drop,
    End,
    Ending,
    HangUp,
    HubSessionMachine,
    Release,
    SessionPhase,
    Subscribe,
    Take,
    TellEvent,
    Wake,
)
from sayso.control.protocol.conversation import MOST_ENDED, MOST_IDS, Illegal, RunState
from sayso.control.protocol.envelope import Envelope, write_envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.refusal import Refused
from tests.control.protocol.talk import (
    RUN,
    admit,
    ask,
    call,
    complete,
    envelope,
    of_run,
    reserve,
    resolve,
    resolve_answer,
    say,
    start,
    submit,
)


class Floor:
    """A session's machine and shorthand for what happens to it."""

    def __init__(self, capacity: int = 1000) -> None:
        self.machine = HubSessionMachine(journal=Journal(capacity))

    def tell(self, *envelopes: Envelope[Wire]) -> list[object]:
        return [e for each in envelopes for e in self.machine.apply(TellEvent(each, write_envelope(each)))]

    def begin(self, number: str = "q1", run: str = "r1") -> None:
        self.machine.apply(Ask(submit(number)))
        self.machine.apply(Answer(admit(number, run_id=run)))

    def run(self, texts: int) -> None:
        """A whole run: started, so many deltas, completed."""
        self.begin()
        self.tell(start(), *(say(number) for number in range(2, texts + 2)), complete(texts + 2))

    def take(self, name: str = "a", limit: int = MAILBOX) -> tuple[list[int], list[object]]:
        """The sequences a reader gets, and what else it is told."""
        got, rest = [], []
        for effect in self.machine.apply(Take(name, limit)):
            if isinstance(effect, Deliver):
                got += [entry.sequence for entry in effect.entries]
                rest += [effect.joined] if effect.joined else []
            else:
                rest.append(effect)
        return got, rest

    def refuses(self, command: object) -> tuple[str, str | None]:
        with pytest.raises(Refused) as refused:
            self.machine.apply(command)
        return refused.value.refusal.code, refused.value.refusal.reason


@pytest.mark.req("OAP-092", "OAP-105")
def test_a_reader_gets_every_event_and_then_the_end() -> None:
    """From the start of its run to the terminal, in order."""
    floor = Floor()
    floor.machine.apply(Subscribe("a"))
    floor.run(2)
    assert floor.take() == ([1, 2, 3, 4], [End("a", Ending.TERMINAL, ("r1", 4))])
    assert floor.take() == ([], [])


@pytest.mark.req("OAP-095")
def test_a_reader_that_joins_a_run_under_way_is_told_where() -> None:
    """Between runs, and at a run's very start, it is not."""
    floor = Floor()
    floor.begin()
    floor.machine.apply(Subscribe("early"))
    floor.tell(start(), say(2))
    floor.machine.apply(Subscribe("late"))
    floor.tell(complete(3))
    assert floor.take("early")[1] == [End("early", Ending.TERMINAL, ("r1", 3))]
    assert floor.take("late") == ([3], [("r1", 2), End("late", Ending.TERMINAL, ("r1", 3))])
    floor.machine.apply(Subscribe("between"))
    assert floor.take("between") == ([], [])


@pytest.mark.req("OAP-095")
def test_a_stream_goes_on_into_a_run_that_was_admitted_by_then() -> None:
    """A terminal ends it only when nothing follows."""
    floor = Floor()
    floor.machine.apply(Subscribe("a"))
    floor.run(0)
    floor.begin("q2", "r2")
    assert floor.take() == ([1, 2], [])
    running = {**RUN, "run_id": "r2", "status": "running"}
    floor.tell(envelope("run.started", running, session_id="s1", run_id="r2", sequence=1))
    assert floor.take() == ([1], [])


@pytest.mark.req("OAP-042", "OAP-092")
def test_a_reader_that_falls_behind_is_ended_where_it_really_got_to() -> None:
    """What was in its mailbox still comes; the others and the run do not notice."""
    floor = Floor()
    floor.begin()
    for name in "ab":
        floor.machine.apply(Subscribe(name))
    floor.tell(start())
    for number in range(2, MAILBOX + 10):
        floor.tell(say(number))
        assert floor.take("b")[0][-1] == number
    got, rest = floor.take("a", 1000)
    assert (got, rest) == (list(range(1, MAILBOX + 1)), [End("a", Ending.OVERFLOW, ("r1", MAILBOX))])
    floor.tell(complete(MAILBOX + 10))
    assert floor.take("b")[1] == [End("b", Ending.TERMINAL, ("r1", MAILBOX + 10))]


@pytest.mark.req("OAP-092")
def test_a_full_mailbox_is_not_yet_an_overflow() -> None:
    """Sixty-four wait, the sixty-fifth is too many."""
    floor = Floor()
    floor.begin()
    floor.machine.apply(Subscribe("a"))
    floor.tell(start(), *(say(number) for number in range(2, MAILBOX + 1)))
    assert floor.take("a", 1000) == (list(range(1, MAILBOX + 1)), [])


@pytest.mark.req("OAP-042", "OAP-093")
def test_a_replay_may_be_longer_than_a_mailbox() -> None:
    """The retained suffix, then live events, however slowly it is read."""
    floor = Floor()
    floor.begin()
    floor.tell(start(), *(say(number) for number in range(2, 201)))
    floor.machine.apply(Subscribe("a", Cursor(10)))
    assert floor.take("a", 50)[0] == list(range(11, 61))
    floor.tell(*(say(number) for number in range(201, 201 + MAILBOX)))
    rest = []
    while chunk := floor.take("a", 50)[0]:
        rest += chunk
    assert rest == list(range(61, 201 + MAILBOX))


@pytest.mark.req("OAP-093", "OAP-111")
def test_cursors_that_name_no_position_are_refused() -> None:
    """No run yet, no such run, beyond the end."""
    floor = Floor()
    assert floor.refuses(Subscribe("a", Cursor(0))) == ("no_run_to_resume", None)
    floor.run(1)
    assert floor.refuses(Subscribe("a", Cursor(0, "r9"))) == ("run_not_found", None)
    assert floor.refuses(Subscribe("a", Cursor(4))) == ("replay_cursor_future", None)
    assert floor.machine.subscriptions == {}


@pytest.mark.req("OAP-093")
def test_naming_a_settled_run_replays_it_and_nothing_else() -> None:
    """Also while another run is live, and from its very end."""
    floor = Floor()
    floor.run(1)
    floor.begin("q2", "r2")
    floor.machine.apply(Subscribe("a", Cursor(1, "r1")))
    assert floor.take() == ([2, 3], [End("a", Ending.TERMINAL, ("r1", 3))])
    floor.machine.apply(Subscribe("b", Cursor(3, "r1")))
    assert floor.take("b") == ([], [End("b", Ending.TERMINAL, ("r1", 3))])


@pytest.mark.req("OAP-042", "OAP-094")
def test_a_cursor_that_is_no_longer_kept_is_a_gap_with_its_bounds() -> None:
    """Never a partial suffix; one behind the oldest is still whole."""
    floor = Floor(capacity=3)
    floor.run(4)
    floor.machine.apply(Subscribe("a", Cursor(1)))
    assert floor.take() == ([], [End("a", Ending.GAP, ("r1", 1), (4, 6))])
    floor.machine.apply(Subscribe("b", Cursor(3)))
    assert floor.take("b")[0] == [4, 5, 6]


def test_a_replay_the_journal_overtook_is_resumed_and_then_told() -> None:
    """The reader was so slow that what it was owed is gone."""
    floor = Floor(capacity=10)
    floor.begin()
    floor.tell(start(), *(say(number) for number in range(2, 11)))
    floor.machine.apply(Subscribe("a", Cursor(0)))
    assert floor.take("a", 2)[0] == [1, 2]
    floor.tell(*(say(number) for number in range(11, 16)))
    assert floor.take("a", 50) == ([], [End("a", Ending.OVERFLOW, ("r1", 2))])


@pytest.mark.req("OAP-105")
def test_closing_ends_readers_behind_what_was_in_flight() -> None:
    """And nothing can be asked, told or subscribed afterwards."""
    floor = Floor()
    floor.begin()
    floor.machine.apply(Subscribe("a"))
    floor.tell(start())
    assert floor.machine.apply(Close()) == [Wake("a")]
    assert floor.take() == ([1], [End("a", Ending.CLOSED, ("r1", 1))])
    for command in (Ask(submit("q2")), TellEvent(say(2), b""), Subscribe("b"), Claim(resolve())):
        assert floor.refuses(command) == ("session_closed", None)


@pytest.mark.req("OAP-114")
def test_hanging_up_ends_readers_and_not_the_session() -> None:
    """The hub's listener goes, its runs go on."""
    floor = Floor()
    floor.begin()
    floor.machine.apply(Subscribe("a"))
    floor.machine.apply(HangUp())
    assert floor.take() == ([], [End("a", Ending.CLOSED, None)])
    floor.tell(start(), complete(2))
    assert floor.machine.live_runs == {}


def asked() -> Floor:
    floor = Floor()
    floor.begin()
    floor.tell(start(), call(2, "requested"), ask(3))
    return floor


@pytest.mark.req("OAP-017", "OAP-085")
def test_of_two_answers_at_once_the_second_is_refused() -> None:
    """Before the adapter has said anything about the first (B10)."""
    floor = asked()
    floor.machine.apply(Claim(resolve("p1")))
    assert floor.refuses(Claim(resolve("p2", granted=False))) == ("resolution_rejected", "already_resolved")
    floor.machine.apply(Release(resolve("p1")))
    floor.machine.apply(Claim(resolve("p3")))
    floor.machine.apply(Ask(resolve("p3")))
    floor.machine.apply(Answer(resolve_answer("p3")))
    floor.machine.apply(Release(resolve("p3")))
    assert floor.refuses(Claim(resolve("p4"))) == ("resolution_rejected", "already_resolved")


@pytest.mark.req("OAP-017", "OAP-085")
def test_the_hub_answers_as_the_user_and_for_nobody_else() -> None:
    """Also when an adapter asked another participant."""
    floor = Floor()
    floor.begin()
    floor.tell(start(), call(2, "requested"), ask(3, responded_by="admin"))
    assert floor.refuses(Claim(resolve(responded_by="admin"))) == ("resolution_rejected", "wrong_responder")
    assert floor.refuses(Claim(resolve())) == ("resolution_rejected", "wrong_responder")
    assert floor.refuses(Claim(resolve(interaction_id="i9"))) == ("resolution_rejected", "unknown_interaction")


def test_an_illegal_event_is_never_journalled() -> None:
    """The machine of the protocol stands in front of the journal."""
    floor = asked()
    with pytest.raises(Illegal):
        floor.tell(complete(4))
    assert floor.machine.journal.end == 3
    floor.machine.apply(Subscribe("a", Cursor(0)))
    assert floor.take()[0] == [1, 2, 3]


def test_an_envelope_id_used_twice_is_the_callers_fault() -> None:
    """A request that was asked before is refused, not served again."""
    floor = Floor()
    floor.begin()
    assert floor.refuses(Ask(submit("q1"))) == ("invalid_request", None)


COMMANDS: dict[type, Any] = {
    Ask: Ask(submit("q9")),
    Answer: Answer(resolve_answer("nobody")),
    TellEvent: TellEvent(start(), b"{}"),
    Claim: Claim(resolve()),
    Release: Release(resolve()),
    Subscribe: Subscribe("x"),
    Take: Take("x"),
    Drop: Drop("x"),
    HangUp: HangUp(),
    Close: Close(),
}


@pytest.mark.parametrize(("phase", "command"), list(product(SessionPhase, COMMANDS)))
def test_every_pair_is_in_the_table_or_refused_with_nothing_changed(phase: SessionPhase, command: type) -> None:
    """A closed session is closed for everything that would open something."""
    floor = Floor()
    if phase is SessionPhase.CLOSED:
        floor.machine.apply(Close())
    if (phase, command) not in TABLE:
        before = (floor.machine.journal.end, dict(floor.machine.subscriptions), floor.machine.conversation)
        assert floor.refuses(COMMANDS[command]) == ("session_closed", None)
        assert (floor.machine.journal.end, floor.machine.subscriptions, floor.machine.conversation) == before


@pytest.mark.req("OAP-053", "OAP-092", "OAP-093")
def test_a_reservation_that_ends_early_moves_no_cursor() -> None:
    """Its one event stands between two of the run that is read; who falls behind then resumes in that run."""
    floor = Floor()
    floor.begin()
    floor.machine.apply(Subscribe("a"))
    floor.tell(start(), say(2))
    floor.machine.apply(Ask(submit("q2", delivery="queue")))
    floor.machine.apply(Answer(reserve("q2", requested_delivery="queue")))
    assert floor.take() == ([1, 2], [])
    last = MAILBOX + 1
    floor.tell(*(say(number) for number in range(3, last + 1)))
    floor.tell(of_run("r2", 1, "run.failed", error={"code": "endpoint_error", "message": "gone"}))
    floor.tell(say(last + 1))
    got, (end,) = floor.take(limit=1000)
    assert (len(got), got[-1], end.why, end.at) == (MAILBOX, 1, Ending.OVERFLOW, ("r1", last))  # type: ignore[attr-defined]
    floor.machine.apply(Subscribe("again", Cursor(last, "r1")))
    assert floor.take("again") == ([last + 1], [])


@pytest.mark.req("OAP-042", "OAP-094")
def test_a_reader_that_lost_everything_before_it_read_is_told_of_a_gap_when_it_resumes() -> None:
    """It never got an event: its cursor is the start of what is left, and there the gap is named."""
    floor = Floor(capacity=4)
    floor.machine.apply(Subscribe("a"))
    floor.run(6)
    assert floor.take() == ([], [End("a", Ending.OVERFLOW, ("r1", 0))])
    floor.machine.apply(Subscribe("again", Cursor(0, "r1")))
    assert floor.take("again") == ([], [End("again", Ending.GAP, ("r1", 0), (5, 8))])


@pytest.mark.req("OAP-042", "OAP-090")
def test_a_long_session_takes_no_more_room_than_a_shorter_one() -> None:
    """Of what is over, the latest part is remembered; what is asked about it still gets its own answer."""
    floor, sizes = Floor(), []
    for number in range(4 * MOST_ENDED):
        floor.begin(f"q-{number}", f"r-{number}")
        floor.tell(
            of_run(f"r-{number}", 1, "run.started", status="running"),
            of_run(f"r-{number}", 2, "run.failed", error={"code": "endpoint_error", "message": "no"}),
        )
        held = floor.machine.conversation
        sizes.append(sum(len(part) for part in astuple(held) if not isinstance(part, bool)))
    assert max(sizes) < 2 * (2 * MOST_IDS + MOST_ENDED) + 10
    latest = f"r-{number}"
    assert floor.machine.run(latest).state is RunState.FAILED
    with pytest.raises(Illegal) as caught:
        floor.tell(of_run(latest, 3, "run.failed", error={"code": "endpoint_error", "message": "no"}))
    assert [fault.code for fault in caught.value.diagnostics] == ["duplicate_run_terminal"]
    with pytest.raises(Refused) as gone:
        floor.machine.run("r-0")
    assert gone.value.refusal.code == "run_not_found"
