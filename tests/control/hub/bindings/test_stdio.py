"""The hub over real pipes: what is answered under its id, what ends the connection, and how it ends."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.hub.bindings.stdio import Bounds, StdioEnd, StdioEnding
from sayso.control.hub.bindings.stdio_lines import read_request
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.protocol.envelope import Envelope
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Misuse, Refused
from sayso.testing.adapter import Event, ScriptedAdapter
from sayso.testing.provider import Call, Hangs, Say, Turn
from sayso.testing.tools import asking
from tests.control.conftest import Trace
from tests.control.houses import NOON, House, open_house
from tests.control.hub.bindings.stdio_host import USUAL, Host, code, host_of
from tests.control.hub.test_tool_sources import Attaching, opening, registry_of
from tests.control.protocol.talk import complete, event, say, start
from tests.control.wire import cancels, grants, opens, request, submits, wire

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def door(trace: Trace, turns: list[Turn], **more: Any) -> AsyncIterator[tuple[House, Host]]:
    bounds = more.pop("bounds", Bounds())
    acts = {"book": asking("limits")}
    async with open_house(turns, acts, record=trace.record, **more) as house, host_of(house.hub, bounds) as host:
        yield house, host


@asynccontextmanager
async def scripted(*script: Sequence[Event], bounds: Bounds = USUAL, **how: Any) -> AsyncIterator[tuple[Any, Host]]:
    adapter = ScriptedAdapter(*script)
    hub = Hub(Registry({"peer": adapter}), clock=ManualClock(NOON), ids=CountingIds(), patience=0.2, **how)
    async with hub, host_of(hub, bounds) as host:
        yield adapter, host


def long(sequence: int, length: int) -> Envelope[Any]:
    """A piece of content of this many characters."""
    part = {"type": "text", "text": "x" * length}
    return event(sequence, "content.delta", part=part)


@pytest.mark.req("OAP-118", "OAP-119", "OAP-120")
async def test_a_run_is_driven_from_listing_to_close(trace: Trace, agent_schema: Any) -> None:
    """Every op answers what its HTTP route answers; the acknowledgement of `events` comes before the first event."""
    async with door(trace, [[Call("book", {}, "c1")], [Say("done")]]) as (house, host):
        listed = await host.ask("adapters")
        assert [each["name"] for each in listed["result"]["adapters"]] == ["sayso"]
        capabilities = await host.ask("capabilities", adapter="sayso")
        opened = await host.ask("open", opens("s1"), adapter="sayso")
        assert [each["session_id"] for each in (await host.ask("sessions"))["result"]["sessions"]] == sorted(
            ["s1", house.session_id]
        )
        tools = await host.ask("tools", session_id="s1")
        host.send({"id": 100, "op": "events", "session_id": "s1"})
        assert await host.read() == {"id": 100, "ok": True, "result": None}
        admitted = await host.ask("submit", submits("s1"), session_id="s1")
        seen = await host.events(100, until="action.permission.requested")
        asked = seen[-1]["envelope"]
        resolved = await host.ask("resolve", grants(asked), session_id="s1")
        seen += await host.events(100, until="run.completed")
        state = await host.ask("state", session_id="s1")
        assert await host.ask("close", session_id="s1") == {"id": host._next, "ok": True, "result": None}
        history = await host.ask("history")
        assert (await host.finish()) == StdioEnd(StdioEnding.CLEAN)
    for answer in (capabilities, opened, tools, admitted, resolved, state):
        assert agent_schema.is_valid(answer["result"]), answer
    assert [line["sequence"] for line in seen] == list(range(1, len(seen) + 1))
    assert all(line["envelope"]["sequence"] == line["sequence"] for line in seen)
    assert all(line["session_id"] == "s1" for line in seen)
    assert state["result"]["in_reply_to"].startswith("oap-request-")
    assert {each["session_id"]: each["state"] for each in history["result"]["sessions"]}["s1"] == "closed"


@pytest.mark.req("OAP-117")
async def test_a_wrong_request_is_answered_with_the_code_of_http(trace: Trace) -> None:
    """And the connection goes on."""
    async with door(trace, []) as (house, host):
        known = {"session_id": house.session_id}
        assert code(await host.ask("frobnicate")) == "unknown_op"
        assert code(await host.ask("adapters", adapter="sayso")) == "invalid_request"
        assert code(await host.ask("capabilities", adapter="none")) == "unknown_adapter"
        assert code(await host.ask("state", session_id="none")) == "unknown_session"
        assert code(await host.ask("submit", session_id="none", request={})) == "schema_invalid"
        assert code(await host.ask("submit", submits("none"), session_id="none")) == "unknown_session"
        assert code(await host.ask("submit", submits("other"), **known)) == "scope_mismatch"
        assert code(await host.ask("cancel", submits(house.session_id), **known)) == "type_mismatch"
        assert code(await host.ask("submit", session_id="x", request=[1])) == "schema_invalid"
        cancel = cancels(house.session_id, "none")
        assert code(await host.ask("cancel", cancel, **known)) == "run_not_found"
        assert code(await host.ask("events", after=-1, **known)) == "invalid_cursor"
        assert code(await host.ask("events", after=1.5, **known)) == "invalid_cursor"
        assert code(await host.ask("events", run_id="r", **known)) == "invalid_cursor"
        assert code(await host.ask("events", after=1, **known)) == "no_run_to_resume"
        assert code(await host.ask("events", after=1, run_id="none", **known)) == "run_not_found"
        assert code(await host.ask("events", session_id="none")) == "unknown_session"
        assert code(await host.ask("history", limit=0)) == "invalid_request"
        assert code(await host.ask("history", cursor="x")) == "invalid_cursor"
        assert (await host.ask("sessions"))["ok"]
        assert await host.finish() == StdioEnd(StdioEnding.CLEAN)


@pytest.mark.req("OAP-062", "OAP-115")
async def test_a_command_that_comes_over_the_pipe_is_refused() -> None:
    """A pipe is a wire as well as a socket is."""
    adapter = Attaching()
    hub = Hub(registry_of(adapter), clock=ManualClock(NOON), ids=CountingIds())
    async with hub, host_of(hub) as host:
        attachment = {"id": "fs", "kind": "process", "command": "/bin/sh"}
        refused = await host.ask("open", opening(attachment), adapter="a")
        assert (code(refused), refused["error"]["details"]["field"]) == ("unsupported_feature", "command")
        assert adapter.got == []
        assert (await host.ask("open", opening({"id": "fs", "kind": "process"}), adapter="a"))["ok"]


@pytest.mark.req("OAP-116", "OAP-125")
@pytest.mark.parametrize(
    "line", [b"", b"[1]", b'{"id":1.5,"op":"adapters"}', b'{"id":1,"op":"adapters","Adapter":1}', b"\xff"]
)
async def test_a_malformed_line_ends_the_connection_and_names_its_number(line: bytes) -> None:
    """What was sent before it is answered, nothing after it is."""
    async with scripted() as (_, host):
        host.send({"id": 1, "op": "adapters"})
        host.send(line)
        host.send({"id": 2, "op": "adapters"})
        assert (await host.answer(1))["ok"]
        assert await host.read() is None
        end = await host.finish()
    assert end.ending is StdioEnding.MALFORMED
    assert end.message.startswith("line 2: ")


@pytest.mark.req("OAP-116", "OAP-124")
async def test_the_frame_limit_bounds_the_payload_and_not_its_line_end() -> None:
    """Exactly the limit is served; one byte more, and a last line without its end, are malformed."""
    bounds = Bounds(frame=300)
    body = b'{"id":1,"op":"state","session_id":"%b"}'
    exact = body % (b"x" * (300 - len(body) + 2))
    async with scripted(bounds=bounds) as (_, host):
        host.send(exact)
        assert code(await host.answer(1)) == "unknown_session"
        host.send(exact + b" ")
        end = await host.finish()
        assert (end.ending, "301 bytes" in end.message) == (StdioEnding.MALFORMED, True)
    async with scripted(bounds=bounds) as (_, host):
        host.raw(b'{"id":1,"op":"adapters"}')
        assert (await host.finish()).ending is StdioEnding.MALFORMED
    with pytest.raises(Misuse):
        Bounds(frame=255)


@pytest.mark.req("OAP-123")
async def test_a_submit_before_its_open_is_answered_is_not_queued() -> None:
    """It is `unknown_session`: whoever wants an order waits for the answer."""
    async with scripted([start(), complete(2)]) as (adapter, host):
        gate = anyio.Event()
        open_adapter = adapter.open

        async def open_slowly(*how: Any) -> Any:
            session = await open_adapter(*how)
            state = session.state

            async def slow() -> Any:
                await gate.wait()
                return await state()

            session.state = slow
            return session

        adapter.open = open_slowly
        opening_line = {"id": 1, "op": "open", "adapter": "peer", "request": wire(opens("s1"))}
        host.send(opening_line)
        host.send({"id": 2, "op": "submit", "session_id": "s1", "request": wire(submits("s1"))})
        assert code(await host.answer(2)) == "unknown_session"
        gate.set()
        assert (await host.answer(1))["ok"]


@asynccontextmanager
async def memory() -> AsyncIterator[Host]:
    ids, clock = CountingIds(), ManualClock(NOON)
    hub = Hub(Registry({"memory": MemoryAdapter(clock=clock, ids=ids)}), clock=clock, ids=ids)
    async with hub, host_of(hub) as host:
        yield host


@pytest.mark.req("OAP-118", "OAP-121", "OAP-070")
async def test_models_are_listed_and_switched(agent_schema: Any) -> None:
    """The thirteenth and fourteenth op are `history` and `settings`."""
    async with memory() as host:
        await host.ask("open", opens("s1"), adapter="memory")
        models = await host.ask("models", session_id="s1")
        assert agent_schema.is_valid(models["result"])
        assert [each["id"] for each in models["result"]["payload"]["models"]] == ["memory-small", "memory-large"]
        switch = request("session.model.switch.request", {"session_id": "s1", "model_id": "memory-large"})
        assert (await host.ask("settings", switch, session_id="s1"))["ok"]
        state = await host.ask("state", session_id="s1")
        assert state["result"]["payload"]["current_model_id"] == "memory-large"
        assert code(await host.ask("settings", submits("s1"), session_id="s1")) == "type_mismatch"
        assert code(await host.ask("models", session_id="none", allow_degraded_features=["x"])) == "unknown_session"


@pytest.mark.req("OAP-091", "OAP-124")
async def test_an_open_that_subscribes_streams_behind_its_answer_under_its_own_id() -> None:
    """With a message: the run's first event is not missed, and comes after the answer."""
    async with memory() as host:
        message = {"messages": [{"role": "user", "content": "go"}], "delivery": "auto"}
        opening_line = {
            "id": 5,
            "op": "open",
            "adapter": "memory",
            "request": wire(opens("s1", subscribe=True, message=message)),
        }
        host.send(opening_line)
        first = await host.read()
        assert first is not None
        assert (first["id"], first["ok"]) == (5, True)
        assert first["result"]["payload"]["active_runs"][0]["admitted_submit_requests"]
        events = await host.events(5, until="action.permission.requested")
        assert [line["sequence"] for line in events] == list(range(1, len(events) + 1))


@pytest.mark.req("OAP-072")
async def test_a_compaction_is_admitted_as_a_run() -> None:
    """By the op that takes messages."""
    async with memory() as host:
        await host.ask("open", opens("s1"), adapter="memory")
        host.send({"id": 100, "op": "events", "session_id": "s1"})
        admitted = await host.ask("submit", request("session.compact.request", {"session_id": "s1"}), session_id="s1")
        assert admitted["result"]["type"] == "session.compact.response"
        events = await host.events(100, until="run.completed")
        assert "run.compaction.ended" in [line["envelope"]["type"] for line in events]


@asynccontextmanager
async def stuck(bounds: Bounds = USUAL) -> AsyncIterator[tuple[Host, anyio.Event]]:
    """A hub whose one adapter does not answer a probe until told."""
    async with scripted(bounds=bounds) as (adapter, host):
        gate, probe = anyio.Event(), adapter.probe

        async def slow() -> Any:
            await gate.wait()
            return await probe()

        adapter.probe = slow
        try:
            yield host, gate
        finally:
            gate.set()


@pytest.mark.req("OAP-124")
async def test_past_sixteen_requests_the_answer_is_busy_whatever_the_op() -> None:
    """It is decided before the op is read, says what to do, and the same request is served later."""
    async with stuck() as (host, gate):
        for number in range(16):
            host.send({"id": number, "op": "capabilities", "adapter": "peer"})
        for number, op in ((100, "adapters"), (101, "frobnicate"), (102, "events")):
            host.send({"id": number, "op": op})
            refused = await host.answer(number)
            assert code(refused) == "busy"
            assert refused["error"]["message"].endswith("send this request again")
        gate.set()
        for number in range(16):
            assert (await host.answer(number))["ok"]
        assert (await host.ask("sessions"))["ok"]


@pytest.mark.req("OAP-124")
async def test_the_bytes_of_requests_in_flight_are_bounded_and_one_oversize_is_let_in() -> None:
    """To be told that it is too large, by its own code."""
    async with stuck(Bounds(request_bytes=1000)) as (host, gate):
        host.send({"id": 1, "op": "capabilities", "adapter": "peer"})
        host.send({"id": 2, "op": "state", "session_id": "x" * 1000})
        assert code(await host.answer(2)) == "busy"
        gate.set()
        await host.answer(1)
        host.send({"id": 3, "op": "state", "session_id": "x" * 1000})
        assert code(await host.answer(3)) == "unknown_session"


@pytest.mark.req("OAP-124")
async def test_a_request_envelope_over_its_cap_is_refused_by_its_own_code() -> None:
    """The frame has room for the wrapper beside it, so the line is no fault of framing."""
    async with scripted() as (_, host):
        line = json.dumps({"id": 1, "op": "submit", "session_id": "s", "request": {"a": "x" * (16 * 1024 * 1024)}})
        await anyio.to_thread.run_sync(send_all, host._to_hub, line.encode() + b"\n")
        assert code(await host.answer(1)) == "request_too_large"
        assert (await host.ask("adapters"))["ok"]


def send_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@pytest.mark.req("OAP-124")
async def test_a_saturated_bound_hides_no_malformed_line_behind_it() -> None:
    """Every line is read, whether or not it can be served."""
    async with stuck(Bounds(ops=1)) as (host, gate):
        host.send({"id": 1, "op": "capabilities", "adapter": "peer"})
        host.send(b"nonsense")
        gate.set()
        end = await host.finish()
    assert (end.ending, end.message.startswith("line 2: ")) == (StdioEnding.MALFORMED, True)


@pytest.mark.req("OAP-124")
async def test_subscriptions_have_a_bound_of_their_own() -> None:
    """They are not ops that finish, so they take no op's place; one more than 64 is `busy`."""
    async with scripted() as (_, host):
        await host.ask("open", opens("s1"), adapter="peer")
        for number in range(64):
            host.send({"id": 1000 + number, "op": "events", "session_id": "s1"})
            assert (await host.answer(1000 + number))["ok"]
        assert code(await host.ask("events", session_id="s1")) == "busy"
        assert (await host.ask("state", session_id="s1"))["ok"]
        assert (await host.ask("close", session_id="s1"))["ok"]
        for number in range(64):
            assert (await host.events(1000 + number, until="oap-session-closed"))[0]["session_id"] == "s1"


@pytest.mark.req("OAP-122")
async def test_overlapping_subscriptions_are_told_apart_by_their_id(trace: Trace) -> None:
    """One begins before the run, one joins it, one replays it; each line is under its request's id."""
    async with door(trace, [[Call("book", {}, "c1")], [Say("done")]]) as (house, host):
        known = {"session_id": house.session_id}
        host.send({"id": 100, "op": "events", **known})
        admitted = await host.ask("submit", submits(house.session_id), **known)
        run_id = admitted["result"]["run_id"]
        live = await host.events(100, until="action.permission.requested")
        host.send({"id": 101, "op": "events", **known})
        joined = await host.events(101, until="oap-subscribed")
        behind = joined[0]["joined_after"]
        assert behind >= live[-1]["sequence"]
        assert joined == [{"event": "oap-subscribed", "id": 101, **known, "run_id": run_id, "joined_after": behind}]
        host.send({"id": 102, "op": "events", "after": 1, "run_id": run_id, **known})
        await host.ask("resolve", grants(live[-1]["envelope"]), **known)
        live += await host.events(100, until="run.completed")
        late = await host.events(101, until="run.completed")
        again = await host.events(102, until="run.completed")
    assert [line["envelope"] for line in again] == [line["envelope"] for line in live[1:]]
    assert [line["envelope"] for line in late] == [line["envelope"] for line in live[behind:]]


@pytest.mark.req("OAP-122")
async def test_a_gap_is_acknowledged_and_then_told() -> None:
    """With what was asked for, and the window that is kept."""
    run: list[Event] = [start(), *[say(n) for n in range(2, 30)], complete(30)]
    async with scripted([each for event in run for each in (event, _yield)], capacity=5) as (_, host):
        await host.ask("open", opens("s1"), adapter="peer")
        host.send({"id": 9, "op": "events", "session_id": "s1"})
        await host.ask("submit", submits("s1"), session_id="s1")
        await host.events(9, until="run.completed")
        host.send({"id": 10, "op": "events", "session_id": "s1", "run_id": "r1", "after": 3})
        assert (await host.answer(10))["ok"]
        assert (await host.events(10, until="oap-replay-gap"))[0] == {
            "event": "oap-replay-gap", "id": 10, "session_id": "s1", "requested_after": 3, "oldest_available": 26,
            "latest_available": 30,
        }  # fmt: skip


@pytest.mark.req("OAP-122")
async def test_an_envelope_that_does_not_fit_is_told_by_its_position() -> None:
    """A fresh cursor resumes behind it."""
    big = long(3, 3000)
    run: list[Event] = [start(), say(2), big, complete(4)]
    async with scripted(run, bounds=Bounds(frame=2000)) as (_, host):
        await host.ask("open", opens("s1"), adapter="peer")
        host.send({"id": 9, "op": "events", "session_id": "s1"})
        await host.ask("submit", submits("s1"), session_id="s1")
        last = (await host.events(9, until="oap-frame-limit"))[-1]
        assert (last["run_id"], last["sequence"]) == ("r1", 3)
        host.send({"id": 10, "op": "events", "session_id": "s1", "run_id": "r1", "after": last["sequence"]})
        assert [line["sequence"] for line in await host.events(10, until="run.completed")] == [4]


@pytest.mark.req("OAP-122", "OAP-092")
async def test_a_host_that_does_not_read_loses_its_subscription_and_not_the_run() -> None:
    """It is told the last event it was given, and goes on from there."""
    run: list[Event] = [start()]
    for number in range(2, 1002):
        run.append(long(number, 2000))
        if number % 5 == 0:
            run.append(_yield)
    run.append(complete(1002))
    async with scripted(run, bounds=Bounds(queued_lines=2)) as (_, host):
        await host.ask("open", opens("s1"), adapter="peer")
        host.send({"id": 9, "op": "events", "session_id": "s1"})
        assert (await host.answer(9))["ok"]
        host.send({"id": 10, "op": "submit", "session_id": "s1", "request": wire(submits("s1"))})
        seen = await host.events(9, until="oap-overflow")
        last = seen[-1]["last_sequence"]
        assert [line["sequence"] for line in seen[:-1]] == list(range(1, last + 1))
        after = last
        while after < 1002:
            request_id = 100 + after
            host.send({"id": request_id, "op": "events", "session_id": "s1", "run_id": "r1", "after": after})
            await host.answer(request_id)
            while True:
                line = await host.read()
                assert line is not None
                if line.get("id") != request_id:
                    continue
                if line["event"] == "oap-overflow":
                    break
                after += 1
                assert line["sequence"] == after
                if line["envelope"]["type"] == "run.completed":
                    break
    assert after == 1002


async def _yield() -> None:
    await anyio.sleep(0)


@pytest.mark.req("OAP-125")
async def test_what_was_admitted_is_answered_after_the_host_hung_up() -> None:
    """The end waits for it, within its time."""
    async with stuck() as (host, gate):
        host.send({"id": 1, "op": "capabilities", "adapter": "peer"})
        host.hang_up()
        await anyio.wait_all_tasks_blocked()
        gate.set()
        assert (await host.answer(1))["ok"]
        assert await host.finish() == StdioEnd(StdioEnding.CLEAN)


@pytest.mark.req("OAP-125")
async def test_a_request_that_is_never_answered_stalls_the_end_and_only_for_its_time() -> None:
    """The stage is over and the connection says so."""
    async with stuck(Bounds(stage=0.05)) as (host, _):
        host.send({"id": 1, "op": "capabilities", "adapter": "peer"})
        assert (await host.finish()).ending is StdioEnding.STALLED


@pytest.mark.req("OAP-125")
async def test_output_that_nobody_takes_is_an_ending_of_its_own() -> None:
    """The host closed its end, or stopped reading with the pipe full."""
    async with scripted() as (_, host):
        host.stop_reading()
        host.send({"id": 1, "op": "adapters"})
        with anyio.fail_after(20):
            await host.ended.wait()
        assert host.end is not None
        assert host.end.ending is StdioEnding.OUTPUT_LOST
    async with scripted(bounds=Bounds(stage=0.05)) as (_, host):
        for number in range(2000):
            host.send({"id": number, "op": "adapters"})
            await anyio.sleep(0)
        assert (await host.finish()).ending is not StdioEnding.CLEAN


@pytest.mark.req("OAP-125")
async def test_a_stop_with_requests_unread_says_that_they_were_dropped() -> None:
    """They were never served and may be sent again."""
    async with stuck(Bounds(ops=1, queued_lines=1, stage=0.05)) as (host, gate):
        host.send({"id": 1, "op": "capabilities", "adapter": "peer"})
        await anyio.to_thread.run_sync(send_all, host._to_hub, b'{"id":2,"op":"adapters"}\n' * 20_000)
        host.stop.set()
        gate.set()
        with anyio.fail_after(20):
            await host.ended.wait()
        assert host.end is not None
        assert host.end.ending is StdioEnding.DROPPED


@pytest.mark.req("OAP-125")
async def test_a_stop_with_nothing_to_do_is_clean() -> None:
    """As a hang-up is."""
    async with scripted() as (_, host):
        assert (await host.ask("sessions"))["ok"]
        host.stop.set()
        with anyio.fail_after(20):
            await host.ended.wait()
        assert host.end == StdioEnd(StdioEnding.CLEAN)


@pytest.mark.req("OAP-125")
async def test_a_live_subscription_does_not_stall_the_end(trace: Trace) -> None:
    """Its run is swept afterwards with its session."""
    async with door(trace, [[Hangs()]]) as (house, host):
        host.send({"id": 100, "op": "events", "session_id": house.session_id})
        await host.ask("submit", submits(house.session_id), session_id=house.session_id)
        await host.events(100, until="run.started")
        assert await host.finish() == StdioEnd(StdioEnding.CLEAN)


LINES = st.lists(
    st.binary(max_size=60).filter(lambda line: b"\n" not in line)
    | st.fixed_dictionaries(
        {"id": st.integers(-(2**63), 2**63 - 1), "op": st.sampled_from(["adapters", "state", "events", "open", "x"])},
        optional={
            "session_id": st.sampled_from(["s1", "none", None]),
            "adapter": st.sampled_from(["peer", "", None]),
            "after": st.integers(-1, 3) | st.none(),
            "request": st.none() | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
        },
    ).map(lambda line: json.dumps(line).encode()),
    max_size=12,
)


@pytest.mark.req("OAP-116", "OAP-117", "OAP-007")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, st.binary(max_size=20))
async def test_whatever_a_host_sends_each_readable_request_is_answered_once(lines: list[bytes], rest: bytes) -> None:
    """Hostile bytes end in one ending with one bounded line, and never hang."""
    expected: list[int] = []
    is_fatal = bool(rest.rpartition(b"\n")[2])
    for line in (*lines, *rest.split(b"\n")[:-1]):
        try:
            expected.append(read_request(line)[0].id)
        except Refused:
            is_fatal = True
            break
    async with scripted() as (_, host):
        host.raw(b"".join(line + b"\n" for line in lines) + rest)
        host.hang_up()
        answered = []
        while (answer := await host.read()) is not None:
            if "ok" in answer:
                answered.append(answer["id"])
        end = await host.finish()
    assert sorted(answered) == sorted(expected)
    assert end.ending is (StdioEnding.MALFORMED if is_fatal else StdioEnding.CLEAN)
    assert len(end.message) < 400
