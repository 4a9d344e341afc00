"""One run of the loop as a transcript of commands and effects: no clock, no task, no network."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from sayso.control.loop.contract import ToolDone
from sayso.control.loop.machine import TABLE, decide
from sayso.control.loop.run import (
    Abandoned,
    Answered,
    Broke,
    Cancel,
    Command,
    Decision,
    Heard,
    Lost,
    Phase,
    Replied,
    Returned,
    Shut,
    Steer,
    Steered,
    Tell,
    Unwound,
    Worded,
)
from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import Message, Usage
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.inference import InferenceCreateRequest, StopReason
from sayso.control.protocol.payloads.interaction import UserAnswer
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.provider.writer import InferenceWriter
from sayso.core.ids import CountingIds
from tests.control.loop.talk import ASKS, NO, YES, Talk, at, resolve


@pytest.mark.req("OAP-012", "OAP-013")
def test_a_turn_without_calls_completes_the_run() -> None:
    """Start, the text as it streams, the end."""
    talk = Talk()
    talk.turn(("say", "hello"))
    assert talk.said == ["run.started", "infer r1.1", "content.delta", "run.completed"]
    assert (talk.run.phase, talk.told().stop_reason) == (Phase.ENDED, "end_turn")
    assert talk.told().final_response.id == "r1.m1"


@pytest.mark.req("OAP-013")
def test_calls_are_made_one_after_the_other_and_their_results_go_back() -> None:
    """A read-only call counts as started at once, another when it is known to be done."""
    talk = Talk()
    talk.turn(("look", {}), ("book", {"slot": 1}))
    assert talk.said[2:] == ["action.call.requested", "action.call.started", "call look/0"]
    talk.send(Returned("look", ToolDone({"seen": 1})))
    assert talk.said == ["action.call.completed", "action.call.requested", "call book/0"]
    talk.send(Returned("book", ToolDone({"booked": True})))
    assert talk.said == ["action.call.started", "action.call.completed", "infer r1.2"]
    assert [message.role for message in talk.run.messages] == ["user", "assistant", "tool"]


@pytest.mark.req("OAP-017")
def test_each_question_of_a_call_is_an_interaction_of_its_own() -> None:
    """The source is called again with all the answers so far."""
    talk = Talk()
    talk.turn(("book", {}))
    talk.said  # noqa: B018 - reading it judges the talk so far
    talk.send(Returned("book", ASKS))
    assert talk.said == ["action.permission.requested", "run.status.updated"]
    assert (talk.run.phase, talk.run.interaction_id) == (Phase.ASKING, "r1.q1")
    talk.send(Answered(YES))
    assert talk.said == ["action.permission.resolved", "run.status.updated", "action.call.started", "call book/1"]
    talk.send(Returned("book", ASKS))
    assert talk.run.interaction_id == "r1.q2"
    talk.send(Answered(YES))
    talk.send(Returned("book", ToolDone("booked")))
    assert talk.said[-3:] == ["call book/2", "action.call.completed", "infer r1.2"]


def test_a_no_goes_to_the_source_too_and_its_call_fails_without_having_started() -> None:
    """The source decides what a no means; here it ends the call."""
    talk = Talk()
    talk.turn(("book", {}))
    talk.send(Returned("book", ASKS))
    talk.said  # noqa: B018 - reading it judges the talk so far
    talk.send(Answered(NO))
    assert talk.said == ["action.permission.resolved", "run.status.updated", "call book/1"]
    talk.send(Returned("book", ToolDone({"message": "the person said no"}, is_error=True)))
    assert talk.said == ["action.call.failed", "infer r1.2"]
    failed = [e.telling.payload for e in talk.effects if isinstance(e, Tell) and e.telling.type == "action.call.failed"]
    assert failed[0].error == ProtocolError(  # type: ignore[attr-defined]
        code="permission_denied", message="the person said no", details={"result": {"message": "the person said no"}}
    )


def test_a_call_of_an_unknown_tool_or_without_an_object_is_answered_by_the_loop() -> None:
    """No source sees it; the model reads why, and the run goes on (B20)."""
    talk = Talk()
    talk.turn(("fly", {}), ("book", "not an object"), ("look", {}))
    assert talk.said[2:] == [
        "action.call.requested", "action.call.failed", "action.call.requested", "action.call.failed",
        "action.call.requested", "action.call.started", "call look/0",
    ]  # fmt: skip
    assert [part.result["error"] for part in talk.run.results] == ["unknown_tool", "invalid_arguments"]  # type: ignore[index]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_calls_of_a_turn_that_was_cut_off_are_not_executed(reason: StopReason) -> None:
    """A stop for length may have cut the arguments (B20)."""
    talk = Talk()
    talk.turn(("say", "half"), ("book", {}), reason=reason)
    assert talk.said[-1] == "run.completed"
    assert talk.told().stop_reason == reason


@pytest.mark.parametrize(("reason", "code"), [("error", "endpoint_error"), ("aborted", "aborted")])
def test_a_turn_that_broke_fails_the_run(reason: StopReason, code: str) -> None:
    """An empty success would hide it (B18)."""
    talk = Talk()
    talk.turn(("say", "half"), reason=reason)
    talk.send(Unwound())
    assert (talk.said[-2:], talk.told().error.code) == (["stop", "run.failed"], code)


def test_a_provider_out_of_order_fails_the_run_as_a_violation() -> None:
    """The machine of the inference judges every envelope."""
    talk = Talk()
    payload = InferenceCreateRequest(model_ref="m", messages=())
    request = ProviderEnvelope(type="inference.create.request", id=talk.run.inference.request_id, payload=payload)
    writer = InferenceWriter(request, CountingIds())
    writer.accept()
    talk.send(Heard(writer.start()))
    talk.send(Unwound())
    assert (talk.said[-2:], talk.told().error.code) == (["stop", "run.failed"], "protocol_violation")


def test_a_run_has_a_bounded_number_of_turns() -> None:
    """A model that only ever calls is ended, and its calls are let go."""
    talk = Talk(max_turns=2)
    for _ in range(2):
        talk.turn(("look", {}))
        talk.send(Returned(talk.run.current.call.tool_call_id, ToolDone(1)))  # type: ignore[union-attr]
    assert talk.said[-1] == "abandon look look"
    talk.send(Abandoned())
    assert talk.told().error.code == "turn_limit"


def test_a_call_id_is_never_used_twice_in_a_session() -> None:
    """Some models count from zero in every turn; the history and the events keep their calls apart."""
    talk = Talk()
    talk.turn(("look", {}))
    talk.send(Returned("look", ToolDone(1)))
    talk.turn(("look", {}))
    assert talk.run.current is not None
    assert talk.run.current.call.tool_call_id == "look.2"


def test_tokens_are_added_up_over_turns_and_never_invented() -> None:
    """A figure one turn did not count stays what the other counted."""
    talk = Talk()
    talk.turn(("look", {}), usage=Usage(input_tokens=5, output_tokens=1))
    talk.send(Returned("look", ToolDone(1)))
    talk.turn(("say", "done"), usage=Usage(input_tokens=7))
    assert talk.told().usage == Usage(input_tokens=12, output_tokens=1)


@pytest.mark.req("OAP-013", "OAP-014")
def test_a_cancel_while_thinking_stops_the_inference_before_the_run_is_told_cancelled() -> None:
    """Nothing of a run happens after its end."""
    talk = Talk()
    talk.send(Cancel("enough"))
    assert talk.said[2:] == ["run.status.updated", "stop"]
    talk.send(Unwound())
    assert (talk.said, talk.told().reason) == (["run.cancelled"], "enough")


@pytest.mark.req("OAP-013", "OAP-014")
def test_a_cancel_while_asking_closes_the_question_lets_go_and_then_ends() -> None:
    """The hold is released before anybody hears that the run is over."""
    talk = Talk()
    talk.turn(("book", {}))
    talk.send(Returned("book", ASKS))
    talk.said  # noqa: B018 - reading it judges the talk so far
    talk.send(Cancel())
    assert talk.said == ["run.status.updated", "action.permission.resolved", "abandon book"]
    assert talk.run.interaction_id is None
    talk.send(Abandoned())
    assert talk.said == ["action.call.cancelled", "run.cancelled"]


@pytest.mark.req("OAP-013", "OAP-014")
def test_a_call_that_finished_although_it_was_stopped_is_told_as_it_happened() -> None:
    """A booking made is a booking made, cancel or not."""
    talk = Talk()
    talk.turn(("book", {}))
    talk.send(Cancel())
    talk.said  # noqa: B018 - reading it judges the talk so far
    talk.send(Returned("book", ToolDone("booked")))
    talk.send(Unwound())
    talk.send(Abandoned())
    assert talk.said == ["action.call.started", "action.call.completed", "abandon book", "run.cancelled"]
    assert talk.run.messages[-1].role == "tool"


def test_a_tool_that_broke_fails_the_run_and_closes_its_call() -> None:
    """What is no answer of a tool is a fault of ours."""
    talk = Talk()
    talk.turn(("book", {}))
    talk.send(Broke("book"))
    talk.send(Unwound())
    talk.send(Abandoned())
    assert talk.said[-4:] == ["stop", "abandon book", "action.call.cancelled", "run.failed"]
    assert talk.told().error.code == "internal"


def test_a_provider_that_vanished_fails_the_run() -> None:
    """Silence is not success (B19)."""
    talk = Talk()
    talk.send(Lost(ProtocolError(code="provider_unavailable", message="gone")))
    talk.send(Unwound())
    assert talk.told().error.code == "provider_unavailable"


COMMANDS: dict[type, Command] = {
    Heard: Heard(ProviderEnvelope(type="inference.started", id="x", payload=Wire())),
    Lost: Lost(ProtocolError(code="endpoint_error", message="x")),
    Returned: Returned("book", ToolDone(1)),
    Broke: Broke("book"),
    Answered: Answered(YES),
    Replied: Replied((UserAnswer(question_id="why", text="so"),)),
    Worded: Worded("w1", resolve("hers", result=1)),
    Steered: Steered(Steer("sub", "req", (Message(role="user", content="more", id="m1"),))),
    Cancel: Cancel(),
    Shut: Shut(),
    Unwound: Unwound(),
    Abandoned: Abandoned(),
}


@pytest.mark.req("OAP-155")
@pytest.mark.parametrize(("phase", "command"), list(product(Phase, get_args(Command))))
def test_a_pair_outside_the_table_changes_nothing(phase: Phase, command: type) -> None:
    """Every pair: a late report is dropped, a legal one moves the run or tells something."""
    run = at(phase, asks_questions=(phase, command) == (Phase.ASKING, Replied))
    decision = decide(run, COMMANDS[command])
    if (phase, command) not in TABLE:
        assert decision == Decision(run)
    elif (phase, command) != (Phase.WINDING, Heard):
        assert decision != Decision(run)


def test_a_report_about_another_call_is_dropped() -> None:
    """A source that answers twice cannot answer for the next call."""
    run = at(Phase.CALLING)
    assert decide(run, Returned("other", ToolDone(1))) == Decision(run)


def test_a_cancelled_run_keeps_what_it_learned() -> None:
    """The next run of the session reads the results of the calls that finished."""
    talk = Talk()
    talk.turn(("look", {}), ("book", {}))
    talk.send(Returned("look", ToolDone("seen")))
    talk.send(Cancel())
    talk.send(Unwound())
    talk.send(Abandoned())
    assert talk.run.messages[-1].content[0].result == "seen"  # type: ignore[union-attr]
