"""What is told before a run ends early."""

from __future__ import annotations

import pytest

from sayso.control.protocol.closing import closings
from sayso.control.protocol.conversation import Conversation
from sayso.control.protocol.machine import observe, run_of
from sayso.control.protocol.payloads.error import ProtocolError
from tests.control.protocol.talk import GATE, RUN, ask, begun, call, envelope


@pytest.mark.req("OAP-013")
def test_open_questions_close_before_the_calls_that_waited_for_them() -> None:
    """Permissions and user inputs, then calls; what had closed is not closed again."""
    question = {"id": "q", "prompt": "?", "kind": "text"}
    asked = {**GATE, "interaction_id": "i2", "title": "?", "questions": [question]}
    state = Conversation()
    for each in (
        *begun(),
        call(2, "requested"),
        ask(3),
        envelope("user.input.requested", asked, **RUN, sequence=4),
    ):
        state = observe(state, each)
    run = run_of(state, "r1")
    assert run is not None
    told = closings(run, "r1", "agent", ProtocolError(code="adapter_failed", message="gone"), {})
    assert [(telling.type, telling.tool_call_id) for telling in told] == [
        ("action.permission.resolved", "t1"),
        ("user.input.resolved", None),
        ("action.call.cancelled", "t1"),
    ]


def test_nothing_open_needs_no_closing() -> None:
    """A run between its calls."""
    state = Conversation()
    for each in (*begun(), call(2, "requested"), call(3, "failed")):
        state = observe(state, each)
    run = run_of(state, "r1")
    assert run is not None
    assert closings(run, "r1", "agent", ProtocolError(code="adapter_failed", message="gone"), {}) == []
