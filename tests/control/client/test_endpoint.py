"""A client of endpoints over stdio: ours as a real child, and children that keep no rule at all."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

import sayso.sdk
from sayso.control.client import pipe
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import ToolSourceAttachment
from sayso.core.refusal import PeerUnreachable, Refused
from sayso.sdk import Agent, DisconnectError, OverflowError, Program, ReplayGapError, ServerError  # noqa: A004
from sayso.sdk import endpoint_program as program
from tests.control.conftest import Trace
from tests.control.houses import watched
from tests.control.hub.test_units import types

pytestmark = pytest.mark.anyio
SAYSO = str(Path(sys.executable).with_name("sayso"))
SEEN = ("PATH", "PYTHONPATH", "SAYSO_TEST_BREAK")
HELLO = (
    '{"protocol":"open-agent-protocol","version":"0.1","profile":"open-agent-protocol.agent-control-core",'
    '"type":"protocol.initialize.response","id":"x%s","in_reply_to":%s,"payload":{"protocol_version":"0.1",'
    '"profile":"open-agent-protocol.agent-control-core","endpoint":{"id":"e"}}}'
)


def memory(tmp_path: Path, **more: Any) -> Agent:
    return Agent(program("memory", binary=SAYSO, home=tmp_path, environment=SEEN), **more)


def child(code: str, **more: Any) -> Agent:
    """An endpoint of these lines, which has said hello."""
    hello = (
        f"import sys, json\nfirst = json.loads(input())\nprint({HELLO!r} % (1, json.dumps(first['id'])), flush=True)\n"
    )
    return Agent(Program(command=[sys.executable, "-I", "-c", hello + code], environment={}, called="peer"), **more)


def pid_of(agent: Agent) -> int:
    started = agent._pipe._child
    assert started is not None
    return started.pid


@pytest.mark.req("OAP-003", "OAP-126", "OAP-202")
async def test_a_run_with_both_gates_is_driven_over_a_pipe(tmp_path: Path, agent_schema: Any) -> None:
    """Opened, submitted, both gates answered, read to the terminal; everything that came in was legal."""
    mine = Trace(agent_schema, is_partial=True)
    async with memory(tmp_path, record=mine.record) as agent:
        capabilities = await agent.capabilities()
        session = await agent.start()
        seen = await types(session, (await session.submit("hello")).run_id)
        models = await session.models()
        state = await session.state()
        with pytest.raises(Refused) as close:
            await session.close()
    assert (capabilities.endpoint.adapter, seen[-1], state.status) == ("memory", "run.completed", "idle")
    assert (len(models.models), close.value.refusal.code) == (2, "unsupported_feature")
    mine.verify()


@pytest.mark.req("OAP-128", "OAP-203")
async def test_a_run_is_read_twice_by_its_replay(tmp_path: Path) -> None:
    """What was read is not kept here: the endpoint replays it, whole or from a cursor."""
    async with memory(tmp_path) as agent:
        session = await agent.start()
        run_id = str((await session.submit("script: plain")).run_id)
        first = [envelope.id async for envelope in session.events(run_id=run_id, after=0)]
        again = [envelope.id async for envelope in session.events(run_id=run_id, after=0)]
        rest = [envelope.id async for envelope in session.events_after(run_id, 2)]
        with pytest.raises(ServerError) as ahead:
            await anext(session.events_after(run_id, 99))
    assert (again, rest, ahead.value.code) == (first, first[2:], "replay_cursor_future")


@pytest.mark.req("OAP-042", "OAP-203")
async def test_a_reader_that_comes_late_gets_every_event_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More was told than is kept here; what was given up is replayed when the reader comes that far."""
    monkeypatch.setattr(pipe, "KEPT", 8)
    async with watched(), memory(tmp_path) as agent:
        session = await agent.start()
        run_id = str((await session.submit("script: stream")).run_id)
        while (await session.state()).status != "idle":
            await anyio.lowlevel.checkpoint()
        seen = [envelope.sequence async for envelope in session.events(run_id=run_id, after=0)]
    assert (seen, len(seen) > 200) == (list(range(1, len(seen) + 1)), True)


@pytest.mark.req("OAP-204")
async def test_strict_resume_over_a_pipe_tells_of_the_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the cursor at which to go on."""
    monkeypatch.setattr(pipe, "KEPT", 8)
    got: list[Envelope[Wire]] = []
    async with memory(tmp_path, strict_resume=True) as agent:
        session = await agent.start()
        run_id = str((await session.submit("script: stream")).run_id)
        while (await session.state()).status != "idle":
            await anyio.lowlevel.checkpoint()

        async def read() -> None:
            async for envelope in session.events(run_id=run_id, after=0):
                got.append(envelope)

        with pytest.raises(OverflowError) as lost:
            await read()
    assert (lost.value.run_id, lost.value.last_sequence) == (run_id, len(got))


@pytest.mark.req("OAP-044", "OAP-204")
async def test_an_endpoint_that_is_killed_fails_what_waits_once(tmp_path: Path) -> None:
    """B08: the stream names its cursor, the question its ending, and what is asked later is told the same."""
    async with memory(tmp_path) as agent:
        session = await agent.start()
        admitted = await session.submit("hello")
        events = session.events(run_id=str(admitted.run_id), after=0)
        last = await anext(events)
        while not isinstance(last.payload, PermissionRequested):
            last = await anext(events)
        os.kill(pid_of(agent), signal.SIGKILL)

        async def rest() -> None:
            nonlocal last
            async for envelope in events:
                last = envelope

        with pytest.raises(DisconnectError) as cut:
            await rest()
        with pytest.raises(PeerUnreachable) as gone:
            await session.state()
    assert (cut.value.run_id, cut.value.last_sequence) == (admitted.run_id, last.sequence)
    assert "signal 9" in str(gone.value)


@pytest.mark.req("OAP-045", "OAP-129")
@pytest.mark.parametrize(
    ("code", "refusal"),
    [
        ("input(); print('[1,2]', flush=True); input()", "malformed_line"),
        ("input(); print('{\"a\":1}', flush=True); input()", "malformed_line"),
        ('input(); print(\'{"control":"zap","id":"c"}\', flush=True); input()', "protocol_violation"),
        ('input(); print(\'{"control":"replay.gap","id":"c"}\', flush=True); input()', "protocol_violation"),
        ('input(); print(\'{"protocol":1,"id":"x"}\', flush=True); input()', "schema_invalid"),
        ("input(); sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush(); input()", "malformed_line"),
    ],
)
async def test_an_endpoint_that_breaks_the_framing_is_ended(code: str, refusal: str) -> None:
    """B05: one typed failure for everything that waits, and nothing hangs."""
    async with watched(), child(code, budget=600) as agent:
        with pytest.raises(ServerError) as broken:
            await agent.capabilities()
        with pytest.raises(ServerError):
            await agent.capabilities()
    assert broken.value.code == refusal


@pytest.mark.req("OAP-129")
async def test_an_answer_has_a_budget_that_other_lines_do_not_renew() -> None:
    """An endpoint that talks without answering is unreachable all the same."""
    noise = "import time\nfor n in range(60):\n    print(%r %% (n + 9, '\"nobody\"'), flush=True); time.sleep(0.01)\n"
    async with child(noise % HELLO, budget=0.2) as agent:
        with pytest.raises(PeerUnreachable) as late:
            await agent.capabilities()
    assert "no answer within 0.2 s" in str(late.value)


@pytest.mark.req("OAP-010")
async def test_an_event_out_of_its_order_ends_the_endpoint() -> None:
    """A number that skips is transport loss no replay was asked for."""
    delta = (
        '{"protocol":"open-agent-protocol","version":"0.1","profile":"open-agent-protocol.agent-control-core",'
        '"type":"content.delta","id":"e","session_id":"s1","run_id":"r1","sequence":2,'
        '"payload":{"session_id":"s1","run_id":"r1","part":{"type":"text","text":"x"}}}'
    )
    async with child(f"print({delta!r}, flush=True); input(); input()") as agent:
        with pytest.raises(ServerError) as broken:
            await agent.capabilities()
    assert broken.value.code == "protocol_violation"


@pytest.mark.req("OAP-094", "OAP-128")
async def test_a_gap_of_an_endpoint_is_told_with_its_bounds() -> None:
    """As a hub's is."""
    gap = (
        "frame = json.loads(input())\n"
        "print(json.dumps({'control': 'replay.gap', 'id': frame['id'], 'requested_after': frame['after'],"
        " 'oldest_available': 5, 'latest_available': 9}), flush=True)\ninput()"
    )
    async with child(gap) as agent:
        with pytest.raises(ReplayGapError) as gone:
            await anext(agent.events("s1", run_id="r1", after=2))
    assert (gone.value.run_id, gone.value.oldest_available, gone.value.latest_available) == ("r1", 5, 9)


@pytest.mark.req("OAP-007")
async def test_an_endpoint_of_another_version_is_refused_at_the_door() -> None:
    """Entering agrees on the version; nothing is left running."""
    code = (
        "import json; first = json.loads(input())\n"
        "print(json.dumps({'protocol': 'open-agent-protocol', 'version': '0.1', 'id': 'x', 'type': 'error.response',"
        "'profile': 'open-agent-protocol.agent-control-core', 'in_reply_to': first['id'],"
        "'payload': {'error': {'code': 'unsupported_version', 'message': 'no'}}}), flush=True); input()"
    )
    agent = Agent(Program(command=[sys.executable, "-I", "-c", code], environment={}))
    with pytest.raises(ServerError) as refused:
        await agent.__aenter__()
    with pytest.raises(ProcessLookupError):
        os.kill(pid_of(agent), 0)
    assert refused.value.code == "unsupported_version"


@pytest.mark.req("OAP-089", "OAP-207")
def test_the_program_is_found_where_an_operator_expects_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An argument, the variable, PATH; and the child sees what is named and nothing else."""
    monkeypatch.setenv("SAYSO_SDK_BINARY_PATH", "/opt/sayso")
    monkeypatch.setenv("SECRET", "s")
    found: Mapping[str, str] = program("memory", environment=["HOME=/x"]).environment
    assert (program().command[0], program(binary=tmp_path).command[0]) == ("/opt/sayso", str(tmp_path))
    monkeypatch.delenv("SAYSO_SDK_BINARY_PATH")
    assert program(config=tmp_path).command == ["sayso", "serve", "agent", "--stdio", "--config", str(tmp_path)]
    assert {**found, "SAYSO_CLOCK_FILE": ""} == {"HOME": "/x", "SAYSO_CLOCK_FILE": ""}
    for name in sayso.sdk.__all__:
        assert getattr(sayso.sdk, name).__doc__, name


@pytest.mark.req("OAP-065")
async def test_an_attaching_open_over_a_pipe_pins_what_the_endpoint_said(tmp_path: Path, agent_schema: Any) -> None:
    """One question, and the open cites its revision; an open that attaches nothing asks nothing."""
    mine = Trace(agent_schema, is_partial=True)
    async with memory(tmp_path, record=mine.record) as agent:
        await agent.open()
        await agent.open(tool_sources=[ToolSourceAttachment(id="files", kind="local")])
    asked = [(e.type, e.capability_revision) for e in mine.envelopes if e.type.endswith(".request")]
    (revision,) = {e.capability_revision for e in mine.envelopes if e.type == "capabilities.response"}
    assert [kind for kind, _pin in asked] == [
        "protocol.initialize.request", "session.open.request", "capabilities.request", "session.open.request",
    ]  # fmt: skip
    assert (asked[1][1], asked[3][1]) == (msgspec.UNSET, revision)
