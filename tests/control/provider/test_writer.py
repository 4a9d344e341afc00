"""The pen of an inference: whatever is written with it, the machine and the upstream schema accept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso.control.protocol.envelope import ProviderEnvelope, write_envelope
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.inference import InferenceCancelRequest, InferenceCompleted, InferenceCreateRequest
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.provider.machine import Inference, observe
from sayso.control.provider.writer import InferenceWriter, write_cancel_response
from sayso.core.ids import CountingIds
from sayso.core.refusal import Misuse

REQUEST = ProviderEnvelope(
    type="inference.create.request",
    id="q1",
    payload=InferenceCreateRequest(model_ref="m", messages=(Message(role="user", content="go"),)),
)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
PARTS = st.lists(
    st.one_of(
        st.tuples(st.just("text"), st.lists(TEXTS, max_size=3)),
        st.tuples(st.just("reasoning"), st.lists(TEXTS, max_size=3)),
        st.tuples(st.just("call"), st.dictionaries(TEXTS, st.integers(0, 9), max_size=2)),
    ),
    max_size=5,
)


def write(parts: list[tuple[str, Any]]) -> list[ProviderEnvelope[Wire]]:
    writer = InferenceWriter(REQUEST, CountingIds())
    written: list[ProviderEnvelope[Wire]] = [writer.accept(), writer.start()]
    for kind, content in parts:
        if kind == "text":
            written += writer.text(*content)
        elif kind == "reasoning":
            written += writer.reasoning(*content, carry="opaque")
        else:
            written += writer.tool_call("look", content)
    return [*written, writer.complete()]


@pytest.mark.req("OAP-130", "OAP-131")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=PARTS)
def test_whatever_is_written_is_legal_and_has_its_shape(provider_schema: Any, parts: list[tuple[str, Any]]) -> None:
    """Any parts in any order, empty ones too."""
    state = Inference(request_id="q1")
    for envelope in write(parts):
        state = observe(state, envelope)
        assert provider_schema.is_valid(json.loads(write_envelope(envelope)))
    assert state.is_settled


@pytest.mark.req("OAP-132")
def test_the_stop_reason_is_read_off_the_parts() -> None:
    """A turn that calls stops for its calls, any other just stops."""
    ends = [write([("call", {})])[-1].payload, write([("text", ["x"])])[-1].payload]
    assert [end.stop_reason for end in ends if isinstance(end, InferenceCompleted)] == ["tool_use", "stop"]


@pytest.mark.req("OAP-130")
def test_nothing_is_written_after_the_end() -> None:
    """After a terminal, and after a refused create."""
    writer = InferenceWriter(REQUEST, CountingIds())
    writer.refuse("model_not_found", "no")
    with pytest.raises(Misuse):
        writer.start()
    writer = InferenceWriter(REQUEST, CountingIds())
    writer.fail("rate_limited", "slow down")
    with pytest.raises(Misuse):
        writer.complete()


@pytest.mark.req("OAP-132")
def test_a_cancel_is_answered_in_the_scope_of_its_inference(provider_schema: Any) -> None:
    """Intent only."""
    request = ProviderEnvelope(
        type="inference.cancel.request", id="c1", inference_id="i1", payload=InferenceCancelRequest()
    )
    answer = write_cancel_response(request, accepted=True, ids=CountingIds())
    assert (answer.in_reply_to, answer.inference_id, answer.payload.accepted) == ("c1", "i1", True)
    assert provider_schema.is_valid(json.loads(write_envelope(answer)))
