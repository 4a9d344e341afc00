"""No order is promised between an answer and events: runs that speak before the answer that admits them."""

from __future__ import annotations

import pytest

from sayso.control.protocol.conversation import Illegal, own_conversation
from sayso.control.protocol.machine import observe
from tests.control.protocol.talk import (
    admit,
    ask,
    call,
    cancel,
    cancel_answer,
    cancelled,
    compact,
    compact_answer,
    complete,
    error,
    event,
    judge,
    of_run,
    reserve,
    resolve,
    resolve_answer,
    resolved,
    say,
    start,
    submit,
)

ILLEGAL = "illegal_run_transition"


@pytest.mark.req("OAP-011", "OAP-012")
def test_a_run_may_speak_before_the_answer_that_admits_it() -> None:
    """Its first event, some of them, or all: whatever of it comes first."""
    told = [start(), call(2, "requested"), ask(3), resolve(), resolve_answer(), resolved(4)]
    told += [call(5, "started"), call(6, "completed"), say(7), complete(8)]
    for place in range(len(told) + 1):
        assert judge([submit(), *told[:place], admit(), *told[place:]]) == []
    assert judge([submit(), start(), cancel(), cancel_answer(), cancelled(2), admit()]) == []
    queued = [of_run("r2", 1, "run.started", status="running"), of_run("r2", 2, "run.cancelled")]
    two = [submit(), admit(), start(), submit("q2", delivery="queue"), complete(2), queued[0]]
    assert judge([*two, reserve(requested_delivery="queue")]) == ["missing_run_terminal"]


@pytest.mark.req("OAP-011", "OAP-012")
def test_a_run_that_spoke_and_was_never_admitted_is_found_at_the_answer() -> None:
    """Refused, admitted as another run, or one run too many for what was asked."""
    assert judge([submit(), start(), complete(2), error("q1")]) == [ILLEGAL]
    assert judge([submit(), start(), complete(2), admit(accepted=False)]) == [ILLEGAL]
    assert judge([submit(), start(), complete(2), admit(run_id="r2")]) == [
        ILLEGAL, "missing_run_started", "missing_run_terminal",
    ]  # fmt: skip
    other = [of_run("r2", 1, "run.started", status="running"), of_run("r2", 2, "run.failed", error=WRONG)]
    assert judge([submit(), start(), complete(2), *other, admit()]) == [ILLEGAL]
    assert judge([submit(), submit("q2"), start(), complete(2), *other, admit("q2"), admit("q1", run_id="r2")]) == []


WRONG = {"code": "endpoint_error", "message": "no"}


@pytest.mark.req("OAP-011", "OAP-012")
def test_only_what_was_asked_before_can_have_admitted_a_run() -> None:
    """Nothing asked, a steer, another session's submit, and a submit that came after the run's first event."""
    told = [start(), complete(2)]
    assert judge(told) == [ILLEGAL]
    assert judge([submit(delivery="steer"), *told, error("q1")]) == [ILLEGAL]
    assert judge([*told, submit(), admit()]) == [ILLEGAL]
    late = [submit(), start(), submit("q2"), complete(2), admit("q2"), error("q1")]
    assert judge(late) == [ILLEGAL]
    assert judge([submit(), *told, admit(), submit("q2"), admit("q2")]) == [ILLEGAL]


@pytest.mark.req("OAP-011", "OAP-072")
def test_an_early_compaction_is_held_to_what_was_asked() -> None:
    """With one request open its work is known; where either may have admitted it, neither is held against it."""
    summary = {"role": "assistant", "content": "short"}
    begun = [start(), event(2, "run.compaction.started", compaction_id="c1", reason="requested")]
    ended = event(3, "run.compaction.ended", compaction_id="c1", outcome="completed", summary=summary)
    done = event(4, "run.completed", final_response=summary, stop_reason="compacted")
    assert judge([compact(), *begun, ended, done, compact_answer()]) == []
    assert judge([submit(), *begun, ended, done, admit()]) == [ILLEGAL]
    assert judge([submit(), compact(), *begun, ended, done, compact_answer(), error("q1")]) == []


@pytest.mark.req("OAP-011", "OAP-092")
def test_who_orders_a_conversation_keeps_its_order() -> None:
    """The hub's own conversation has no early runs."""
    state = observe(own_conversation(), submit())
    with pytest.raises(Illegal, match="a run starts after it was admitted"):
        observe(state, start())
