"""The legality machine: complete tables, and the rules no table can hold."""

from __future__ import annotations

import importlib
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.protocol.conversation import (
    CALL_OPEN,
    ENDED,
    CallState,
    Conversation,
    GateState,
    Illegal,
    RunState,
)
from sayso.control.protocol.envelope import convert_envelope
from sayso.control.protocol.machine import (
    ADMISSIONS,
    CALL_TABLE,
    GATE_TABLE,
    RUN_FAULTS,
    RUN_TABLE,
    CallMove,
    GateMove,
    RunMove,
    adopt,
    conclude,
    observe,
    resolve_fault,
    run_of,
    step,
)
from tests.control.protocol.talk import (
    admit,
    ask,
    begun,
    call,
    cancel,
    cancel_answer,
    cancelled,
    complete,
    envelope,
    error,
    fail,
    judge,
    resolve,
    resolve_answer,
    resolved,
    say,
    start,
    submit,
)
from tests.control.validator.honest import conversations

stepping = importlib.import_module("sayso.control.protocol.machine.step")


def test_the_run_tables_hold_every_pair_once() -> None:
    """A move is either in the table or a fault with a code, never both and never neither."""
    pairs = set(product(RunState, RunMove))
    assert (set(RUN_TABLE) | set(RUN_FAULTS), set(RUN_TABLE) & set(RUN_FAULTS)) == (pairs, set())


def test_every_state_is_reached_and_ended_ones_are_left_by_nothing() -> None:
    """A state no move leads to would be dead text."""
    reached = {*RUN_TABLE.values(), RunState.RESERVED}, {*CALL_TABLE.values(), CallState.ABSENT}
    assert (*reached, {*GATE_TABLE.values(), GateState.ABSENT}) == (set(RunState), set(CallState), set(GateState))
    assert [pair for pair in RUN_TABLE if pair[0] in ENDED] == []
    assert [pair for pair in CALL_TABLE if pair[0] not in (CallState.ABSENT, *CALL_OPEN)] == []
    assert {move for _, move in GATE_TABLE} == set(GateMove)


def in_call_state(state: CallState) -> tuple[list[object], int]:
    """A started run whose call t1 is in this state, and the number of its next event."""
    ways = {
        CallState.ABSENT: [],
        CallState.REQUESTED: ["requested"],
        CallState.STARTED: ["requested", "started"],
        CallState.COMPLETED: ["requested", "started", "completed"],
        CallState.FAILED: ["requested", "failed"],
        CallState.CANCELLED: ["requested", "cancelled"],
    }
    way = ways[state]
    return [*begun(), *(call(number, what) for number, what in enumerate(way, 2))], len(way) + 2


@pytest.mark.req("OAP-013")
@pytest.mark.parametrize(("state", "move"), list(product(CallState, CallMove)))
def test_a_call_moves_by_its_table_and_by_nothing_else(state: CallState, move: CallMove) -> None:
    """All 36 pairs: the legal ones move, the others are the tool's fault and, observed, move nothing."""
    way, number = in_call_state(state)
    told = Conversation()
    for each in way:
        told = observe(told, each)  # type: ignore[arg-type]
    last = call(number, move.value.rpartition(".")[2])
    if (state, move) in CALL_TABLE:
        run = run_of(observe(told, last), "r1")
        assert run is not None
        assert run.calls["t1"] == CALL_TABLE[state, move]
        return
    with pytest.raises(Illegal) as illegal:
        observe(told, last)
    code = "unmatched_tool" if state is CallState.ABSENT else "illegal_tool_transition"
    assert [fault.code for fault in illegal.value.diagnostics] == [code]


@pytest.mark.parametrize(("pair", "status"), list(ADMISSIONS.items()))
def test_an_admission_without_its_status_is_illegal(pair: tuple[str, str], status: str) -> None:
    """Admission, delivery and status belong together, whatever the pair."""
    wrong = {"running": "queued", "queued": "running"}[status]
    admission, effective = pair
    found = judge([submit(), admit(admission=admission, effective_delivery=effective, status=wrong)])
    assert found == ["illegal_run_transition"]
    assert judge([submit(), admit(admission=admission, effective_delivery="btw")]) == ["illegal_run_transition"]


@pytest.mark.req("OAP-007")
def test_a_request_is_answered_once_and_by_its_own_type() -> None:
    """A second answer, an answer of another type and an answer to nothing are three faults."""
    asked = [submit(), admit(accepted=False)]
    assert judge([*asked, error("q1")]) == ["duplicate_response"]
    assert judge([submit(), cancel_answer("q1")]) == ["unmatched_response"]
    assert judge([error("nobody")]) == ["unmatched_response"]
    assert judge([submit(), error("q1")]) == []


@pytest.mark.req("OAP-010")
def test_numbers_are_contiguous_from_one_in_each_domain() -> None:
    """A run's numbers and a session's own never meet."""
    state = {"session_id": "s1", "status": "idle"}
    told = envelope("session.state.updated", state, session_id="s1", sequence=7)
    assert judge([*begun(), told, say(2), complete(3)]) == []
    assert judge([*begun(), say(2), say(2), complete(3)]) == ["sequence_regression"]
    assert judge([*begun(), say(3), complete(4)]) == ["sequence_gap"]
    gap = envelope("session.state.updated", state, session_id="s1", sequence=9)
    assert judge([told, gap]) == ["sequence_gap"]


@pytest.mark.req("OAP-014")
def test_a_cancel_needs_its_acceptance_before_the_run_is_cancelled() -> None:
    """Intent that was refused, or was never asked, cancels nothing."""
    assert judge([*begun(), cancelled(2)]) == ["illegal_run_transition"]
    assert judge([*begun(), cancel(), cancel_answer(accepted=False), cancelled(2)]) == ["illegal_run_transition"]
    assert judge([*begun(), cancel(), cancel_answer(), cancelled(2)]) == []
    assert judge([*begun(), cancel(), cancel_answer(), complete(2)]) == []
    assert judge([*begun(), cancel(), cancel_answer()]) == ["cancel_not_settled"]


@pytest.mark.req("OAP-014")
def test_a_cancel_is_judged_by_where_its_request_stood() -> None:
    """Asked before the end, it may be accepted after it; asked after the end, it may not."""
    assert judge([*begun(), cancel(), complete(2), cancel_answer()]) == []
    assert judge([*begun(), complete(2), cancel(), cancel_answer()]) == ["illegal_run_transition"]
    assert judge([*begun(), complete(2), cancel(), error("c1")]) == []


@pytest.mark.req("OAP-014")
def test_repeating_an_accepted_cancel_is_harmless() -> None:
    """Before and after the run was cancelled."""
    twice = [cancel(), cancel_answer(), cancel("c2"), cancel_answer("c2"), cancelled(2)]
    assert judge([*begun(), *twice, cancel("c3"), cancel_answer("c3")]) == []


@pytest.mark.req("OAP-013")
def test_what_is_open_closes_before_the_run() -> None:
    """A call and a question left open are two faults of one terminal."""
    opened = [*begun(), call(2, "requested"), ask(3)]
    assert judge([*opened, fail(4)]) == ["pending_tool_at_terminal", "pending_interaction_at_terminal"]
    closed = [resolved(4, granted=False), call(5, "failed"), complete(6)]
    assert judge([*opened, *closed]) == []


@pytest.mark.req("OAP-013")
def test_a_run_that_never_started_can_only_fail_or_be_cancelled() -> None:
    """And nothing may come before its end."""
    queued = [submit(), admit(admission="queued", effective_delivery="queue", status="queued")]
    assert judge([*queued, fail(1)]) == []
    assert judge([*queued, cancel(), cancel_answer(), cancelled(1)]) == []
    assert judge([*queued, complete(1)]) == ["missing_run_started"]
    assert judge([*queued, say(1), fail(2)]) == ["missing_run_started"]
    assert judge(queued) == ["missing_run_started", "missing_run_terminal"]


@pytest.mark.req("OAP-017")
def test_only_the_declared_responder_answers_and_once() -> None:
    """A second answer, a stranger's answer and an answer to nothing may not be accepted."""
    asked = [*begun(), call(2, "requested"), ask(3)]
    rest = [resolved(4), call(5, "started"), call(6, "completed"), complete(7)]
    once = [resolve(), resolve_answer()]
    assert judge([*asked, *once, *rest]) == []
    assert judge([*asked, *once, resolve("p2"), resolve_answer("p2"), *rest]) == ["duplicate_interaction"]
    assert judge([*asked, *once, resolve("p2"), error("p2"), *rest]) == []
    stranger = [resolve(responded_by="stranger"), resolve_answer()]
    assert judge([*asked, *stranger, *rest]) == ["wrong_interaction_responder"]
    unknown = [resolve(interaction_id="i9"), resolve_answer()]
    assert judge([*asked, *unknown, *rest]) == ["unmatched_interaction"]


@pytest.mark.req("OAP-017")
def test_the_resolved_event_reports_the_answer_that_was_accepted() -> None:
    """Granted by the person and told as a no, or told twice, or told for somebody else."""
    asked = [*begun(), call(2, "requested"), ask(3), resolve(), resolve_answer()]
    end = [call(5, "cancelled"), complete(6)]
    assert judge([*asked, resolved(4, granted=False), *end]) == ["resolution_payload_mismatch"]
    assert judge([*asked, resolved(4, responded_by="stranger"), *end]) == ["wrong_interaction_responder"]
    again = [resolved(4), resolved(5), call(6, "cancelled"), complete(7)]
    assert judge([*asked, *again]) == ["duplicate_interaction"]
    assert judge([*begun(), resolved(2), complete(3)]) == ["unmatched_interaction"]
    twice = [*begun(), call(2, "requested"), ask(3), ask(4), resolved(5), call(6, "cancelled"), complete(7)]
    assert judge(twice) == ["duplicate_interaction"]


def test_why_an_answer_may_not_be_accepted_is_told_before_it_is() -> None:
    """The same condition the hub and the loop ask."""
    state = Conversation()
    for each in (*begun(), call(2, "requested"), ask(3)):
        state = observe(state, each)
    assert resolve_fault(state, resolve()) is None
    assert resolve_fault(state, resolve(responded_by="x")) == "wrong_responder"
    assert resolve_fault(state, resolve(requested_by="x")) == "wrong_responder"
    assert resolve_fault(state, resolve(interaction_id="x")) == "unknown_interaction"
    assert resolve_fault(Conversation(), resolve()) == "unknown_run"
    after = observe(observe(state, resolve()), resolve_answer())
    assert resolve_fault(after, resolve("p2")) == "already_resolved"


@pytest.mark.req("OAP-008")
def test_scope_is_one_scope() -> None:
    """Envelope and payload, answer and request, event and run: each pair names the same session."""
    idle = {"session_id": "s2", "status": "idle"}
    elsewhere = envelope("session.state.response", idle, session_id="s2", in_reply_to="a")
    asked = envelope("session.state.request", {"session_id": "s1"}, session_id="s1", id="a")
    assert judge([asked, elsewhere]) == ["scope_mismatch"]
    running = {"session_id": "s2", "run_id": "r1", "status": "running"}
    stray = envelope("run.started", running, session_id="s2", run_id="r1", sequence=1)
    assert judge([submit(), admit(), stray, complete(2)]) == ["scope_mismatch"]


def test_an_illegal_envelope_moves_nothing() -> None:
    """Observing the same state again gives the same, and a right envelope is still welcome."""
    state = Conversation()
    for each in begun():
        state = observe(state, each)
    with pytest.raises(Illegal):
        observe(state, say(9))
    assert run_of(observe(state, say(2)), "r1").last == 2  # type: ignore[union-attr]


def test_an_envelope_id_is_used_once() -> None:
    """The second is stepped over, as if it had not come."""
    first = submit()
    assert judge([first, first, error("q1")]) == ["duplicate_envelope_id"]


def test_a_partial_view_knows_nothing_of_what_it_did_not_see() -> None:
    """One stream of a run, joined in its middle, cancelled by somebody else."""
    assert judge([say(5), say(6), cancelled(7)], is_partial=True) == []
    assert judge([start(), complete(2)], is_partial=True) == []
    assert judge([say(5), say(7)], is_partial=True) == ["sequence_gap", "missing_run_terminal"]
    assert judge([start(), complete(2)]) == ["illegal_run_transition"]


def test_a_run_taken_over_goes_on_behind_its_cursor() -> None:
    """A resume knows the number, not the events before it."""
    state = adopt(Conversation(), "s1", "r1", 41)
    state, faults = step(state, say(42))
    assert (faults, conclude(state)[0].code) == ((), "missing_run_terminal")
    with pytest.raises(Illegal):
        observe(state, say(44))


@given(conversations(), st.data())
def test_the_short_way_of_speech_is_the_long_one(trace: list[dict[str, Any]], data: st.DataObject) -> None:
    """What a stream is full of is stepped over quickly; the verdicts and the conversation are those of the tables."""
    envelopes = [convert_envelope(each) for each in trace]
    drawn = data.draw(st.lists(st.sampled_from(envelopes), max_size=30)) if data.draw(st.booleans()) else envelopes
    quick, slow = Conversation(), Conversation()
    for each in drawn:
        quick, found = step(quick, each)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(stepping, "SPEECH", frozenset())
            slow, wanted = step(slow, each)
        assert (found, dict(quick.runs), dict(quick.ended)) == (wanted, dict(slow.runs), dict(slow.ended))
