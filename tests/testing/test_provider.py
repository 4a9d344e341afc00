"""The scripted model: it plays its script in the profile's shapes, and says when the script has ended."""

from __future__ import annotations

import pytest

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.inference import InferenceCancelRequest, InferenceCreateRequest
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.provider.machine import Inference, Phase, observe
from sayso.testing.provider import Call, Fails, Hangs, RefusesCreate, Say, ScriptedProvider, Stops, Think, Turn

pytestmark = pytest.mark.anyio
REQUEST = ProviderEnvelope(
    type="inference.create.request",
    id="q1",
    payload=InferenceCreateRequest(model_ref="m", messages=(Message(role="user", content="go"),)),
)


async def heard(provider: ScriptedProvider) -> Inference:
    state = Inference(request_id="q1")
    async for envelope in provider.create(REQUEST):
        state = observe(state, envelope)
    return state


@pytest.mark.parametrize(
    ("turn", "phase"),
    [
        ([Think("hm", "carry"), Say("a", "b"), Call("look", {"x": 1})], Phase.COMPLETED),
        ([Stops("length")], Phase.COMPLETED),
        ([Say("half"), Fails("rate_limited")], Phase.FAILED),
        ([RefusesCreate("model_not_found")], Phase.REFUSED),
        (lambda request: [Say(str(len(request.messages)))], Phase.COMPLETED),
    ],
)
async def test_every_step_is_legal_on_the_wire(turn: Turn, phase: Phase) -> None:
    """The machine of an inference judges the script too."""
    provider = ScriptedProvider([turn])
    assert (await heard(provider)).phase is phase
    assert provider.requests == [REQUEST.payload]


async def test_beyond_its_script_it_refuses() -> None:
    """A test that asks once too often hears of it."""
    assert (await heard(ScriptedProvider([]))).phase is Phase.REFUSED


async def test_only_a_live_inference_can_be_cancelled() -> None:
    """And one that hangs settles as aborted."""
    provider = ScriptedProvider([[Hangs()]])
    state, stopped = Inference(request_id="q1"), []
    stream = provider.create(REQUEST)
    envelope: ProviderEnvelope[Wire]
    async for envelope in stream:
        state = observe(state, envelope)
        if envelope.type == "inference.started":
            for name in ("other", str(envelope.inference_id)):
                request = ProviderEnvelope(
                    type="inference.cancel.request", id="c1", inference_id=name, payload=InferenceCancelRequest()
                )
                stopped.append((await provider.cancel(request)).payload.accepted)
    assert (stopped, state.phase) == ([False, True], Phase.COMPLETED)
