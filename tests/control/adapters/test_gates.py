"""One refusal for a request that elects too much, and the right one."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.control.adapters.contract import Descriptor
from sayso.control.adapters.gates import verify_open, verify_submit
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse, Endpoint, FeatureSupport
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.session import MessageSubmitRequest, OpenMessage, SessionOpenRequest
from sayso.core.refusal import Refused

SAID = (Message(role="user", content="go"),)
LEVELS: dict[str, Any] = {
    "session.message.delivery.auto": FeatureSupport(level="native"),
    "run.instructions": FeatureSupport(level="degraded", reason="prepended to the message"),
    "run.model_selection": FeatureSupport(level="degraded", reason="at the next run"),
}
DESCRIPTOR = Descriptor("v1", CapabilitiesResponse(endpoint=Endpoint(id="agent"), features=LEVELS))


def submit(**members: Any) -> Envelope[MessageSubmitRequest]:
    payload = MessageSubmitRequest(session_id="s1", messages=SAID, delivery="auto", **members)
    return Envelope(type="session.message.submit.request", id="q1", payload=payload, session_id="s1")


def open_(**members: Any) -> Envelope[SessionOpenRequest]:
    return Envelope(type="session.open.request", id="q1", payload=SessionOpenRequest(**members))


def refusal(request: Envelope[Any]) -> tuple[str, str | None]:
    verify = verify_open if isinstance(request.payload, SessionOpenRequest) else verify_submit
    with pytest.raises(Refused) as refused:
        verify(request, DESCRIPTOR)
    return refused.value.refusal.code, refused.value.refusal.details.get("feature")


@pytest.mark.req("OAP-016")
@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (submit(tool_choice=None), ("unsupported_feature", "run.tool_choice")),
        (submit(output_schema={}, tool_choice="x"), ("unsupported_feature", "run.structured_output")),
        (submit(instructions=""), ("capability_degraded", "run.instructions")),
        (submit(model_id="m", instructions="x"), ("capability_degraded", "run.instructions")),
        (submit(instructions="x", output_schema={}), ("unsupported_feature", "run.structured_output")),
        (open_(tool_sources=()), ("unsupported_feature", "action.tool_sources.attach")),
        (open_(subscribe=True), ("unsupported_feature", "session.open.subscribe")),
        (open_(reopen=True, session_id="s1"), ("unsupported_feature", "session.open.reopen")),
        (open_(message=OpenMessage(messages=SAID, delivery="auto")), ("unsupported_feature", "session.open.message")),
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
