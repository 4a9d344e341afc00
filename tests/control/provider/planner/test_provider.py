"""The planner behind the provider port: every envelope legal by the machine and valid by the upstream schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sayso.control.protocol.envelope import ProviderEnvelope, write_envelope
from sayso.control.protocol.payloads.content import Message, TextPart, ToolCallPart
from sayso.control.protocol.payloads.inference import InferenceCancelRequest, InferenceCreateRequest, InferenceTool
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.provider.machine import Inference, observe
from sayso.control.provider.planner.descriptor import DescribeRequest, ModelsListRequest
from sayso.control.provider.planner.provider import MODEL, OUTCOME, OfflinePlanner
from sayso.core.ids import CountingIds
from tests.control.provider.planner.shop import SYSTEM, TOOLS

BOOK = "Book a trim tomorrow at 10 am"
pytestmark = pytest.mark.anyio


def asking(text: str = BOOK, *, system: str = SYSTEM, **more: Any) -> ProviderEnvelope[InferenceCreateRequest]:
    payload = InferenceCreateRequest(
        **{
            "model_ref": MODEL,
            "messages": (Message(role="system", content=system), Message(role="user", content=text)),
            "tools": tuple(InferenceTool(name=name, input_schema={"type": "object"}) for name in TOOLS),
            **more,
        }
    )
    return ProviderEnvelope(type="inference.create.request", id="r_1", payload=payload)


async def run(request: ProviderEnvelope[InferenceCreateRequest]) -> list[ProviderEnvelope[Wire]]:
    return [envelope async for envelope in OfflinePlanner(CountingIds()).create(request)]


def verify(schema: Any, envelopes: list[ProviderEnvelope[Wire]]) -> Inference:
    """Each envelope has its upstream shape and came when it might."""
    state = Inference(request_id="r_1")
    for envelope in envelopes:
        schema.validate(json.loads(write_envelope(envelope)))
        state = observe(state, envelope)
    assert state.is_settled
    return state


@pytest.mark.req("OAP-130", "OAP-131")
async def test_a_tool_call_is_streamed_and_ends_with_tool_use(provider_schema: Any) -> None:
    """Accepted, started, one part, completed with exactly that part."""
    envelopes = await run(asking())
    verify(provider_schema, envelopes)
    assert [envelope.type for envelope in envelopes] == [
        "inference.create.response",
        "inference.started",
        "inference.part.started",
        "inference.part.delta",
        "inference.part.ended",
        "inference.completed",
    ]
    completed = envelopes[-1].payload
    assert completed.stop_reason == "tool_use"
    assert completed.message.content == (
        ToolCallPart(tool_call_id=envelopes[2].payload.tool_call_id, name="discover_host", arguments_json={}),
    )


@pytest.mark.req("OAP-130", "OAP-131")
async def test_an_answer_is_streamed_in_sentences_and_says_how_the_turn_ended(provider_schema: Any) -> None:
    """The deltas add up to the text; the message's metadata tells a program what the words tell a person."""
    envelopes = await run(asking("Book a trim on Feb 30"))
    verify(provider_schema, envelopes)
    deltas = [envelope.payload.delta for envelope in envelopes if envelope.type == "inference.part.delta"]
    assert deltas == ["There is no such date or time. ", "Which day and time do you mean?"]
    completed = envelopes[-1].payload
    assert (completed.stop_reason, completed.message) == (
        "stop",
        Message(role="assistant", content=(TextPart(text="".join(deltas)),), metadata={OUTCOME: "asks"}),
    )


async def test_what_it_cannot_do_it_says_plainly(provider_schema: Any) -> None:
    """It is no language model; what it understands, and how to get one, stand in the same answer."""
    envelopes = await run(asking("Write me a poem about the sea"))
    verify(provider_schema, envelopes)
    text = envelopes[-1].payload.message.content[0].text
    assert "not a language model" in text
    assert "I understand requests in plain English to book, move, cancel or look up an appointment" in text
    assert "connect a language model" in text


@pytest.mark.parametrize(("tools", "choice"), [((), None), (None, "none")])
async def test_without_tools_it_says_so_instead_of_calling(provider_schema: Any, tools: Any, choice: Any) -> None:
    """A call that nobody could carry out is never written."""
    more = ({"tools": tools} if tools is not None else {}) | ({"tool_choice": choice} if choice else {})
    envelopes = await run(asking(**more))
    verify(provider_schema, envelopes)
    completed = envelopes[-1].payload
    assert completed.stop_reason == "stop"
    assert completed.message.content[0].text.startswith("I cannot do that here: it needs the tool discover_host")


async def test_without_the_time_it_says_so() -> None:
    """Nobody can tell what tomorrow is without a now."""
    envelopes = await run(asking(system="You act for one person."))
    assert envelopes[-1].payload.message.content[0].text.startswith("I have not been told what time it is")


@pytest.mark.req("OAP-130", "OAP-132")
@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"model_ref": "some-other-model"}, "model_not_found"),
        ({"output_schema": {"type": "object"}}, "unsupported_feature"),
        ({"headers": {"Authorization": "x"}}, "invalid_request"),
        ({"headers": {"X-Trace": "Bearer abc"}}, "invalid_request"),
    ],
)
async def test_what_is_decidable_beforehand_is_refused_at_create(provider_schema: Any, more: dict, code: str) -> None:
    """One response without an inference, and nothing after it."""
    envelopes = await run(asking(**more))
    verify(provider_schema, envelopes)
    assert [(e.type, e.payload.accepted, e.payload.error.code) for e in envelopes] == [
        ("inference.create.response", False, code)
    ]


async def test_a_degradable_feature_that_was_given_up_is_no_reason_to_refuse(provider_schema: Any) -> None:
    """Whoever allows plain sentences gets them."""
    more = {"output_schema": {"type": "object"}, "allow_degraded_features": ("output_schema",)}
    assert verify(provider_schema, await run(asking(**more))).phase.value == "completed"


@pytest.mark.req("OAP-130")
async def test_the_snapshot_policy_kept_is_named(provider_schema: Any) -> None:
    """Asked for every delta, it honours never, and says so."""
    envelopes = await run(asking(include_snapshot="every_delta"))
    verify(provider_schema, envelopes)
    assert envelopes[0].payload.honoured.include_snapshot == "never"


@pytest.mark.req("OAP-132")
@pytest.mark.parametrize("heard", range(2, 6))
async def test_a_cancel_settles_as_aborted_wherever_it_falls(provider_schema: Any, heard: int) -> None:
    """The numbers have no gap, and only parts that ended are in the message."""
    planner = OfflinePlanner(CountingIds())
    stream = planner.create(asking("Book a trim on Feb 30"))
    envelopes = [await anext(stream) for _ in range(heard)]
    cancel = ProviderEnvelope(
        type="inference.cancel.request",
        id="c_1",
        inference_id=envelopes[0].inference_id,
        payload=InferenceCancelRequest(),
    )
    answers = [await planner.cancel(cancel)]
    envelopes += [envelope async for envelope in stream]
    answers.append(await planner.cancel(cancel))
    verify(provider_schema, envelopes)
    assert envelopes[-1].payload.stop_reason == "aborted"
    assert [answer.payload.accepted for answer in answers] == [True, False]
    for answer in answers:
        provider_schema.validate(json.loads(write_envelope(answer)))


@pytest.mark.req("OAP-130")
async def test_it_describes_itself_and_its_one_model(provider_schema: Any) -> None:
    """By the profile's shapes, under a name that says what it is."""
    planner = OfflinePlanner(CountingIds())
    described = await planner.describe(
        ProviderEnvelope(type="provider.describe.request", id="r_1", payload=DescribeRequest())
    )
    listed = await planner.models(
        ProviderEnvelope(type="provider.models.list.request", id="r_2", payload=ModelsListRequest())
    )
    other = ModelsListRequest(provider_id="somebody-else")
    theirs = await planner.models(ProviderEnvelope(type="provider.models.list.request", id="r_3", payload=other))
    assert theirs.payload.models == ()
    for answer in (described, listed, theirs):
        provider_schema.validate(json.loads(write_envelope(answer)))
    (model,) = listed.payload.models
    assert (model.model_ref, model.provider_id) == (MODEL, described.payload.providers[0].id)
    assert "not a language model" in model.display_name
