"""What the loop asks others: questions to the person, and calls of the client's own tools, each answered once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ActionCallResolveRequest
from sayso.control.protocol.payloads.capabilities import ToolDefinition
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.interaction import UserAnswer, UserInputResolveRequest
from sayso.core.ids import SystemIds
from sayso.core.refusal import PeerRefused
from sayso.testing.provider import Call, Say
from sayso.testing.tools import asking
from tests.control.conftest import Trace
from tests.control.loop.stage import Stage, staged

pytestmark = pytest.mark.anyio
IDS = SystemIds()
ASK = Call(
    "request_user_input",
    {
        "title": "Two things",
        "questions": [
            {
                "id": "colour",
                "prompt": "Which colour?",
                "kind": "single_choice",
                "required": True,
                "options": [{"id": "red", "label": "Red"}, {"id": "blue", "label": "Blue"}],
            },
            {
                "id": "days",
                "prompt": "Which days?",
                "kind": "multi_choice",
                "options": [{"id": "mon", "label": "Monday"}, {"id": "tue", "label": "Tuesday"}],
            },
            {"id": "why", "prompt": "Why?", "kind": "text"},
        ],
    },
)


def chosen(name: str, *options: str) -> UserAnswer:
    return UserAnswer(question_id=name, selected_option_ids=options)


@pytest.mark.req("OAP-158")
async def test_a_text_a_choice_and_several_are_asked_and_answered(trace: Trace) -> None:
    """The tool gets what the person said, and the model reads it."""
    answers = (chosen("colour", "blue"), chosen("days", "mon", "tue"), UserAnswer(question_id="why", text="so"))
    async with staged([[ASK], [Say("blue then")]], record=trace.record) as stage:
        run_id, asked = await stage.begin(until="user.input.requested")
        state = await stage.client.state(stage.id)
        await stage.client.answer(asked, answers)  # type: ignore[arg-type]
        await stage.read(run_id)
    assert (state.status, (state.active_runs or ())[0].pending_interactions) == (
        "waiting_for_input", (asked.payload.interaction_id,),  # type: ignore[attr-defined]
    )  # fmt: skip
    result = stage.provider.requests[-1].messages[-1].content[0].result  # type: ignore[union-attr]
    assert [answer["question_id"] for answer in result["answers"]] == ["colour", "days", "why"]  # type: ignore[index]


@pytest.mark.req("OAP-158")
@pytest.mark.parametrize(
    ("answers", "responder", "reason"),
    [
        ((chosen("days", "mon"),), "user", "invalid_answer"),
        ((chosen("colour", "green"),), "user", "invalid_answer"),
        ((chosen("colour", "red", "blue"),), "user", "invalid_answer"),
        ((UserAnswer(question_id="colour", text="red"),), "user", "invalid_answer"),
        ((chosen("colour", "red"), chosen("colour", "blue")), "user", "invalid_answer"),
        ((chosen("colour", "red"), chosen("size", "big")), "user", "invalid_answer"),
        ((chosen("colour", "red"), chosen("why", "mon")), "user", "invalid_answer"),
        ((chosen("colour", "red"),), "stranger", None),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_and_the_questions_stay(
    trace: Trace, answers: tuple[UserAnswer, ...], responder: str, reason: str | None
) -> None:
    """Each is validated before the tool gets any."""
    async with staged([[ASK], [Say("ok")]], record=trace.record) as stage:
        run_id, asked = await stage.begin(until="user.input.requested")
        payload = UserInputResolveRequest(
            interaction_id=asked.payload.interaction_id,  # type: ignore[attr-defined]
            requested_by="agent",
            responded_by=responder,
            session_id=stage.id,
            run_id=run_id,
            answers=answers,
        )
        wrong = Envelope(
            type="user.input.resolve.request", id=IDS.new("w"), payload=payload, session_id=stage.id, run_id=run_id
        )
        refused: Any = await stage.hub.session(stage.id).resolve(wrong)
        await stage.client.answer(asked, (chosen("colour", "red"),))  # type: ignore[arg-type]
        ended = await stage.read(run_id)
    assert refused.payload.error.code == "resolution_rejected"
    assert reason is None or refused.payload.error.details["reason"] == reason
    assert ended.type == "run.completed"


@pytest.mark.req("OAP-157", "OAP-158")
async def test_a_permission_never_stands_for_an_answer_nor_an_answer_for_a_permission(trace: Trace) -> None:
    """Two kinds of interaction, two kinds of resolve."""
    turns = [[Call("book")], [ASK], [Say("ok")]]
    async with staged(turns, {"book": asking("limits")}, record=trace.record) as stage:
        run_id, permission = await stage.begin(until="action.permission.requested")
        adapter = stage.hub.session(stage.id).adapter
        payload = UserInputResolveRequest(
            interaction_id=permission.payload.interaction_id,  # type: ignore[attr-defined]
            requested_by="agent",
            responded_by="user",
            session_id=stage.id,
            run_id=run_id,
            answers=(UserAnswer(question_id="why", text="yes"),),
        )
        with pytest.raises(Exception, match="not open"):
            await adapter.resolve(Envelope(type="user.input.resolve.request", id="w", payload=payload))
        await stage.client.resolve(permission, granted=True)  # type: ignore[arg-type]
        asked = await stage.read(run_id, "user.input.requested")
        await stage.client.decline(asked)  # type: ignore[arg-type]
        ended = await stage.read(run_id)
    assert ended.type == "run.completed"


# --- the client's own tools ------------------------------------------------------------------------------------------

HERS = ToolDefinition(name="hers", input_schema={"type": "object"}, execution_owner="user", source="sayso")


async def word(stage: Stage, asked: Any, **changes: Any) -> Any:
    """What the client says about the call, as the adapter answers it."""
    members = {
        "interaction_id": asked.interaction_id,
        "session_id": asked.session_id,
        "run_id": asked.run_id,
        "tool_call_id": asked.tool_call_id,
        "requested_by": "agent",
        "responded_by": "user",
        **changes,
    }
    payload = ActionCallResolveRequest(**members)
    request = Envelope(
        type="action.call.resolve.request",
        id=IDS.new("w"),
        payload=payload,
        session_id=stage.id,
        run_id=asked.run_id,
        tool_call_id=payload.tool_call_id,
    )
    return (await stage.hub.session(stage.id).resolve(request)).payload


@pytest.mark.req("OAP-163")
async def test_a_client_runs_its_own_tool_and_each_word_counts_once(trace: Trace) -> None:
    """All the ways in which a word cannot count, each an answer with its reason."""
    async with staged([[Call("hers", {"n": 1})], [Say("ok")]], record=trace.record, opens={"tools": (HERS,)}) as stage:
        run_id, envelope = await stage.begin(until="action.call.requested")
        asked: Any = envelope.payload
        refused = [
            (await word(stage, asked, interaction_id="other", started={})).reason,
            (await word(stage, asked, tool_call_id="other", started={})).reason,
            (await word(stage, asked, responded_by="stranger", started={})).reason,
        ]
        assert (await word(stage, asked, started={})).accepted
        state = await stage.client.state(stage.id)
        refused.append((await word(stage, asked, started={})).reason)
        assert (await word(stage, asked, result={"did": 1})).accepted
        await stage.read(run_id)
        late = [await word(stage, asked, result=2), await word(stage, asked, responded_by="stranger", result=2)]
    ended = next(each for each in stage.seen[run_id] if each.type == "action.call.completed")
    assert refused == [
        "unknown_interaction", "unknown_interaction", "wrong_responder", "repeated_acknowledgement",
    ]  # fmt: skip
    assert [each.reason for each in late] == ["already_resolved", "wrong_responder"]
    assert late[0].details.settlement_id == ended.id
    assert (state.active_runs or ())[0].acknowledged_interactions == (asked.interaction_id,)
    assert stage.provider.requests[-1].messages[-1].content[0].result == {"did": 1}  # type: ignore[union-attr]


@pytest.mark.req("OAP-163")
async def test_a_failure_of_the_clients_tool_is_a_result_the_model_reads(trace: Trace) -> None:
    """And the run goes on."""
    async with staged([[Call("hers")], [Say("ok")]], record=trace.record, opens={"tools": (HERS,)}) as stage:
        run_id, envelope = await stage.begin(until="action.call.requested")
        await stage.client.fail_call(envelope, ProtocolError(code="nope", message="not now"))  # type: ignore[arg-type]
        ended = await stage.read(run_id)
    part: Any = stage.provider.requests[-1].messages[-1].content[0]
    assert (ended.type, part.is_error, part.result["error"]) == ("run.completed", True, "nope")


@pytest.mark.req("OAP-159", "OAP-163")
async def test_a_cancelled_call_of_the_clients_tool_takes_no_word_any_more(trace: Trace) -> None:
    """It points at the event that ended it."""
    async with staged([[Call("hers")], [Say("ok")]], record=trace.record, opens={"tools": (HERS,)}) as stage:
        run_id, envelope = await stage.begin(until="action.call.requested")
        await stage.client.cancel(stage.id, run_id)
        await stage.read(run_id)
        late = await word(stage, envelope.payload, result=1)
        _, again = await stage.begin("next")
    assert (late.accepted, late.reason, again.type) == (False, "already_resolved", "run.completed")


@pytest.mark.req("OAP-163")
@pytest.mark.parametrize(
    "changes",
    [
        {"name": "book"},
        {"name": "request_user_input"},
        {"name": "no spaces"},
        {"execution_owner": "stranger"},
        {"source": "nowhere"},
        {"source": msgspec.UNSET},
    ],
)
async def test_a_tool_that_cannot_be_provided_refuses_the_open(trace: Trace, changes: dict[str, Any]) -> None:
    """All or nothing, and the entry is named."""
    async with staged([], {"book": asking("limits")}, record=trace.record) as stage:
        with pytest.raises(PeerRefused) as refused:
            await stage.client.open("sayso", tools=(msgspec.structs.replace(HERS, **changes),))
    details = refused.value.refusal.details
    assert (refused.value.refusal.code, details["feature"], refused.value.refusal.reason) == (
        "unsupported_feature", "action.tools.provide", "unsatisfiable",
    )  # fmt: skip
