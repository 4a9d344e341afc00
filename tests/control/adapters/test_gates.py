"""One refusal for a request that elects too much, and the right one."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.control.adapters.contract import Descriptor
from sayso.control.adapters.gates import verify_compact, verify_feature, verify_open, verify_submit
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse, Endpoint, FeatureSupport
from sayso.control.protocol.payloads.compaction import SessionCompactRequest
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.models import ModelSwitchRequest
from sayso.control.protocol.payloads.session import (
    CompactionPolicy,
    MessageSubmitRequest,
    OpenMessage,
    SessionOpenRequest,
)
from sayso.core.refusal import Refused

SAID = (Message(role="user", content="go"),)
LEVELS: dict[str, Any] = {
    "session.message.delivery.auto": FeatureSupport(level="native"),
    "run.instructions": FeatureSupport(level="degraded", reason="prepended to the message"),
    "run.model_selection": FeatureSupport(level="degraded", reason="at the next run"),
}
STRUCTURED = ("unsupported_feature", "run.structured_output")
QUEUE = "session.message.delivery.queue"
DESCRIPTOR = Descriptor("v1", CapabilitiesResponse(endpoint=Endpoint(id="agent"), features=LEVELS))


def submit(**members: Any) -> Envelope[MessageSubmitRequest]:
    payload = MessageSubmitRequest(session_id="s1", messages=SAID, delivery="auto", **members)
    return Envelope(type="session.message.submit.request", id="q1", payload=payload, session_id="s1")


def open_(**members: Any) -> Envelope[SessionOpenRequest]:
    return Envelope(type="session.open.request", id="q1", payload=SessionOpenRequest(**members))


def compact(**members: Any) -> Envelope[SessionCompactRequest]:
    payload = SessionCompactRequest(session_id="s1", **members)
    return Envelope(type="session.compact.request", id="q1", payload=payload, session_id="s1")


def refusal(request: Envelope[Any]) -> tuple[str, str | None]:
    verify: Any = {SessionOpenRequest: verify_open, SessionCompactRequest: verify_compact}.get(
        type(request.payload), verify_submit
    )
    with pytest.raises(Refused) as refused:
        verify(request, DESCRIPTOR)
    return refused.value.refusal.code, refused.value.refusal.details.get("feature")


@pytest.mark.req("OAP-016")
@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (submit(tool_choice=None), ("unsupported_feature", "run.tool_selection")),
        (submit(output_schema={}, tool_choice="x"), ("unsupported_feature", "run.structured_output")),
        (submit(instructions=""), ("capability_degraded", "run.instructions")),
        (submit(model_id="m", instructions="x"), ("capability_degraded", "run.instructions")),
        (submit(instructions="x", output_schema={}), ("unsupported_feature", "run.structured_output")),
        (open_(tool_sources=()), ("unsupported_feature", "action.tool_sources.attach")),
        (open_(subscribe=True), ("unsupported_feature", "session.open.subscribe")),
        (open_(reopen=True, session_id="s1"), ("unsupported_feature", "session.open.reopen")),
        (open_(message=OpenMessage(messages=SAID, delivery="auto", output_schema={})), STRUCTURED),
        (open_(message=OpenMessage(messages=SAID, delivery="queue")), ("unsupported_feature", QUEUE)),
        (open_(reasoning_level="low", tools=()), ("unsupported_feature", "action.tools.provide")),
        (open_(compaction_policy=CompactionPolicy(kind="off")), ("unsupported_feature", "session.compaction.policy")),
        (compact(), ("unsupported_feature", "session.compact")),
        (compact(delivery="steer"), ("unsupported_feature", "session.compact")),
    ],
)
def test_the_first_gate_that_refuses_is_named(request_: Envelope[Any], expected: tuple[str, str]) -> None:
    """Unadvertised before degraded, the lexically lower key among equals, and an empty control counts."""
    assert refusal(request_) == expected


@pytest.mark.req("OAP-016")
def test_a_degraded_feature_is_admitted_with_the_opt_in() -> None:
    """By its name, and not by another's."""
    verify_submit(submit(instructions="x", allow_degraded_features=("run.instructions",)), DESCRIPTOR)
    other = submit(instructions="x", allow_degraded_features=("run.model_selection",))
    assert refusal(other) == ("capability_degraded", "run.instructions")


def test_a_switch_that_is_off_elects_nothing() -> None:
    """`subscribe: false` is the default, said aloud."""
    verify_open(open_(subscribe=False, metadata={}), DESCRIPTOR)


@pytest.mark.req("OAP-018")
def test_a_stale_pin_is_refused_before_anything_it_elects() -> None:
    """The caller reads an old list."""
    request = submit(tool_choice=None)
    pinned = Envelope(type=request.type, id="q2", payload=request.payload, capability_revision="v0")
    with pytest.raises(Refused) as refused:
        verify_submit(pinned, DESCRIPTOR)
    assert refused.value.refusal.code == "stale_capabilities"


def levels(**features: FeatureSupport) -> Descriptor:
    named = {key.replace("_", "."): support for key, support in features.items()}
    return Descriptor("v1", CapabilitiesResponse(endpoint=Endpoint(id="agent"), features=named))


def details_of(verify: Any, *arguments: Any, **more: Any) -> tuple[str, dict[str, Any]]:
    with pytest.raises(Refused) as refused:
        verify(*arguments, **more)
    return refused.value.refusal.code, dict(refused.value.refusal.details)


@pytest.mark.req("OAP-061", "OAP-074")
def test_a_feature_that_does_not_disclose_the_open_mode_cannot_be_elected_there() -> None:
    """The key alone offers nothing an open could ask for; the member to leave out is named."""
    silent = levels(session_reasoning=FeatureSupport(level="native", modes=("session_live",)))
    assert details_of(verify_open, open_(reasoning_level="low"), silent) == (
        "unsupported_feature",
        {"feature": "session.reasoning", "reason": "unadvertised", "field": "reasoning_level"},
    )
    told = levels(session_reasoning=FeatureSupport(level="native", modes=("session_open",)))
    verify_open(open_(reasoning_level="low"), told)


@pytest.mark.req("OAP-016")
def test_what_a_first_message_allows_counts_for_the_open_that_carries_it() -> None:
    """Both lists of degraded features are the caller's."""
    message = OpenMessage(messages=SAID, delivery="auto", instructions="x")
    assert refusal(open_(message=message)) == ("capability_degraded", "run.instructions")
    verify_open(open_(message=message, allow_degraded_features=("run.instructions",)), DESCRIPTOR)
    willing = OpenMessage(
        messages=SAID, delivery="auto", instructions="x", allow_degraded_features=("run.instructions",)
    )
    verify_open(open_(message=willing), DESCRIPTOR)


@pytest.mark.req("OAP-072")
def test_a_compaction_never_steers_even_where_steering_is_offered() -> None:
    """It is no guidance into a run."""
    offered = levels(
        session_compact=FeatureSupport(level="native"),
        session_message_delivery_steer=FeatureSupport(level="native"),
    )
    feature = {"feature": "session.message.delivery.steer", "reason": "unsatisfiable"}
    assert details_of(verify_compact, compact(delivery="steer"), offered) == ("unsupported_feature", feature)


@pytest.mark.req("OAP-016", "OAP-018")
def test_a_feature_of_a_requests_own_is_gated_like_any_other() -> None:
    """Unadvertised, degraded without the opt-in, stale; then it passes."""
    payload = ModelSwitchRequest(session_id="s1", model_id="m")
    plain: Any = Envelope(type="session.model.switch.request", id="q1", payload=payload)
    key = "session.model.switch"
    assert details_of(verify_feature, plain, DESCRIPTOR, key)[1] == {"feature": key, "reason": "unadvertised"}
    degraded = levels(session_model_switch=FeatureSupport(level="degraded", reason="at the next run"))
    assert details_of(verify_feature, plain, degraded, key) == ("capability_degraded", {"feature": key})
    pinned: Any = Envelope(type=plain.type, id="q1", payload=payload, capability_revision="v0")
    assert details_of(verify_feature, pinned, degraded, key)[0] == "stale_capabilities"
    willing = ModelSwitchRequest(session_id="s1", model_id="m", allow_degraded_features=(key,))
    verify_feature(Envelope(type=plain.type, id="q1", payload=willing), degraded, key)
