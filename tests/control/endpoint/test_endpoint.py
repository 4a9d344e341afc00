"""An endpoint over real pipes: every request answered once, events unasked, replay, and how it ends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.endpoint.endpoint import EndpointBounds
from sayso.control.endpoint.lines import EnvelopeLine, read_line
from sayso.control.hub.bindings.stdio import StdioEnd, StdioEnding
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Refused
from sayso.testing.adapter import Event, ScriptedAdapter
from tests.control.conftest import Trace
from tests.control.endpoint.host import USUAL, Host, Line, host_of
from tests.control.houses import NOON
from tests.control.protocol.talk import complete, event, say, start
from tests.control.wire import cancels, grants, opens, request, submits, wire

pytestmark = pytest.mark.anyio
PROFILE = "open-agent-protocol.agent-control-core"


@asynccontextmanager
async def memory(trace: Trace | None = None, bounds: EndpointBounds = USUAL, **how: Any) -> AsyncIterator[Host]:
    ids, clock = CountingIds(), ManualClock(NOON)
    registry = Registry({"memory": MemoryAdapter(clock=clock, ids=ids)})
    record = {} if trace is None else {"record": trace.record}
    async with Hub(registry, clock=clock, ids=ids, **record, **how) as hub, host_of(hub, "memory", bounds) as host:
        yield host


@asynccontextmanager
async def scripted(*script: Sequence[Event], bounds: EndpointBounds = USUAL, **how: Any) -> AsyncIterator[Any]:
    adapter = ScriptedAdapter(*script)
    registry = Registry({"peer": adapter})
    hub = Hub(registry, clock=ManualClock(NOON), ids=CountingIds(), patience=0.2, **how)
    async with hub, host_of(hub, "peer", bounds) as host:
        yield adapter, host


def code(answer: Line) -> str:
    assert answer["type"] == "error.response"
    return str(answer["payload"]["error"]["code"])


async def run_of(host: Host, session_id: str) -> list[Line]:
    """Submits, answers both gates, and reads to the terminal; the run's events."""
    host.send(submits(session_id))
    events: list[Line] = []
    while not events or not events[-1]["type"].startswith("run.completed"):
        line = await host.until(lambda each: each.get("session_id") == session_id and "sequence" in each)
        events.append(line)
        if line["type"] == "action.permission.requested":
            host.send(grants(line))
        if line["type"] == "user.input.requested":
            host.send(answers(line))
    return events


def answers(asked: Line) -> Any:
    payload = asked["payload"]
    scope = {name: payload[name] for name in ("session_id", "run_id", "interaction_id", "requested_by", "responded_by")}
    chosen = [
        {"question_id": q["id"], "selected_option_ids": [q["options"][0]["id"]]} for q in payload["questions"][:1]
    ]
    return request("user.input.resolve.request", {**scope, "answers": chosen})


@pytest.mark.req("OAP-126", "OAP-040")
async def test_a_whole_run_is_driven_with_raw_envelopes(trace: Trace, agent_schema: Any) -> None:
    """Discovery, open, a run with both gates, its events unasked and numbered from one, and a clean end."""
    async with memory(trace) as host:
        began = await host.ask(
            request("protocol.initialize.request", {"protocol_versions": ["0.1"], "profiles": [PROFILE]})
        )
        assert began["payload"]["endpoint"]["adapter"] == "memory"
        found = await host.ask(request("capabilities.request", {}, capability_revision="long gone"))
        revision = found["capability_revision"]
        tools = await host.ask(request("action.tools.list.request", {}))
        assert [tool["name"] for tool in tools["payload"]["tools"]] == ["read_notes", "write_note"]
        opened = await host.ask(opens("s1"))
        assert (opened["type"], opened["capability_revision"]) == ("session.open.response", revision)
        events = await run_of(host, "s1")
        assert [each["sequence"] for each in events] == list(range(1, len(events) + 1))
        assert await host.finish() == StdioEnd(StdioEnding.CLEAN)
    for line in host.seen:
        assert agent_schema.is_valid(line), line


@pytest.mark.req("OAP-126")
async def test_two_sessions_share_the_pipe_and_each_keeps_its_order(trace: Trace) -> None:
    """The ids tell them apart."""
    async with memory(trace) as host:
        await host.ask(opens("s1"))
        await host.ask(opens("s2"))
        for session_id in ("s2", "s1"):
            events = await run_of(host, session_id)
            assert [each["sequence"] for each in events] == list(range(1, len(events) + 1))


@pytest.mark.req("OAP-007", "OAP-127")
async def test_an_envelope_that_is_wrong_gets_a_correlated_error_and_the_stream_goes_on() -> None:
    """Whatever is wrong with it, it had an address."""
    async with memory() as host:
        for number, line in enumerate((
            {"protocol": "open-agent-protocol"},
            {"protocol": "other", "version": "9"},
            {**wire(opens("s1")), "type": "session.frobnicate.request"},
            {**wire(opens("s1")), "payload": {"session_id": 7}},
            {**wire(opens("s1")), "profile": "open-agent-protocol.model-provider-core"},
        )):  # fmt: skip
            host.send({**line, "id": f"w{number}"})
            answer = await host.until(lambda each, n=number: each.get("in_reply_to") == f"w{n}")  # type: ignore[misc]
            assert code(answer) == "schema_invalid"
        assert code(await host.ask(submits("nobody"))) == "unknown_session"
        assert code(await host.ask(request("session.open.response", {"session_id": "s", "status": "idle"},
                                           in_reply_to="x", session_id="s"))) == "type_mismatch"  # fmt: skip
        versions = {"protocol_versions": ["9.9"], "profiles": [PROFILE]}
        assert code(await host.ask(request("protocol.initialize.request", versions))) == "unsupported_version"
        assert (await host.ask(opens("s1")))["type"] == "session.open.response"
        assert await host.finish() == StdioEnd(StdioEnding.CLEAN)


@pytest.mark.req("OAP-127", "OAP-129")
@pytest.mark.parametrize(
    "line", [b"", b"[1,2]", b"nonsense", b'{"id":"a"}', b'{"protocol":"open-agent-protocol"}', b"\xff", b"x" * 3000]
)
async def test_a_framing_fault_ends_the_endpoint_with_one_diagnostic(line: bytes) -> None:
    """B05: what was asked before is answered, and the line is named."""
    async with memory(bounds=EndpointBounds(line=2000)) as host:
        asked = opens("s1")
        host.send(asked)
        host.send(line)
        rest = await host.rest()
        end = await host.finish()
    assert [each["in_reply_to"] for each in rest] == [asked.id]
    assert end.ending is StdioEnding.MALFORMED
    assert end.message.startswith("line 2: ")


@pytest.mark.req("OAP-127")
async def test_a_last_line_without_its_end_is_a_framing_fault() -> None:
    """Half a line is none."""
    async with memory() as host:
        host.raw(json.dumps(wire(opens("s1"))).encode())
        assert (await host.finish()).ending is StdioEnding.MALFORMED


@pytest.mark.req("OAP-123", "OAP-007")
async def test_requests_may_be_pipelined_behind_their_open(trace: Trace) -> None:
    """A host need not wait for one answer before it asks the next; each is answered once."""
    async with memory(trace) as host:
        asked = [opens("s1"), submits("s1"), opens("s2"), request("capabilities.request", {})]
        host.raw(b"".join(json.dumps(wire(each)).encode() + b"\n" for each in asked))
        found = [await host.until(lambda line, e=each: line.get("in_reply_to") == e.id) for each in asked]  # type: ignore[misc]
        assert [each["type"].rpartition(".")[2] for each in found] == ["response"] * 4
        assert all(each["type"] != "error.response" for each in found)


@pytest.mark.req("OAP-128")
async def test_a_replay_repeats_a_runs_events_under_their_own_ids(trace: Trace) -> None:
    """From the start, from the middle, of a run that is over; `accepted` comes first and each ask is answered once."""
    async with memory(trace) as host:
        await host.ask(opens("s1"))
        events = await run_of(host, "s1")
        run_id = events[0]["run_id"]
        for after in (0, 3, len(events)):
            frame = {"control": "replay", "id": f"r{after}", "session_id": "s1", "run_id": run_id, "after": after}
            accepted = await host.control(frame)
            assert accepted == {"control": "replay.accepted", "id": f"r{after}", "run_id": run_id, "after": after}
            again = [await host.read() for _ in events[after:]]
            assert again == events[after:]
        bare = await host.control({"control": "replay", "id": "bare", "session_id": "s1", "after": len(events) - 1})
        assert bare["run_id"] == run_id
        assert await host.read() == events[-1]
        more = await run_of(host, "s1")
        assert [each["sequence"] for each in more] == list(range(1, len(more) + 1))
        old = await host.control({"control": "replay", "id": "old", "session_id": "s1", "run_id": run_id, "after": 0})
        assert old["control"] == "replay.accepted"
        assert [await host.read() for _ in events] == events


@pytest.mark.req("OAP-128")
async def test_a_replay_in_a_running_run_goes_on_live_in_order() -> None:
    """The order of the run holds across what is repeated and what is new."""
    gate = anyio.Event()
    run: list[Event] = [
        start(),
        *[say(n) for n in range(2, 40)],
        gate.wait,
        *[say(n) for n in range(40, 60)],
        complete(60),
    ]
    async with scripted(run) as (_, host):
        await host.ask(opens("s1"))
        await host.ask(submits("s1"))
        await host.until(lambda line: line.get("sequence") == 39)
        host.seen.clear()
        await host.control({"control": "replay", "id": "r", "session_id": "s1", "run_id": "r1", "after": 10})
        gate.set()
        await host.event("run.completed")
        assert [line["sequence"] for line in host.seen if "sequence" in line] == list(range(11, 61))


@pytest.mark.req("OAP-128")
async def test_a_gap_is_told_with_the_window_that_is_kept_and_moves_nothing() -> None:
    """Never a partial suffix."""
    run: list[Event] = [start(), *[say(n) for n in range(2, 30)], complete(30)]
    async with scripted([each for one in run for each in (one, _yield)], capacity=5) as (_, host):
        await host.ask(opens("s1"))
        await host.ask(submits("s1"))
        await host.event("run.completed")
        frame = {"control": "replay", "id": "r", "session_id": "s1", "run_id": "r1", "after": 3}
        assert await host.control(frame) == {
            "control": "replay.gap", "id": "r", "requested_after": 3, "oldest_available": 26, "latest_available": 30,
        }  # fmt: skip
        await host.control({**frame, "id": "again", "after": 25})
        assert [(await host.read() or {})["sequence"] for _ in range(5)] == [26, 27, 28, 29, 30]


async def _yield() -> None:
    await anyio.sleep(0)


@pytest.mark.req("OAP-128")
async def test_a_replay_that_cannot_be_is_answered_with_its_reason() -> None:
    """Each under the id of its frame; an unknown control too."""
    async with memory() as host:
        await host.ask(opens("s1"))
        for frame, expected in (
            ({"control": "dance"}, "unsupported_control"),
            ({"control": "replay", "session_id": "none", "after": 0}, "unknown_session"),
            ({"control": "replay", "session_id": "s1", "after": 0}, "no_run_to_resume"),
            ({"control": "replay", "session_id": "s1", "run_id": "none", "after": 0}, "run_not_found"),
            ({"control": "replay", "session_id": "s1"}, "invalid_request"),
        ):
            answer = await host.control({**frame, "id": "r"})
            assert (answer["control"], answer["code"]) == ("replay.error", expected)
        run_id = (await run_of(host, "s1"))[0]["run_id"]
        future = {"control": "replay", "id": "f", "session_id": "s1", "run_id": run_id, "after": 999}
        assert (await host.control(future))["code"] == "replay_cursor_future"


@pytest.mark.req("OAP-128")
async def test_a_stream_that_dies_says_where_it_stood_and_a_replay_takes_it_up_again() -> None:
    """An event over the line's bound is told by its position; behind it the run goes on."""
    big = event(3, "content.delta", part={"type": "text", "text": "x" * 3000})
    gate = anyio.Event()
    run: list[Event] = [start(), say(2), big, say(4), gate.wait, complete(5)]
    async with scripted(run, bounds=EndpointBounds(line=2000)) as (_, host):
        await host.ask(opens("s1"))
        await host.ask(submits("s1"))
        lost = await host.until(lambda line: line.get("control") == "stream.lost")
        assert {name: lost[name] for name in ("run_id", "after", "code")} == {
            "run_id": "r1", "after": 2, "code": "frame_limit",
        }  # fmt: skip
        await host.control({"control": "replay", "id": "r", "session_id": "s1", "run_id": "r1", "after": 3})
        gate.set()
        assert [(await host.read() or {}).get("sequence") for _ in range(2)] == [4, 5]


@pytest.mark.req("OAP-128")
async def test_a_host_that_falls_behind_what_is_kept_is_told_its_cursor() -> None:
    """Overflow names the last event it was given; then there is a gap to ask about."""
    told = anyio.Event()

    async def done() -> None:
        told.set()

    run: list[Event] = [start()]
    for number in range(2, 3001):
        run += [event(number, "content.delta", part={"type": "text", "text": "x" * 1000}), _yield]
    async with scripted([*run, done, complete(3001)], capacity=10) as (_, host):
        await host.ask(opens("s1"))
        host.send(submits("s1"))
        with anyio.fail_after(30):
            await told.wait()
        lost = await host.until(lambda line: line.get("control") == "stream.lost")
        got = [line["sequence"] for line in host.seen if "sequence" in line]
        assert got == list(range(1, lost["after"] + 1))
        assert (lost["run_id"], lost["code"]) == ("r1", "overflow")
        frame = {"control": "replay", "id": "r", "session_id": "s1", "run_id": "r1", "after": lost["after"]}
        assert (await host.control(frame))["control"] in ("replay.gap", "replay.accepted")


@pytest.mark.req("OAP-014")
async def test_a_cancel_that_came_too_late_has_the_endpoints_own_name_for_it(trace: Trace) -> None:
    """The hub's is `run_terminal`; both stand in one table."""
    async with memory(trace) as host:
        await host.ask(opens("s1"))
        run_id = (await run_of(host, "s1"))[0]["run_id"]
        assert code(await host.ask(cancels("s1", run_id))) == "run_already_terminal"
        assert code(await host.ask(cancels("s1", "never"))) == "run_not_found"


@pytest.mark.req("OAP-126", "OAP-070")
async def test_queries_and_settings_are_answered_by_type(trace: Trace, agent_schema: Any) -> None:
    """State, models, tools, a switch with its announcement, a compaction, an attached provider."""
    async with memory(trace) as host:
        opened = await host.ask(opens("s1"))
        scope = {"session_id": "s1"}
        for type_, payload in (
            ("session.state", scope),
            ("models", scope),
            ("action.tools.list", scope),
            ("session.model.switch", {**scope, "model_id": "memory-large"}),
            ("session.provider.attach", {**scope, "provider": {"id": "extra", "provider_id": "memory-extra"}}),
            ("session.compact", scope),
        ):
            answer = await host.ask(request(f"{type_}.request", payload))
            assert answer["type"] == f"{type_}.response", answer
        told = await host.event("session.state.updated")
        assert told["payload"]["current_model_id"] == "memory-large"
        stale = await host.ask(request("models.request", scope, capability_revision="old"))
        assert code(stale) == "stale_capabilities"
        assert stale["payload"]["error"]["details"] == {
            "expected_revision": opened["capability_revision"], "current_revision": "old",
        }  # fmt: skip
        other = request("models.request", scope, session_id="s2")
        assert code(await host.ask(other)) == "scope_mismatch"
    for line in host.seen:
        assert agent_schema.is_valid(line), line


@pytest.mark.req("OAP-018")
async def test_a_stale_pin_is_refused_whatever_is_asked(trace: Trace) -> None:
    """Before anything else that may be wrong with a session's request; an agreement on the version ignores it."""
    old = {"capability_revision": "old"}
    async with memory(trace) as host:
        agreed = {"protocol_versions": ["0.1"], "profiles": [PROFILE]}
        agreement = await host.ask(request("protocol.initialize.request", agreed, **old))
        assert (agreement["type"], agreement.get("capability_revision")) == ("protocol.initialize.response", None)
        await host.ask(opens("s1"))
        run_id = (await host.ask(submits("s1", "script: hold")))["payload"]["run_id"]
        scope = {"session_id": "s1", "run_id": run_id}
        answer = {**scope, "interaction_id": "i", "requested_by": "memory-agent", "responded_by": "user"}
        call = {"tool_call_id": "c", "result": {}}
        for type_, payload in (
            ("auth.providers", {}),
            ("action.tools.list", {}),
            ("session.state", {"session_id": "s1"}),
            ("run.cancel", scope),
            ("run.cancel", {**scope, "run_id": "never"}),
            ("action.permission.resolve", {**answer, "granted": True}),
            ("user.input.cancel", answer),
            ("action.call.resolve", {**answer, **call}),
        ):
            assert code(await host.ask(request(f"{type_}.request", payload, **old))) == "stale_capabilities", type_
        assert (await host.ask(cancels("s1", run_id)))["payload"]["accepted"] is True


@pytest.mark.req("OAP-076", "OAP-077", "OAP-011")
async def test_a_login_is_answered_before_its_events(agent_schema: Any) -> None:
    """It belongs to no session, and its events have numbers of their own."""
    async with memory() as host:
        listed = await host.ask(request("auth.providers.request", {}))
        provider = listed["payload"]["providers"][0]["id"]
        start = request("auth.login.start.request", {"provider_id": provider})
        started = await host.ask(start)
        assert started["type"] == "auth.login.start.response", started
        flow = started["payload"]["flow_id"]
        if not any(line["type"] == "auth.login.completed" for line in host.seen):
            host.send(request("auth.login.cancel.request", {"flow_id": flow}))
            await host.event("auth.login.completed")
        events = [line for line in host.seen if line["type"] in ("auth.login.event", "auth.login.completed")]
        assert [line["sequence"] for line in events] == list(range(1, len(events) + 1))
        order = [line.get("in_reply_to") or line["type"] for line in host.seen]
        assert order.index(start.id) < order.index(events[0]["type"])
    for line in host.seen:
        assert agent_schema.is_valid(line), line


@pytest.mark.req("OAP-011", "OAP-096")
async def test_the_answer_to_a_steer_comes_before_what_it_caused(trace: Trace) -> None:
    """The held events follow it."""
    async with memory(trace) as host:
        await host.ask(opens("s1"))
        host.send(submits("s1"))
        asked = await host.event("action.permission.requested")
        steer = submits("s1", "rather this", delivery="steer", target_run_id=asked["run_id"])
        steered = await host.ask(steer)
        assert steered["payload"]["admission"] == "steered", steered
        host.send(grants(asked))
        applied = await host.event("run.steer.applied")
        assert applied["payload"]["request_id"] == steer.id
        assert applied["sequence"] > steered["payload"]["target_sequence"]


@pytest.mark.req("OAP-091", "OAP-126")
async def test_an_open_with_a_message_is_followed_by_the_whole_run(trace: Trace) -> None:
    """From its first event, behind the answer."""
    async with memory(trace) as host:
        message = {"messages": [{"role": "user", "content": "go"}], "delivery": "auto"}
        opened = await host.ask(opens("s1", message=message))
        assert opened["type"] == "session.open.response", opened
        await host.event("action.permission.requested")
        assert next(line["sequence"] for line in host.seen if "sequence" in line) == 1
        assert host.seen[0] == opened


@pytest.mark.req("OAP-011", "OAP-014")
async def test_the_answer_to_a_cancel_comes_before_the_run_it_cancelled_ends(trace: Trace) -> None:
    """On one pipe the host sees its intent acknowledged first."""
    async with memory(trace) as host:
        await host.ask(opens("s1"))
        host.send(submits("s1"))
        asked = await host.event("action.permission.requested")
        cancel = cancels("s1", asked["run_id"])
        host.send(cancel)
        await host.event("run.cancelled")
        order = [line.get("in_reply_to") or line.get("type") for line in host.seen]
        assert order.index(cancel.id) < order.index("run.cancelled")


@pytest.mark.req("OAP-129")
async def test_the_end_of_input_answers_what_was_admitted_and_invents_no_terminal(trace: Trace) -> None:
    """A run that waits for its gate ends with the session, and the host is told nothing it did not do."""
    async with memory(trace) as host:
        await host.ask(opens("s1"))
        host.send(submits("s1"))
        await host.event("action.permission.requested")
        host.forget()
        last = request("session.state.request", {"session_id": "s1"})
        host.send(last)
        host.hang_up()
        rest = await host.rest()
        assert await host.finish() == StdioEnd(StdioEnding.CLEAN)
    assert [line["in_reply_to"] for line in rest if "in_reply_to" in line] == [last.id]
    assert not [line["type"] for line in rest if line["type"] in ("run.completed", "run.failed", "run.cancelled")]


@pytest.mark.req("OAP-129")
async def test_a_stop_is_the_end_of_input() -> None:
    """SIGTERM sets it."""
    async with memory() as host:
        await host.ask(opens("s1"))
        host.stop.set()
        with anyio.fail_after(20):
            await host.ended.wait()
        assert host.end == StdioEnd(StdioEnding.CLEAN)


@pytest.mark.req("OAP-129")
async def test_output_that_nobody_takes_is_no_clean_end() -> None:
    """The host closed its end; or it reads nothing for so long that it cannot be there any more."""
    async with memory() as host:
        host.stop_reading()
        host.send(opens("s1"))
        with anyio.fail_after(20):
            await host.ended.wait()
        assert host.end is not None
        assert host.end.ending is StdioEnding.OUTPUT_LOST
    run: list[Event] = [
        start(),
        *[event(n, "content.delta", part={"type": "text", "text": "x" * 9000}) for n in range(2, 60)],
    ]
    async with scripted([*run, complete(60)], bounds=EndpointBounds(stage=0.05, stall=0.05)) as (_, host):
        host.send(opens("s1"))
        host.send(submits("s1"))
        with anyio.fail_after(20):
            await host.ended.wait()
        assert host.end.ending is StdioEnding.OUTPUT_LOST


LINES = st.lists(
    st.binary(max_size=40).filter(lambda line: b"\n" not in line)
    | st.fixed_dictionaries(
        {"protocol": st.sampled_from(["open-agent-protocol", "x"]), "id": st.text(max_size=3) | st.integers()},
        optional={"type": st.sampled_from(["session.open.request", "capabilities.request"]), "session_id": st.just("s"),
                  "version": st.just("0.1"), "profile": st.just(PROFILE), "payload": st.just({})},
    ).map(lambda line: json.dumps(line).encode())
    | st.fixed_dictionaries({"control": st.sampled_from(["replay", "x"]), "id": st.text(min_size=1, max_size=3)}).map(
        lambda line: json.dumps(line).encode()
    ),
    max_size=10,
)  # fmt: skip


@pytest.mark.req("OAP-127", "OAP-007")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, st.binary(max_size=20))
async def test_whatever_a_host_sends_each_line_that_has_an_address_is_answered_once(
    lines: list[bytes], rest: bytes
) -> None:
    """Hostile bytes end in one ending with one bounded line, and never hang."""
    expected: list[str] = []
    is_fatal = bool(rest.rpartition(b"\n")[2])
    for line in (*lines, *rest.split(b"\n")[:-1]):
        try:
            read = read_line(line)
        except Refused:
            is_fatal = True
            break
        expected.append(str(read.id) if isinstance(read, EnvelopeLine) else f"control {read.id}")
    async with memory() as host:
        host.raw(b"".join(line + b"\n" for line in lines) + rest)
        host.hang_up()
        found = [
            each["in_reply_to"] if "in_reply_to" in each else f"control {each.get('id')}"
            for each in await host.rest()
            if "in_reply_to" in each or "control" in each
        ]
        end = await host.finish()
    assert sorted(found) == sorted(expected)
    assert end.ending is (StdioEnding.MALFORMED if is_fatal else StdioEnding.CLEAN)
