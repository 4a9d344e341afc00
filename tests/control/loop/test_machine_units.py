"""The optional units inside one run, as transcripts: steers, questions, tools of the client, controls, compactions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.control.adapters.choosing import ToolChoice
from sayso.control.loop.contract import ToolDone
from sayso.control.loop.conversations import CallEnded, CallRequested, Compacted, Said
from sayso.control.loop.questions import ASK_USER
from sayso.control.loop.run import (
    Abandoned,
    Cancel,
    Infer,
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
from sayso.control.protocol.payloads.content import Message, Usage, text_of
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.inference import InferenceCreateRequest
from sayso.control.protocol.payloads.interaction import UserAnswer
from sayso.control.protocol.payloads.session import CompactionPolicy
from tests.control.loop.talk import LONG, QUESTIONS, Talk, at, resolve

STEER = Steer("sub1", "req1", (Message(role="user", content="shorter", id="m1"),))


def last_request(talk: Talk) -> InferenceCreateRequest:
    return [effect.request for effect in talk.effects if isinstance(effect, Infer)][-1]


def told(talk: Talk, type_: str) -> list[Any]:
    return [e.telling.payload for e in talk.effects if isinstance(e, Tell) and e.telling.type == type_]


# --- steers ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-155")
def test_a_steer_is_heard_behind_the_results_of_the_turn() -> None:
    """The model reads it with its next request, and it is told right before that."""
    talk = Talk()
    talk.turn(("look", {}))
    talk.send(Steered(STEER))
    talk.said  # noqa: B018 - reading it judges the talk so far
    talk.send(Returned("look", ToolDone("seen")))
    assert talk.said == ["action.call.completed", "run.steer.applied", "infer r1.2"]
    assert told(talk, "run.steer.applied")[0].boundary == "tool_result"
    assert [message.role for message in last_request(talk).messages] == ["system", "user", "assistant", "tool", "user"]


@pytest.mark.req("OAP-155")
def test_a_steer_keeps_a_run_going_that_would_have_ended() -> None:
    """While it thinks: after the current turn's end, before the next request."""
    talk = Talk()
    talk.send(Steered(STEER))
    talk.turn(("say", "a long answer"))
    assert talk.said[2:] == ["content.delta", "run.steer.applied", "infer r1.2"]
    talk.turn(("say", "short"))
    assert (talk.said[-1], text_of(talk.told().final_response.content)) == ("run.completed", "short")


@pytest.mark.req("OAP-164")
def test_a_steer_behind_a_cut_off_turn_finds_a_sound_history() -> None:
    """Only what is new since the last request is looked at, and that is."""
    talk = Talk()
    talk.turn(("look", {}))
    talk.send(Returned("look", ToolDone(1)))
    talk.send(Steered(Steer("sub", "req", (Message(role="user", content="go on", id="m"),))))
    talk.turn(("book", {}), reason="length")
    roles = [message.role for message in last_request(talk).messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "user"]


@pytest.mark.req("OAP-155")
@pytest.mark.parametrize("phase", [Phase.ASKING, Phase.CALLING, Phase.HANDED])
def test_a_steer_that_was_not_heard_is_dropped_before_the_end(phase: Phase) -> None:
    """Each settles once, before the target's terminal."""
    talk = Talk()
    talk.run = at(phase)
    talk.send(Steered(STEER))
    talk.send(Cancel())
    talk.send(Unwound())
    talk.send(Abandoned())
    assert talk.said[-2:] == ["run.steer.dropped", "run.cancelled"]
    assert told(talk, "run.steer.dropped")[0].reason.code == "run_terminated"


@pytest.mark.parametrize("phase", [Phase.WINDING, Phase.RELEASING, Phase.ENDED])
def test_a_run_on_its_way_to_the_end_takes_no_steer(phase: Phase) -> None:
    """Nothing would hear it."""
    assert not at(phase).is_steerable


# --- questions -------------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-158")
def test_the_model_asks_and_its_tool_gets_the_answers() -> None:
    """The call starts, waits for the person, and its result is what they said."""
    talk = Talk()
    talk.turn((ASK_USER.name, QUESTIONS))
    assert talk.said[2:] == [
        "action.call.requested", "action.call.started", "user.input.requested", "run.status.updated",
    ]  # fmt: skip
    assert (talk.run.phase, talk.run.interaction_id) == (Phase.ASKING, "r1.q1")
    answers = (UserAnswer(question_id="why", text="because"),)
    talk.send(Replied(answers))
    assert talk.said == ["user.input.resolved", "run.status.updated", "action.call.completed", "infer r1.2"]
    assert told(talk, "user.input.resolved")[0].answers == answers
    assert told(talk, "action.call.completed")[0].result == {"answers": [{"question_id": "why", "text": "because"}]}


@pytest.mark.req("OAP-158")
def test_questions_may_be_declined_and_the_run_goes_on() -> None:
    """The model reads that nobody wanted to say."""
    talk = Talk()
    talk.turn((ASK_USER.name, QUESTIONS))
    talk.send(Replied(None))
    assert told(talk, "user.input.resolved")[0].status == "cancelled"
    assert told(talk, "action.call.completed")[0].result["declined"] is True
    assert talk.said[-1] == "infer r1.2"


@pytest.mark.req("OAP-158")
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"questions": []},
        {"questions": [{"id": "a", "prompt": "?", "kind": "single_choice"}]},
        {"questions": [{"id": "a", "prompt": "?", "kind": "text", "options": [{"id": "x", "label": "X"}]}]},
        {"questions": [{"id": "a", "prompt": "?", "kind": "text"}, {"id": "a", "prompt": "?", "kind": "text"}]},
        {"questions": [{"id": "a", "prompt": "?", "kind": "text"}], "secret": True},
    ],
)
def test_questions_that_cannot_be_asked_are_the_models_error(arguments: dict[str, Any]) -> None:
    """Nobody is asked, and the model reads why."""
    talk = Talk()
    talk.turn((ASK_USER.name, arguments))
    assert talk.said[2:] == ["action.call.requested", "action.call.failed", "infer r1.2"]
    assert told(talk, "action.call.failed")[0].error.code == "invalid_arguments"


@pytest.mark.req("OAP-159")
def test_a_cancel_closes_the_open_questions_first() -> None:
    """The prompt goes, then the call, then the run; nothing waits for a source, for none was called."""
    talk = Talk()
    talk.turn((ASK_USER.name, QUESTIONS))
    talk.said  # noqa: B018 - reading it judges the talk so far
    talk.send(Cancel())
    assert talk.said == ["run.status.updated", "user.input.resolved", "action.call.cancelled", "run.cancelled"]


# --- tools of the client ---------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-163")
def test_a_call_of_the_clients_tool_is_handed_over_and_ends_as_it_says() -> None:
    """Asked as an interaction; acknowledged, then answered, each event naming the request it rests on."""
    talk = Talk()
    talk.turn(("hers", {"n": 1}))
    assert talk.said[2:] == ["action.call.requested", "run.status.updated"]
    asked = told(talk, "action.call.requested")[0]
    assert (asked.execution_owner, asked.interaction_id, asked.responded_by) == ("user", "r1.q1", "user")
    talk.send(Worded("w1", resolve("hers", started={})))
    talk.send(Worded("w2", resolve("hers", result={"did": 1})))
    assert talk.said == ["action.call.started", "action.call.completed", "run.status.updated", "infer r1.2"]
    started, ended = told(talk, "action.call.started")[0], told(talk, "action.call.completed")[0]
    assert (started.request_id, ended.request_id, ended.result) == ("w1", "w2", {"did": 1})
    assert talk.run.messages[-1].content[0].result == {"did": 1}  # type: ignore[union-attr]


@pytest.mark.req("OAP-163")
def test_a_client_may_answer_at_once_and_with_an_error() -> None:
    """The start is told all the same, and the model reads the error."""
    talk = Talk()
    talk.turn(("hers", {}))
    talk.send(Worded("w1", resolve("hers", error=ProtocolError(code="no", message="not today"))))
    assert talk.said[4:] == ["action.call.started", "action.call.failed", "run.status.updated", "infer r1.2"]
    part = talk.run.messages[-1].content[0]
    assert (part.is_error, part.result) == (True, {"error": "no", "message": "not today"})  # type: ignore[union-attr]


@pytest.mark.req("OAP-159", "OAP-163")
def test_a_cancel_ends_a_handed_call_before_any_late_word() -> None:
    """Its end is told with the cancel, so that a word that comes later has something to be too late for."""
    talk = Talk()
    talk.turn(("look", {}), ("hers", {}))
    talk.send(Returned("look", ToolDone(1)))
    talk.said  # noqa: B018 - reading it judges the talk so far
    talk.send(Cancel())
    assert talk.said == ["run.status.updated", "action.call.cancelled", "abandon look"]
    assert told(talk, "action.call.cancelled")[0].interaction_id == "r1.q1"
    talk.send(Abandoned())
    assert talk.said == ["run.cancelled"]


# --- controls --------------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-163")
def test_instructions_limits_and_tools_reach_the_model_for_this_run() -> None:
    """Behind the system message; of the tools those that the choice leaves."""
    choice = ToolChoice(disallowed=("book", "hers"))
    talk = Talk(instructions="in French", choice=choice, max_output_tokens=99)
    request = last_request(talk)
    assert [text_of(message.content) for message in request.messages[:2]] == ["now: noon", "in French"]
    assert [tool.name for tool in request.tools or ()] == ["look", ASK_USER.name]
    assert request.max_output_tokens == 99
    assert request.temperature is msgspec.UNSET


@pytest.mark.req("OAP-163")
def test_a_tool_that_the_choice_excludes_is_not_called_nor_told() -> None:
    """The run was admitted without it; the model alone hears why."""
    talk = Talk(choice=ToolChoice(allowed=("look",)))
    talk.turn(("book", {}))
    assert talk.said[2:] == ["infer r1.2"]
    assert talk.run.messages[-1].content[0].result["error"] == "tool_not_allowed"  # type: ignore[union-attr,index]


@pytest.mark.req("OAP-163")
def test_a_demanded_call_is_demanded_until_it_was_made_and_missed_where_it_was_not() -> None:
    """Of the model, and of the run's answer."""
    talk = Talk(choice=ToolChoice(mode="named", name="look"))
    assert last_request(talk).tool_choice == {"name": "look"}
    talk.turn(("look", {}))
    talk.send(Returned("look", ToolDone(1)))
    assert last_request(talk).tool_choice is msgspec.UNSET
    idle = Talk(choice=ToolChoice(mode="required"))
    idle.turn(("say", "no need"))
    idle.send(Unwound())
    assert idle.told().error.code == "endpoint_error"


@pytest.mark.req("OAP-163")
def test_a_call_of_no_tool_is_not_the_call_that_was_demanded() -> None:
    """It is demanded again."""
    talk = Talk(choice=ToolChoice(mode="required"))
    talk.turn(("nothing", {}))
    talk.turn(("look", {}))
    talk.send(Returned("look", ToolDone(1)))
    demands = [effect.request.tool_choice for effect in talk.effects if isinstance(effect, Infer)]
    assert demands == ["required", "required", msgspec.UNSET]


@pytest.mark.req("OAP-163")
@pytest.mark.parametrize(
    ("said", "result"), [('{"n": 1}', {"n": 1}), ('{"n": "one"}', None), ("one", None), ("[1]", None), ("{", None)]
)
def test_a_result_has_the_asked_shape_or_the_run_fails(said: str, result: object) -> None:
    """Nothing is repaired, and no answer passes for an object."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    talk = Talk(schema=schema)
    assert last_request(talk).output_schema == schema
    talk.turn(("say", said))
    if result is None:
        talk.send(Unwound())
        assert (talk.said[-1], talk.told().error.code) == ("run.failed", "endpoint_error")
    else:
        assert talk.told().result == result


# --- compactions -----------------------------------------------------------------------------------------------------

SMALL = CompactionPolicy(kind="tokens", tokens=10)
BIG = tuple(Message(role=message.role, content=f"{message.content} " * 4000) for message in LONG)
"""The same with so much said that a threshold has something to win."""


@pytest.mark.req("OAP-162")
def test_a_requested_compaction_is_a_run_that_ends_with_its_summary() -> None:
    """One pair of events, no text streamed, history replaced."""
    talk = Talk(work="compaction", messages=LONG, focus="the dates")
    assert talk.said == ["run.started", "run.compaction.started", "infer r1.c1"]
    assert "the dates" in text_of(last_request(talk).messages[0].content)
    talk.turn(("say", "in short"))
    assert talk.said == ["run.compaction.ended", "run.completed"]
    assert (talk.told().stop_reason, text_of(talk.told().final_response.content)) == ("compacted", "in short")
    assert len(talk.run.messages) < len(LONG)
    assert isinstance(talk.kept[-1], Compacted)


@pytest.mark.req("OAP-162")
def test_a_turn_may_follow_a_requested_compaction() -> None:
    """`continue`: the model goes on from the summary, asked by somebody."""
    talk = Talk(work="compaction_then_turns", messages=LONG)
    talk.turn(("say", "in short"))
    assert talk.said[-1] == "infer r1.1"
    assert last_request(talk).messages[-1].role == "user"
    talk.turn(("say", "and on"))
    assert (talk.told().stop_reason, talk.said[-1]) == ("end_turn", "run.completed")


@pytest.mark.req("OAP-162")
def test_a_threshold_compacts_between_turns_and_the_run_goes_on() -> None:
    """Before the request that would have been too long."""
    talk = Talk(messages=BIG, policy=SMALL)
    assert talk.said == ["run.started", "run.compaction.started", "infer r1.c1"]
    assert told(talk, "run.compaction.started")[0].reason == "threshold"
    talk.turn(("say", "in short"))
    assert talk.said == ["run.compaction.ended", "infer r1.1"]
    assert "in short" in text_of(last_request(talk).messages[1].content)


@pytest.mark.req("OAP-162")
def test_what_the_vendor_counted_is_what_the_threshold_is_held_against() -> None:
    """The estimate is used only until then."""
    policy = CompactionPolicy(kind="tokens", tokens=100_000)
    talk = Talk(messages=(*BIG, Message(role="user", content="x" * 4000)), policy=policy)
    talk.turn(("look", {}), usage=Usage(input_tokens=110_000, output_tokens=5))
    talk.said  # noqa: B018 - reading it judges the talk so far
    talk.send(Returned("look", ToolDone(1)))
    assert talk.said == ["action.call.completed", "run.compaction.started", "infer r1.c1"]


@pytest.mark.req("OAP-162")
def test_a_threshold_compaction_that_fails_leaves_history_and_is_not_tried_again_at_once() -> None:
    """The turn is tried as things are."""
    talk = Talk(messages=BIG, policy=SMALL)
    talk.send(Lost(ProtocolError(code="provider_unavailable", message="gone")))
    assert talk.said[3:] == ["run.compaction.ended", "infer r1.1"]
    assert told(talk, "run.compaction.ended")[0].outcome == "failed"
    assert talk.run.messages == BIG


@pytest.mark.req("OAP-162")
def test_a_requested_compaction_that_fails_fails_its_run_with_the_same_error() -> None:
    """An empty summary is no summary."""
    talk = Talk(work="compaction", messages=LONG)
    talk.turn(("say", "   "))
    talk.send(Unwound())
    assert talk.said[-3:] == ["run.compaction.ended", "stop", "run.failed"]
    assert talk.told().error == told(talk, "run.compaction.ended")[0].error
    assert talk.run.messages == LONG


@pytest.mark.req("OAP-159", "OAP-162")
def test_a_cancelled_compaction_ends_cancelled_before_its_run() -> None:
    """And history is as it was."""
    talk = Talk(work="compaction", messages=LONG)
    talk.send(Cancel())
    talk.send(Unwound())
    assert talk.said[-2:] == ["run.compaction.ended", "run.cancelled"]
    assert (told(talk, "run.compaction.ended")[0].outcome, talk.run.messages) == ("cancelled", LONG)


@pytest.mark.req("OAP-162")
def test_a_requested_compaction_of_nothing_is_over_at_once() -> None:
    """No model is asked."""
    talk = Talk(work="compaction", messages=())
    assert talk.said == ["run.started", "run.compaction.started", "run.compaction.ended", "run.completed"]


# --- what is kept ----------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-164")
def test_a_call_is_kept_before_it_is_made_and_its_result_before_it_is_told() -> None:
    """Each step as it happens, in this order."""
    talk = Talk(messages=(), said=(Message(role="user", content="go"),))
    talk.turn(("look", {}), ("book", {}))
    talk.send(Returned("look", ToolDone("seen")))
    assert [type(step) for step in talk.kept] == [Said, Said, CallRequested, CallEnded, CallRequested]


def test_a_session_that_ends_fails_its_run_because_nobody_cancelled_it() -> None:
    """`run.cancelled` stands behind an accepted cancel alone."""
    talk = Talk()
    talk.send(Shut())
    talk.send(Unwound())
    assert (talk.said[-1], talk.told().error.code) == ("run.failed", "session_closed")
