"""The optional units of the legality machine: queue, steer, compaction, handed calls, logins and recovered runs."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from sayso.control.protocol.conversation import (
    HANDED_OPEN,
    CompactionState,
    Conversation,
    HandedState,
    LoginState,
    SteerState,
)
from sayso.control.protocol.machine import (
    COMPACTION_TABLE,
    HANDED_TABLE,
    LOGIN_TABLE,
    STEER_TABLE,
    CompactionMove,
    HandedMove,
    LoginMove,
    SteerMove,
    is_busy,
    observe,
    resolve_fault,
)
from tests.control.protocol.talk import (
    admit,
    begun,
    call,
    cancel,
    cancel_answer,
    cancelled,
    compact,
    compact_answer,
    complete,
    envelope,
    error,
    event,
    fail,
    give,
    give_answer,
    judge,
    of_run,
    reserve,
    say,
    start,
    submit,
)

RUN_ILLEGAL = "illegal_run_transition"


@pytest.mark.parametrize(
    ("table", "states", "moves"),
    [
        (STEER_TABLE, SteerState, SteerMove),
        (COMPACTION_TABLE, CompactionState, CompactionMove),
        (HANDED_TABLE, HandedState, HandedMove),
        (LOGIN_TABLE, LoginState, LoginMove),
    ],
)
def test_each_table_reaches_every_state_and_uses_every_move(table: Any, states: Any, moves: Any) -> None:
    """A state no move leads to, or a move no state takes, would be dead text; a settled one is left by nothing."""
    absent = next(iter(states))
    assert {*table.values(), absent} == set(states)
    assert {move for _, move in table} == set(moves)
    left = {state for state, _ in table}
    assert {state.value for state in set(states) - left} <= {
        "applied", "dropped", "completed", "failed", "cancelled", "settled", "ended",
    }  # fmt: skip


# --- the queue -------------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-012", "OAP-053")
def test_runs_start_in_the_order_they_were_admitted() -> None:
    """A reservation waits for every run before it, however that one ends."""
    queued = [*begun(), submit("q2"), reserve()]
    rest = [
        of_run("r2", 1, "run.started", status="running"),
        of_run("r2", 2, "run.failed", error={"code": "x", "message": "x"}),
    ]
    assert judge([*queued, complete(2), *rest]) == []
    assert judge([*queued, cancel(), cancel_answer(), cancelled(2), *rest]) == []
    assert judge([*queued, rest[0], complete(2), rest[1]]) == ["queue_order_violation"]
    spoke = of_run("r2", 2, "content.delta", part={"type": "text", "text": "x"})
    last = of_run("r2", 3, "run.failed", error={"code": "x", "message": "x"})
    assert judge([*queued, rest[0], spoke, complete(2), last]) == ["queue_order_violation", "queue_order_violation"]


@pytest.mark.req("OAP-053")
def test_a_reservation_may_end_before_its_turn_and_frees_its_place() -> None:
    """Its terminal is the one event that may come early; the run behind it does not wait for it."""
    queued = [*begun(), submit("q2"), reserve(), submit("q3"), reserve("q3", "r3")]
    scope = {"session_id": "s1", "run_id": "r2"}
    stop = envelope("run.cancel.request", dict(scope), id="c2", **scope)
    answer = envelope(
        "run.cancel.response", {**scope, "accepted": True, "status": "cancelling"}, in_reply_to="c2", **scope
    )
    early = [stop, answer, of_run("r2", 1, "run.cancelled")]
    last = [
        of_run("r3", 1, "run.started", status="running"),
        of_run("r3", 2, "run.failed", error={"code": "x", "message": "x"}),
    ]
    assert judge([*queued, *early, complete(2), *last]) == []
    assert (
        judge([*queued, of_run("r2", 1, "run.failed", error={"code": "x", "message": "x"}), complete(2), *last]) == []
    )


@pytest.mark.req("OAP-012", "OAP-015")
@pytest.mark.parametrize(
    ("asked", "told"), list(product(["auto", "queue", "steer", "btw"], ["started", "queued", "steered"]))
)
def test_a_delivery_is_admitted_as_what_it_asks_for(asked: str, told: str) -> None:
    """`auto` starts or queues and never steers; an explicit mode means itself; a side question means nothing here."""
    effective = {"started": "start", "queued": "queue", "steered": "steer"}[told]
    status = {"started": "running", "queued": "queued", "steered": "running"}[told]
    answer = admit("q2", requested_delivery=asked, admission=told, effective_delivery=effective, status=status,
                   run_id="r1" if told == "steered" else "r2", target_sequence=1)  # fmt: skip
    before = [*begun()] if told == "steered" else [*begun(), complete(2)]
    found = judge([*before, submit("q2", delivery=asked), answer])
    is_legal = (asked, told) in {("auto", "started"), ("auto", "queued"), ("queue", "queued"), ("steer", "steered")}
    assert (RUN_ILLEGAL not in found) == is_legal


@pytest.mark.req("OAP-012")
def test_an_answer_repeats_the_delivery_that_was_asked_for() -> None:
    """And a session starts no second run beside one."""
    assert judge([submit(), admit(requested_delivery="queue"), start(), complete(2)]) == [RUN_ILLEGAL]
    second = [
        of_run("r2", 1, "run.started", status="running"),
        of_run("r2", 2, "run.failed", error={"code": "x", "message": "x"}),
    ]
    assert judge([*begun(), submit("q2"), admit("q2", run_id="r2"), complete(2), *second]) == [RUN_ILLEGAL]


def test_a_session_is_busy_while_a_run_of_it_has_not_ended() -> None:
    """Reserved ones count."""
    state = Conversation()
    seen = []
    for each in [submit(), reserve("q1", "r1"), start(), complete(2)]:
        state = observe(state, each)
        seen.append(is_busy(state, "s1"))
    assert (seen, is_busy(state, "s2")) == ([False, True, True, False], False)


# --- steer -----------------------------------------------------------------------------------------------------------


def nudge(**payload: Any) -> list[Any]:
    answer = {
        "requested_delivery": "steer",
        "admission": "steered",
        "effective_delivery": "steer",
        "target_sequence": 1,
    }
    return [submit("n1", delivery="steer"), admit("n1", **{**answer, **payload})]


def applied(sequence: int, request_id: str = "n1") -> Any:
    sub = {"submission_id": "sub1", "request_id": request_id, "message_ids": []}
    return event(sequence, "run.steer.applied", **sub, boundary="turn")


def dropped(sequence: int) -> Any:
    reason = {"code": "run_terminated", "message": "over"}
    return event(sequence, "run.steer.dropped", submission_id="sub1", request_id="n1", reason=reason)


@pytest.mark.req("OAP-056", "OAP-057")
def test_a_steer_settles_once_before_its_runs_end() -> None:
    """Applied or dropped, in the run's own numbers."""
    assert judge([*begun(), *nudge(), applied(2), complete(3)]) == []
    assert judge([*begun(), *nudge(), dropped(2), complete(3)]) == []
    assert judge([*begun(), *nudge(), complete(2)]) == [RUN_ILLEGAL]
    assert judge([*begun(), *nudge(), applied(2), dropped(3), complete(4)]) == [RUN_ILLEGAL]
    assert judge([*begun(), applied(2, "nobody"), complete(3)]) == [RUN_ILLEGAL]


@pytest.mark.req("OAP-056")
def test_only_a_started_run_is_steered() -> None:
    """Not a reservation, not an ended run, and not one nobody heard of; the target's last number is said."""
    queued = [submit(), reserve("q1", "r1")]
    assert judge([*queued, *nudge(), start(), applied(2), complete(3)]) == [RUN_ILLEGAL, RUN_ILLEGAL]
    assert judge([*begun(), complete(2), *nudge()]) == [RUN_ILLEGAL]
    assert judge(nudge(run_id="r9")) == [RUN_ILLEGAL]
    answer = nudge()
    assert judge([*begun(), answer[0], error("n1"), complete(2)]) == []


# --- compaction ------------------------------------------------------------------------------------------------------


def shrink(sequence: int, reason: str = "requested", name: str = "c1") -> Any:
    return event(sequence, "run.compaction.started", compaction_id=name, reason=reason)


def shrunk(sequence: int, outcome: str = "completed", name: str = "c1", **payload: Any) -> Any:
    return event(sequence, "run.compaction.ended", compaction_id=name, outcome=outcome, **payload)


def summed(sequence: int, text: str = "", stop: str = "compacted") -> Any:
    return event(sequence, "run.completed", final_response={"role": "assistant", "content": text}, stop_reason=stop)


ERROR = {"code": "endpoint_error", "message": "no"}


@pytest.mark.req("OAP-072")
def test_a_requested_compaction_is_a_run_that_ends_as_it_ended() -> None:
    """Completed with the summary, failed with its error; with a turn behind it, as that turn goes."""
    opened = [compact(), compact_answer(), start(), shrink(2)]
    summary = {"role": "assistant", "content": "short"}
    assert judge([*opened, shrunk(3, summary=summary), summed(4, "short")]) == []
    assert judge([*opened, shrunk(3), summed(4)]) == []
    assert judge([*opened, shrunk(3, summary=summary), summed(4, "other")]) == [RUN_ILLEGAL]
    assert judge([*opened, shrunk(3), summed(4, stop="end_turn")]) == [RUN_ILLEGAL]
    assert judge([*opened, shrunk(3, "failed", error=ERROR), fail(4)]) == []
    assert judge([*opened, shrunk(3, "failed", error={**ERROR, "code": "x"}), fail(4)]) == [RUN_ILLEGAL]
    assert judge([*opened, shrunk(3, "failed", error=ERROR), summed(4)]) == [RUN_ILLEGAL]
    goes_on = [compact(**{"continue": True}), compact_answer(), start(), shrink(2), shrunk(3)]
    assert judge([*goes_on, say(4), summed(5, "done", "end_turn")]) == []


@pytest.mark.req("OAP-072")
def test_a_compaction_run_begins_with_its_one_requested_compaction() -> None:
    """Nothing before it, no second one, and none that nobody asked for."""
    opened = [compact(), compact_answer(), start()]
    assert judge([*opened, say(2), shrink(3), shrunk(4), summed(5)]) == [RUN_ILLEGAL]
    assert judge([*opened, summed(2)]) == [RUN_ILLEGAL]
    assert judge([*opened, shrink(2, "threshold"), shrunk(3), summed(4)]) == [RUN_ILLEGAL]
    assert judge([*begun(), shrink(2), shrunk(3), complete(4)]) == [RUN_ILLEGAL]


@pytest.mark.req("OAP-073")
def test_a_compaction_inside_a_run_is_bracketed() -> None:
    """One at a time, each ended once under its id, before the run's end."""
    one = [shrink(2, "threshold"), shrunk(3)]
    assert judge([*begun(), *one, shrink(4, "overflow", "c2"), shrunk(5, name="c2"), complete(6)]) == []
    assert judge([*begun(), shrink(2, "threshold"), complete(3)]) == [RUN_ILLEGAL]
    assert judge([*begun(), shrunk(2), complete(3)]) == [RUN_ILLEGAL]
    assert judge([*begun(), *one, shrunk(4), complete(5)]) == [RUN_ILLEGAL]
    two = [shrink(2, "threshold"), shrink(3, "threshold", "c2"), shrunk(4), complete(5)]
    assert judge([*begun(), *two]) == [RUN_ILLEGAL]
    assert judge([*begun(), shrink(2, "threshold"), shrunk(3, "failed"), complete(4)]) == [RUN_ILLEGAL]


@pytest.mark.req("OAP-072")
def test_a_compaction_neither_steers_nor_is_steered() -> None:
    """It guides nothing, and without a turn behind it there is nothing to guide."""
    assert RUN_ILLEGAL in judge([compact(delivery="steer"), compact_answer(), start(), shrink(2), shrunk(3), summed(4)])
    opened = [compact(), compact_answer(), start(), shrink(2)]
    assert judge([*opened, *nudge(), shrunk(3), applied(4), summed(5)]) == [RUN_ILLEGAL]
    assert judge([compact(delivery="steer"), error("k1")]) == []


# --- calls the control layer runs ------------------------------------------------------------------------------------


def handed(sequence: int = 2) -> Any:
    return call(sequence, "requested", execution_owner="user", interaction_id="i1", responded_by="user")


def moved(sequence: int, what: str, request_id: str | None = "g1", **payload: Any) -> Any:
    more = {} if request_id is None else {"request_id": request_id}
    return call(sequence, what, execution_owner="user", **more, **payload)


@pytest.mark.req("OAP-083", "OAP-084")
def test_a_handed_call_says_what_its_accepted_resolution_said() -> None:
    """Result or error, with the request it came from; nothing starts on the endpoint's own account."""
    result = [give(result=7), give_answer()]
    ended = [moved(3, "started"), moved(4, "completed", result=7), complete(5)]
    assert judge([*begun(), handed(), *result, *ended]) == []
    failed = [give(error=ERROR), give_answer(), moved(3, "started"), moved(4, "failed", error=ERROR), complete(5)]
    assert judge([*begun(), handed(), *failed]) == []
    other = [moved(3, "started"), moved(4, "completed", result=8), complete(5)]
    assert judge([*begun(), handed(), *result, *other]) == ["resolution_payload_mismatch"]
    crossed = [moved(3, "started"), moved(4, "failed", error=ERROR), complete(5)]
    assert judge([*begun(), handed(), *result, *crossed]) == ["illegal_tool_transition"]
    stray = [moved(3, "started", "g9"), moved(4, "completed", None, result=7), complete(5)]
    assert judge([*begun(), handed(), *result, *stray]) == ["unmatched_interaction", "unmatched_interaction"]
    alone = [moved(3, "started", None), call(4, "cancelled", execution_owner="user"), complete(5)]
    assert judge([*begun(), handed(), *alone]) == ["illegal_tool_transition"]


@pytest.mark.req("OAP-084")
def test_a_handed_call_closes_with_its_run() -> None:
    """Cancelled unanswered, or failed by a harness that waited long enough after an acknowledgement."""
    over = [cancel(), cancel_answer(), call(3, "cancelled", execution_owner="user"), cancelled(4)]
    assert judge([*begun(), handed(), *over]) == []
    waited = [give(started={}), give_answer(), moved(3, "started"), moved(4, "failed", None, error=ERROR), complete(5)]
    assert judge([*begun(), handed(), *waited]) == []
    assert judge([*begun(), handed(), complete(3)]) == ["pending_tool_at_terminal"]


REASONS: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("unknown_interaction", [], {"interaction_id": "i9", "result": 1}, "unmatched_interaction"),
    ("wrong_responder", [], {"responded_by": "x", "result": 1}, "wrong_interaction_responder"),
    ("already_resolved", [give(result=7), give_answer()], {"result": 1}, "duplicate_interaction"),
    ("repeated_acknowledgement", [give(started={}), give_answer()], {"started": {}}, "duplicate_interaction"),
    ("late_acknowledgement", [give(result=7), give_answer()], {"started": {}}, "duplicate_interaction"),
]


@pytest.mark.req("OAP-083")
@pytest.mark.parametrize(("reason", "before", "arm", "code"), REASONS, ids=[row[0] for row in REASONS])
def test_a_resolution_is_accepted_exactly_when_nothing_stands_against_it(
    reason: str, before: list[Any], arm: dict[str, Any], code: str
) -> None:
    """The highest reason is known beforehand; accepting in spite of it, or refusing for another, is a fault."""
    state = Conversation()
    for each in [*begun(), handed(), *before]:
        state = observe(state, each)
    request = give("g2", **arm)
    assert resolve_fault(state, request) == reason
    details = {"details": {"settlement_id": "g1"}} if reason == "already_resolved" else {}
    told = [*begun(), handed(), *before, request]
    scope = {"interaction_id": arm.get("interaction_id", "i1")}
    assert code not in judge([*told, give_answer("g2", accepted=False, reason=reason, **details, **scope)])
    assert code in judge([*told, give_answer("g2", **scope)])
    other = "unknown_interaction" if reason != "unknown_interaction" else "wrong_responder"
    assert code in judge([*told, give_answer("g2", accepted=False, reason=other, **scope)])


@pytest.mark.req("OAP-083")
def test_a_valid_resolution_must_be_accepted() -> None:
    """Refused under any reason, it is a fault, unless another one for the same call is still on its way."""
    refused = give_answer(accepted=False, reason="unknown_interaction")
    assert "unmatched_interaction" in judge([*begun(), handed(), give(result=1), refused])
    late = give_answer(accepted=False, reason="already_resolved", details={"settlement_id": "g2"})
    race = [give(result=1), give("g2", result=1), late, give_answer("g2")]
    ended = [moved(3, "started", "g2"), moved(4, "completed", "g2", result=1), complete(5)]
    assert judge([*begun(), handed(), *race, *ended]) == []


def test_an_open_handed_call_is_one_of_three() -> None:
    """What a state lists as pending."""
    assert HANDED_OPEN == (HandedState.OPEN, HandedState.ACKNOWLEDGED, HandedState.ANSWERED)


# --- logins ----------------------------------------------------------------------------------------------------------


def login(what: str, sequence: int | None = None, **payload: Any) -> Any:
    head = {} if sequence is None else {"sequence": sequence}
    return envelope(f"auth.login.{what}", {"flow_id": "f1", **payload}, **head)


SIGN_IN = envelope("auth.login.start.request", {"provider_id": "acme"}, id="l1")
STARTED = envelope("auth.login.start.response", {"flow_id": "f1"}, in_reply_to="l1")


def step_of(sequence: int) -> Any:
    return login("event", sequence, provider_id="acme", kind="progress", message="wait")


def over(sequence: int) -> Any:
    return login("completed", sequence, provider_id="acme", status="success")


@pytest.mark.req("OAP-077")
def test_a_login_is_told_behind_its_start_in_its_own_numbers() -> None:
    """The terminal takes the last number and nothing follows it."""
    assert judge([SIGN_IN, STARTED, step_of(1), over(2)]) == []
    assert judge([SIGN_IN, STARTED, step_of(1)]) == ["missing_auth_terminal"]
    assert judge([SIGN_IN, STARTED, over(1), step_of(2)]) == ["auth_flow_order"]
    assert judge([SIGN_IN, step_of(1), STARTED, over(1)]) == ["auth_flow_order"]
    assert judge([SIGN_IN, STARTED, step_of(2), over(3)]) == ["sequence_gap"]
    assert judge([SIGN_IN, STARTED, login("completed", 1, provider_id="other", status="failed")]) == ["scope_mismatch"]


# --- runs that were there before -------------------------------------------------------------------------------------


def recovered(**state: Any) -> list[Any]:
    asked = envelope("session.open.request", {"session_id": "s1"}, id="o1")
    return [asked, envelope("session.open.response", {"session_id": "s1", **state}, in_reply_to="o1", session_id="s1")]


def block(**more: Any) -> dict[str, Any]:
    return {"recovered": True, "previous_run_id": "r1", "resume_cursor": "41", **more}


@pytest.mark.req("OAP-019")
def test_a_recovered_run_goes_on_where_the_state_says() -> None:
    """Behind its stated position, else behind the cursor; a declared gap states none."""
    running = {"status": "running", "active_run_id": "r1"}
    assert judge([*recovered(**running, recovery=block()), say(42), complete(43)]) == []
    assert judge([*recovered(**running, recovery=block()), say(44), complete(45)]) == ["sequence_gap"]
    entry = {"run_id": "r1", "status": "running", "relationship": "primary", "as_of_sequence": 50}
    assert judge([*recovered(**running, active_runs=[entry], recovery=block()), complete(51)]) == []
    gap = recovered(**running, recovery=block(reason="replay_gap"))
    assert judge([*gap, say(90), complete(91)]) == []


@pytest.mark.req("OAP-019")
def test_a_gap_is_declared_whole() -> None:
    """Its mark alone is no declaration."""
    assert judge(recovered(status="idle", recovery={"reason": "replay_gap"})) == ["undeclared_replay_gap"]
    assert judge(recovered(status="idle", recovery=block(reason="replay_gap"))) == []


@pytest.mark.req("OAP-019", "OAP-084")
def test_what_a_recovered_run_did_before_is_not_held_against_it() -> None:
    """Its open call and question were never seen here; it may still end them, and be cancelled behind an old cancel."""
    running = recovered(status="running", active_run_id="r1", recovery=block())
    assert judge([*running, call(42, "completed"), cancelled(43)]) == []
    state = Conversation()
    for each in running:
        state = observe(state, each)
    assert resolve_fault(state, give(result=1)) is None


@pytest.mark.req("OAP-091")
def test_an_open_that_carried_a_message_names_its_run() -> None:
    """Started or queued by its status; an answer that names none dropped the message."""
    message = {"messages": [{"role": "user", "content": "go"}], "delivery": "auto"}
    asked = envelope("session.open.request", {"session_id": "s1", "message": message}, id="o1")
    entry = {"run_id": "r1", "status": "running", "relationship": "primary", "admitted_submit_requests": ["o1"]}
    told = {"session_id": "s1", "status": "running", "active_run_id": "r1", "active_runs": [entry]}
    answer = envelope("session.open.response", told, in_reply_to="o1", session_id="s1")
    assert judge([asked, answer, start(), complete(2)]) == []
    silent = envelope(
        "session.open.response", {"session_id": "s1", "status": "idle"}, in_reply_to="o1", session_id="s1"
    )
    assert judge([asked, silent]) == ["session_state_mismatch"]


@pytest.mark.req("OAP-007", "OAP-103")
def test_a_question_without_an_envelope_is_answered_once() -> None:
    """The hub mints its id; only what can be read with a GET is answered so."""
    idle = {"session_id": "s1", "status": "idle"}

    def read(name: str) -> Any:
        return envelope("session.state.response", idle, in_reply_to=name, session_id="s1")

    assert judge([read("oap-request-1"), read("oap-request-2")]) == []
    assert judge([read("oap-request-1"), read("oap-request-1")]) == ["duplicate_response"]
    assert judge([read("mine-1")]) == ["unmatched_response"]
    assert judge([error("oap-request-1")]) == ["unmatched_response"]


# --- answers and events that overtake one another --------------------------------------------------------------------


@pytest.mark.req("OAP-011", "OAP-017")
def test_a_resolved_event_may_overtake_the_answer_it_came_from() -> None:
    """Once: a second accepted answer is still one too many."""
    questions = [{"id": "q", "prompt": "?", "kind": "text"}]
    who = {"interaction_id": "i1", "requested_by": "agent", "responded_by": "user"}
    answers = [{"question_id": "q", "text": "x"}]
    scope = {"session_id": "s1", "run_id": "r1"}

    def reply(name: str) -> Any:
        return envelope("user.input.resolve.request", {**scope, **who, "answers": answers}, id=name, **scope)

    def accepted(name: str) -> Any:
        payload = {**scope, "interaction_id": "i1", "accepted": True}
        return envelope("user.input.resolve.response", payload, in_reply_to=name, **scope)

    asked = [*begun(), event(2, "user.input.requested", **who, title="?", questions=questions), reply("a1")]
    closed = event(3, "user.input.resolved", **who, status="submitted", answers=answers)
    assert judge([*asked, closed, accepted("a1"), complete(4)]) == []
    assert judge([*asked, reply("a2"), closed, accepted("a1"), accepted("a2"), complete(4)]) == [
        "duplicate_interaction"
    ]
    assert judge([*asked, closed, complete(4), accepted("a1")]) == []
