"""Runs at work: real tasks, a scripted model and scripted tools; every trace is judged at its end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import anyio
import pytest

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.local import LocalClient
from sayso.control.client.run import Answered
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.loop.contract import ToolAnswer, ToolCall, ToolDone, ToolOutcome
from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.action import ActionCallFailed
from sayso.control.protocol.payloads.content import Message, ToolResultPart, Usage
from sayso.control.protocol.payloads.inference import (
    InferenceCancelRequest,
    InferenceCancelResponse,
    InferenceCreateRequest,
)
from sayso.control.protocol.payloads.run import RunCancelled
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.provider.writer import InferenceWriter, write_cancel_response
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refusal, Refused
from sayso.testing.provider import Call, Fails, Hangs, RefusesCreate, Say, Stops, Think, Vanishes
from sayso.testing.tools import asking, read_only
from tests.control.conftest import Trace
from tests.control.houses import NOON, House, open_house

pytestmark = pytest.mark.anyio


async def done(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
    return ToolDone({"did": call.name})


@pytest.mark.req("OAP-003", "OAP-013")
async def test_a_run_streams_calls_and_completes(trace: Trace) -> None:
    """Text, reasoning, a read-only call, a call that asks, and the answer."""
    turns = [[Think("hm"), Say("let ", "me"), Call("look"), Call("book")], [Say("done")]]
    acts = {"look": done, "book": asking("limits", "offer")}
    async with open_house(turns, acts, specs=[read_only("look")], record=trace.record) as house:
        outcome, types = await house.run("go", lambda number: Answered(True, f"signed {number}"))
    assert (outcome.response, outcome.tool_calls) == (
        Message(role="assistant", content=outcome.response.content, id=f"{outcome.run_id}.m2"),  # type: ignore[union-attr]
        2,
    )
    assert types == [
        "run.started", "content.delta", "content.delta", "content.delta",
        "action.call.requested", "action.call.started", "action.call.completed",
        "action.call.requested", "action.permission.requested", "run.status.updated", "action.permission.resolved",
        "run.status.updated", "action.call.started", "action.permission.requested", "run.status.updated",
        "action.permission.resolved", "run.status.updated", "action.call.completed", "content.delta", "run.completed",
    ]  # fmt: skip
    assert [answer.document for answer in house.tools.calls[-1][1]] == ["signed 1", "signed 2"]


@pytest.mark.req("OAP-017")
async def test_a_grant_without_a_document_reaches_the_source_as_it_is(trace: Trace) -> None:
    """The loop judges nothing: a bare grant is the source's to refuse."""
    async with open_house([[Call("book")], [Say("ok")]], {"book": asking("limits")}, record=trace.record) as house:
        await house.run("go", lambda _: Answered(True))
    assert house.tools.calls[-1][1] == (ToolAnswer(granted=True),)


@pytest.mark.req("OAP-017")
async def test_a_no_is_carried_with_its_reason(trace: Trace) -> None:
    """The tool ends its call, the model hears of it, and the run completes."""
    async with open_house([[Call("book")], [Say("sorry")]], {"book": asking("limits")}, record=trace.record) as house:
        outcome, types = await house.run("go", lambda _: Answered(False, reason="too dear"))
    assert house.tools.calls[-1][1] == (ToolAnswer(granted=False, reason="too dear"),)
    told = [name for name in types if name.startswith("action.call.")]
    assert (outcome.stop_reason, told) == ("end_turn", ["action.call.requested", "action.call.failed"])


async def test_a_request_carries_the_system_message_the_tools_and_a_sound_history(trace: Trace) -> None:
    """Two runs of one session: the second knows the first."""
    turns = [[Call("look", tool_call_id="c1")], [Say("one")], [Say("two")]]
    async with open_house(turns, {"look": done}, record=trace.record) as house:
        await house.run("first")
        await house.run("second")
    request = house.provider.requests[-1]
    roles = [message.role for message in request.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert request.messages[0].content == "now: noon"
    assert [tool.name for tool in request.tools or ()] == ["look", "request_user_input"]


@pytest.mark.parametrize(
    ("turn", "code"),
    [
        ([RefusesCreate("model_not_found")], "model_not_found"),
        ([Fails("rate_limited")], "rate_limited"),
        ([Say("half"), Fails("endpoint_error")], "endpoint_error"),
        ([Say("half"), Vanishes()], "provider_unavailable"),
        ([Say("half"), Stops("error")], "endpoint_error"),
    ],
)
@pytest.mark.req("OAP-130", "OAP-131")
async def test_a_provider_that_fails_fails_the_run_with_its_code(trace: Trace, turn: list[object], code: str) -> None:
    """Refused, failed, broken off: one typed terminal, and the session takes the next message."""
    async with open_house([turn, [Say("well again")]], record=trace.record) as house:  # type: ignore[list-item]
        outcome, types = await house.run("go")
        again, _ = await house.run("again")
    assert (outcome.error.code if outcome.error else None, types[-1]) == (code, "run.failed")
    assert again.error is None


@pytest.mark.req("OAP-132")
async def test_usage_is_told_with_the_terminal(trace: Trace) -> None:
    """As the provider counted it."""
    spent = Usage(input_tokens=7, output_tokens=3)
    async with open_house([[Say("x"), Stops("stop", spent)]], record=trace.record) as house:
        outcome, _ = await house.run("go")
    assert outcome.usage == spent


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (Refused(Refusal(code="slot_taken", message="taken", reason="late")), "slot_taken"),
        (PeerRefused("shop", Refusal(code="closed", message="closed")), "closed"),
        (PeerUnreachable("shop", "no answer"), "peer_unreachable"),
    ],
)
async def test_a_refusal_of_a_tool_is_a_result_the_model_can_read(trace: Trace, error: Exception, result: str) -> None:
    """The run goes on; the call is told as failed."""

    async def refuse(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        raise error

    async with open_house([[Call("book")], [Say("sorry")]], {"book": refuse}, record=trace.record) as house:
        outcome, _ = await house.run("go")
    told = [envelope.payload for envelope in trace.envelopes if isinstance(envelope.payload, ActionCallFailed)]
    assert (told[0].error.code, outcome.error) == ("tool_failed", None)
    part = house.provider.requests[-1].messages[-1].content[0]
    assert isinstance(part, ToolResultPart)
    assert (part.is_error, part.result["error"]) == (True, result)  # type: ignore[index]


async def test_a_tool_that_breaks_fails_its_run_and_not_the_session(trace: Trace) -> None:
    """Whatever it raised is logged by its kind, and no text of it leaves."""

    async def breaks(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        raise ZeroDivisionError("secret")

    async with open_house([[Call("book")], [Say("ok")]], {"book": breaks}, record=trace.record) as house:
        outcome, _ = await house.run("go")
        again, _ = await house.run("again")
    assert outcome.error is not None
    assert (outcome.error.code, "secret" in outcome.error.message, again.error) == ("internal", False, None)


async def cancel_at(house: House, type_: str, nth: int = 1) -> tuple[list[str], Wire]:
    """Submits, cancels when the nth event of this type is seen, and reads to the end."""
    admitted = await house.client.submit(house.session_id, "go")
    run_id, types, left = str(admitted.run_id), [], nth
    payload: Wire | None = None
    async with aclosing(house.client.events(house.session_id, run_id=run_id, after=0)) as events:
        async for envelope in events:
            types.append(envelope.type)
            payload = envelope.payload
            left -= envelope.type == type_
            if left == 0 and envelope.type == type_:
                answer = await house.client.cancel(house.session_id, run_id, reason="enough")
                assert answer.accepted
    assert payload is not None
    return types, payload


@pytest.mark.req("OAP-013", "OAP-014", "OAP-132")
async def test_a_cancel_while_the_model_works_stops_the_inference(trace: Trace) -> None:
    """The provider is asked to stop, settles as aborted, and only then the run is told cancelled."""
    async with open_house([[Say("one"), Hangs()], [Say("next")]], record=trace.record) as house:
        types, last = await cancel_at(house, "content.delta")
        assert (house.provider.cancels, types[-1]) == (1, "run.cancelled")
        assert last == RunCancelled(
            session_id=house.session_id,
            run_id=last.run_id,  # type: ignore[attr-defined]
            reason="enough",
            settled_by="observed",
        )
        outcome, _ = await house.run("next")
    assert outcome.stop_reason == "end_turn"


@pytest.mark.req("OAP-013", "OAP-014", "OAP-017")
async def test_a_cancel_while_a_person_is_asked_releases_the_hold(trace: Trace) -> None:
    """The question closes, the tool lets go, the call closes, and then the run ends."""
    acts = {"look": done, "book": asking("limits")}
    async with open_house([[Call("look"), Call("book")]], acts, record=trace.record) as house:
        types, _ = await cancel_at(house, "action.permission.requested")
        asked = [call.tool_call_id for call, _ in house.tools.calls]
    assert types[-4:] == ["run.status.updated", "action.permission.resolved", "action.call.cancelled", "run.cancelled"]
    assert house.tools.abandoned == list(reversed(asked))


@pytest.mark.req("OAP-013", "OAP-014")
async def test_a_cancel_while_a_tool_works_stops_the_tool(trace: Trace) -> None:
    """A tool that can be stopped is, and its call is told as cancelled."""

    async def waits(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    specs = [read_only("book")]
    async with open_house([[Call("book")]], {"book": waits}, specs=specs, record=trace.record) as house:
        types, _ = await cancel_at(house, "action.call.started")
        assert types[-2:] == ["action.call.cancelled", "run.cancelled"]
        assert len(house.tools.abandoned) == 1


@pytest.mark.req("OAP-013", "OAP-014")
async def test_work_a_tool_shielded_is_told_as_it_happened(trace: Trace) -> None:
    """A booking that could not be stopped is a booking."""
    begun, go_on = anyio.Event(), anyio.Event()

    async def shielded(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        with anyio.CancelScope(shield=True):
            begun.set()
            await go_on.wait()
        return ToolDone("booked")

    async with open_house([[Call("book")]], {"book": shielded}, record=trace.record) as house:
        admitted = await house.client.submit(house.session_id, "go")
        await begun.wait()
        await house.client.cancel(house.session_id, str(admitted.run_id))
        go_on.set()
        events = house.client.events(house.session_id, run_id=str(admitted.run_id), after=0)
        types = [envelope.type async for envelope in events]
    assert types[-3:] == ["action.call.started", "action.call.completed", "run.cancelled"]


class Stubborn:
    """A provider that accepts every cancel and then does as it likes; `breaks` makes it raise instead."""

    id = "stubborn"

    def __init__(self, *, breaks: bool) -> None:
        self.breaks = breaks
        self.was_closed = False
        self._ids = CountingIds()

    async def create(self, request: ProviderEnvelope[InferenceCreateRequest]) -> AsyncIterator[ProviderEnvelope[Wire]]:
        writer = InferenceWriter(request, self._ids)
        yield writer.accept()
        yield writer.start()
        try:
            if self.breaks:
                raise ZeroDivisionError("secret")
            await anyio.sleep_forever()
        finally:
            self.was_closed = True

    async def cancel(
        self, request: ProviderEnvelope[InferenceCancelRequest]
    ) -> ProviderEnvelope[InferenceCancelResponse]:
        return write_cancel_response(request, accepted=False, ids=self._ids)


async def over(provider: Stubborn, trace: Trace, *, cancel: bool) -> list[str]:
    ids, clock = CountingIds(), ManualClock(NOON)
    registry = Registry({"sayso": OwnLoop(provider, clock=clock, ids=ids, model_ref="m")})
    async with Hub(registry, clock=clock, ids=ids, record=trace.record) as hub:
        client = LocalClient(hub, ids=ids)
        opened = await client.open("sayso")
        admitted = await client.submit(opened.session_id, "go")
        if cancel:
            await client.cancel(opened.session_id, str(admitted.run_id))
        events = client.events(opened.session_id, run_id=str(admitted.run_id), after=0)
        return [envelope.type async for envelope in events]


@pytest.mark.req("OAP-014")
async def test_a_provider_that_will_not_stop_is_closed(trace: Trace) -> None:
    """Its stream is closed on it, and the run ends all the same."""
    provider = Stubborn(breaks=False)
    assert (await over(provider, trace, cancel=True))[-1] == "run.cancelled"
    assert provider.was_closed


async def test_a_provider_that_breaks_fails_the_run_as_a_violation(trace: Trace) -> None:
    """And none of what it raised leaves."""
    assert await over(Stubborn(breaks=True), trace, cancel=False) == ["run.started", "run.failed"]
    assert "secret" not in str(trace.envelopes)
