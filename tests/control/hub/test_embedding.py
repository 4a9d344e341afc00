"""A hub in a program of somebody else's: no socket, the public names alone (OAP-206)."""

from __future__ import annotations

from pathlib import Path

import anyio
import msgspec
import pytest

from sayso.adapters import (
    Hub,
    LocalClient,
    OverflowError,  # noqa: A004
    ReplayGapError,
    default_registry,
    load_registry,
)
from sayso.client import ServerError
from sayso.control.client.requests import open_request, submit_request
from sayso.control.hub.machine import MAILBOX
from sayso.control.hub.registry import Registry
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.session import OpenMessage, ToolSourceAttachment
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.testing.adapter import ScriptedAdapter
from tests.control.conftest import Trace
from tests.control.houses import watched
from tests.control.hub.test_units import message

pytestmark = pytest.mark.anyio
IDS = SystemIds()


@pytest.mark.req("OAP-085", "OAP-206")
async def test_several_adapters_and_sessions_without_a_socket(tmp_path: Path, trace: Trace) -> None:
    """A registry of a document, two adapters, three sessions; each subscription has its own run, one close ends all."""
    document = tmp_path / "registry.json"
    document.write_text('{"adapters": {"one": {"type": "memory"}, "two": {"type": "memory"}}}')
    async with watched(), Hub(load_registry(document, {}), record=trace.record) as hub, LocalClient(hub) as client:
        sessions = [await client.start(name) for name in ("one", "two", "two")]
        seen: dict[str, list[str]] = {session.id: [] for session in sessions}

        async def follow(session_id: str) -> None:
            async for envelope in hub.subscribe(session_id):
                seen[session_id].append(envelope.type)

        async with anyio.create_task_group() as tasks:
            for session in sessions:
                tasks.start_soon(follow, session.id)
            await anyio.wait_all_tasks_blocked()
            for session in sessions:
                await session.submit("script: plain")
        listed = [(each.adapter, each.status) for each in await hub.sessions()]
        await hub.close_sessions()
        closed = {each.status for each in await hub.sessions()}
        with pytest.raises(Refused) as refused:
            hub.subscribe(sessions[0].id)
    assert [(types[0], types[-1]) for types in seen.values()] == [("run.started", "run.completed")] * 3
    assert (sorted(listed), closed) == ([("one", "idle"), ("two", "idle"), ("two", "idle")], {"closed"})
    assert refused.value.refusal.code == "session_closed"


@pytest.mark.req("OAP-042", "OAP-094", "OAP-206")
async def test_the_signals_of_a_stream_are_typed_errors_in_process() -> None:
    """An overflow has its cursor, a gap its bounds, a cursor that is none the code it has everywhere."""
    async with watched(), Hub(default_registry(), capacity=100) as hub, LocalClient(hub) as client:
        session = await client.start("memory")
        reading = hub.subscribe(session.id)
        run = await session.submit("script: stream")
        while hub.session(session.id).is_running:
            await anyio.lowlevel.checkpoint()
        with pytest.raises(OverflowError) as lost:
            await anext(reading)
        with pytest.raises(ReplayGapError) as gap:
            await anext(hub.subscribe(session.id, run_id=str(run.run_id), after=lost.value.last_sequence))
        oldest = gap.value.oldest_available
        rest = [e.sequence async for e in hub.subscribe(session.id, run_id=str(run.run_id), after=oldest - 1)]
        codes = []
        for cursor in ({"run_id": "r1"}, {"after": 9999}, {"after": 0, "run_id": "none"}):
            with pytest.raises(Refused) as refused:
                hub.subscribe(session.id, **cursor)  # type: ignore[arg-type]
            codes.append(refused.value.refusal.code)
    assert (lost.value.run_id, lost.value.last_sequence <= MAILBOX) == (run.run_id, True)
    assert rest == list(range(oldest, gap.value.latest_available + 1))
    assert codes == ["invalid_cursor", "replay_cursor_future", "run_not_found"]


@pytest.mark.req("OAP-096", "OAP-206")
async def test_published_lets_go_of_that_steer_alone() -> None:
    """A host that carries answers itself says when one is out; for any other submit, and any other session, nothing."""
    async with watched(), Hub(default_registry(), patience=600) as hub, LocalClient(hub) as client:
        session = await client.start("memory")
        run = await session.submit("script: hold")
        seen: list[str] = []

        async def follow() -> None:
            async for envelope in hub.subscribe(session.id, run_id=str(run.run_id), after=0):
                seen.append(envelope.type)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            before = len(seen)
            steer = submit_request(IDS, session.id, "go on", "steer")
            await hub.session(session.id).submit(steer)
            for session_id, request_id in ((session.id, "another"), ("none", steer.id)):
                hub.published(session_id, request_id)
            await anyio.wait_all_tasks_blocked()
            held = len(seen)
            hub.published(session.id, steer.id)
    assert (held, seen[before], seen[-1]) == (before, "run.steer.applied", "run.completed")


@pytest.mark.req("OAP-091", "OAP-206")
async def test_a_client_in_process_takes_the_reader_of_its_open() -> None:
    """As over HTTP: the first reader without a cursor has the run from its start."""
    async with watched(), Hub(default_registry()) as hub, LocalClient(hub) as client:
        opened = await client.open("memory", subscribe=True, message=message("script: plain"))
        while hub.session(opened.session_id).is_running:
            await anyio.lowlevel.checkpoint()
        seen = [envelope.sequence async for envelope in client.events(opened.session_id)]
    assert seen == list(range(1, len(seen) + 1))
    assert seen != []


@pytest.mark.req("OAP-065")
async def test_a_client_in_process_pins_an_attaching_open(trace: Trace) -> None:
    """One probe, and the open cites what it said; no other open probes."""
    adapter, probes = ScriptedAdapter(), 0
    probe = adapter.probe

    async def counted() -> object:
        nonlocal probes
        probes += 1
        return await probe()

    adapter.probe = counted  # type: ignore[method-assign,assignment]
    source = ToolSourceAttachment(id="files", kind="local")
    async with watched(), Hub(Registry({"peer": adapter})) as hub, LocalClient(hub) as client:
        await client.open("peer")
        assert probes == 1  # the hub's own
        with pytest.raises(ServerError) as refused:
            await client.open("peer", tool_sources=[source])
        assert (probes, refused.value.code) == (3, "unsupported_feature")


@pytest.mark.req("OAP-090", "OAP-102")
async def test_an_open_with_every_fault_is_refused_for_the_first(trace: Trace) -> None:
    """Envelope, adapter, the attachment's revision, its election and its source, the subscription, the adapter, the id:
    each fault that is mended shows the next.
    """
    async with watched(), Hub(default_registry()) as memory, Hub(Registry({"peer": ScriptedAdapter()})) as bare:
        await memory.open("memory", open_request(IDS, session_id="s1"))
        revision = (await memory.probe("memory")).revision
        wrong = ToolSourceAttachment(id="x", kind="process", command="/bin/sh")
        asked = open_request(IDS, "old", session_id="s1", subscribe=True, tool_sources=[wrong])
        seen = []
        for hub, name, change in (
            (memory, "none", {"session_id": "s2"}),
            (memory, "none", {}),
            (memory, "memory", {}),
            (bare, "peer", {"capability_revision": "v1"}),
            (memory, "memory", {"capability_revision": revision}),
        ):
            response = await hub.open(name, msgspec.structs.replace(asked, **change))
            assert isinstance(response.payload, ErrorResponse)
            error = response.payload.error
            seen.append((error.code, (error.details or {}).get("feature"), (error.details or {}).get("field")))
        plain = open_request(IDS, session_id="s1", subscribe=True, reasoning_level="low")
        response = await bare.open("peer", plain)
        assert isinstance(response.payload, ErrorResponse)
        subscription = (response.payload.error.details or {})["feature"]
        taken = await memory.open("memory", open_request(IDS, session_id="s1", message=unlisted()))
        assert isinstance(taken.payload, ErrorResponse)
    assert seen == [
        ("scope_mismatch", None, None),
        ("unknown_adapter", None, None),
        ("stale_capabilities", None, None),
        ("unsupported_feature", "action.tool_sources.attach", None),
        ("unsupported_feature", "action.tool_sources.attach", "command"),
    ]
    assert (subscription, taken.payload.error.code) == ("session.open.subscribe", "session_exists")


def unlisted() -> OpenMessage:
    """A message whose model no session of the adapter has: judged once there is a session."""
    return OpenMessage(messages=message("x").messages, delivery="auto", model_id="no-such-model")


@pytest.mark.req("OAP-079", "OAP-080")
async def test_a_conversation_that_is_open_is_not_loaded_again() -> None:
    """A reopen of a live session reaches no harness: two processes on one conversation would write over each other."""
    async with watched(), Hub(default_registry()) as hub, LocalClient(hub) as client:
        session = await client.start("memory", session_id="s1")
        with pytest.raises(ServerError) as refused:
            await client.open("memory", session_id="s1", reopen=True)
        state = await session.state()
    assert (refused.value.code, state.status) == ("session_exists", "idle")


@pytest.mark.req("OAP-093", "OAP-206")
async def test_a_cursor_that_is_none_is_refused_in_process_too() -> None:
    """A negative number, and a run without one."""
    async with watched(), Hub(default_registry()) as hub, LocalClient(hub) as client:
        session = await client.start("memory")
        run = await session.submit("script: plain")
        for cursor in ({"run_id": str(run.run_id), "after": -1}, {"after": -1}, {"run_id": str(run.run_id)}):
            with pytest.raises(Refused) as refused:
                hub.subscribe(session.id, **cursor)  # type: ignore[arg-type]
            assert refused.value.refusal.code == "invalid_cursor"
