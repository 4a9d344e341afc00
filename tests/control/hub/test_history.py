"""The bindings of a hub: what stands in the file, what a crash leaves of it, and the pages of the list."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.adapters.contract import AdapterSession, Descriptor
from sayso.control.hub.history import Binding, History, HistoryEntry, write_binding
from sayso.control.hub.history_file import HistoryFile
from sayso.control.hub.hub import Hub
from sayso.control.protocol.envelope import Envelope, convert_envelope
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse, Endpoint, FeatureSupport
from sayso.control.protocol.payloads.session import SessionOpenRequest, SessionState
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Refused
from sayso.testing.adapter import ScriptedAdapter, ScriptedSession
from tests.control.houses import NOON
from tests.control.hub.test_tool_sources import ENVIRON, Attaching, opening, registry_of
from tests.control.wire import opens

pytestmark = pytest.mark.anyio


class Reloading(ScriptedAdapter):
    """Loads what it was asked for, unless its store is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.store_fault: Refused | None = None

    async def probe(self) -> Descriptor:
        features = {"session.open.reopen": FeatureSupport(level="native")}
        return Descriptor("v1", CapabilitiesResponse(endpoint=Endpoint(id="x"), features=features))

    def native_id(self, session: AdapterSession) -> str:
        return f"native-{session.id}"

    async def reopen(
        self, request: Envelope[SessionOpenRequest], session_id: str, native_id: str, tasks: Any
    ) -> ScriptedSession:
        self.loaded.append(native_id)
        if self.store_fault is not None:
            raise self.store_fault
        return await self.open(request, session_id, tasks)


class Modelled(ScriptedAdapter):
    """Its sessions have a model."""

    async def open(self, request: Envelope[SessionOpenRequest], session_id: str, tasks: Any) -> ScriptedSession:
        session = await super().open(request, session_id, tasks)

        async def state() -> SessionState:
            return SessionState(session_id=session_id, status="idle", current_model_id="model-1")

        session.state = state  # type: ignore[method-assign]
        return session


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "sessions.jsonl"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@asynccontextmanager
async def hub_on(path: Path, adapter: ScriptedAdapter, clock: ManualClock) -> AsyncIterator[Hub]:
    """One life of a hub."""
    history = HistoryFile(path, issuer=f"hub-{id(adapter)}")
    async with Hub(registry_of(adapter), clock=clock, ids=CountingIds(), history=history) as hub:
        yield hub
    history.close()


def reopening(session_id: str) -> Envelope[Any]:
    base = {"protocol": "open-agent-protocol", "version": "0.1", "profile": "open-agent-protocol.agent-control-core"}
    payload = {"session_id": session_id, "reopen": True}
    return convert_envelope({**base, "type": "session.open.request", "id": "re1", "payload": payload})


def code(envelope: Envelope[Any]) -> str:
    return str(envelope.payload.error.code) if envelope.type == "error.response" else envelope.type


@pytest.mark.req("OAP-081")
async def test_a_record_is_appended_and_holds_no_secret(path: Path, clock: ManualClock) -> None:
    """0600, one line an act, the ids of the sources and nothing of their environment."""
    async with hub_on(path, Attaching(), clock) as hub:
        await hub.open("a", opening({"id": "fs", "kind": "process", "environment": ["EXTRA"]}))
        clock.advance(timedelta(seconds=5))
        await hub.close("s1")
    at = int(NOON.timestamp() * 1000)
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"action": "opened", "session_id": "s1", "adapter": "a", "at_ms": at, "sources": ["fs"]},
        {"action": "closed", "session_id": "s1", "adapter": "a", "at_ms": at + 5000, "sources": ["fs"]},
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not any(secret in path.read_text() for secret in ENVIRON.values() if len(secret) > 1)


@pytest.mark.req("OAP-081")
async def test_a_torn_tail_is_cut_and_a_half_record_is_an_absence(path: Path, clock: ManualClock) -> None:
    """Cut anywhere in its last line, the file gives what came before, and takes the next record."""
    first = write_binding(Binding(action="opened", session_id="one", adapter="a", at_ms=1))
    second = write_binding(Binding(action="opened", session_id="two", adapter="a", at_ms=2))
    for length in range(len(second) + 1):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(first + b"\n" + second[:length])
        path.chmod(0o600)
        history = HistoryFile(path, issuer="h")
        assert path.read_bytes() == first + b"\n"
        assert await history.latest("two") is None
        await history.append(Binding(action="opened", session_id="three", adapter="a", at_ms=3))
        assert [entry.session_id for entry in (await history.page(lambda _: False)).sessions] == ["three", "one"]
        history.close()


@pytest.mark.req("OAP-081")
@given(st.binary(max_size=60))
def test_a_line_that_is_no_record_says_nothing(path_factory: Any, junk: bytes) -> None:
    """And takes nothing with it."""
    path = path_factory()
    record = write_binding(Binding(action="opened", session_id="one", adapter="a", at_ms=1))
    path.write_bytes(record + b"\n" + junk.replace(b"\n", b"") + b"\n" + record.replace(b"one", b"two") + b"\n")
    path.chmod(0o600)
    history = HistoryFile(path, issuer="h")
    assert {"one", "two"} <= set(history._latest)
    history.close()


@pytest.fixture(scope="module")
def path_factory(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder, count = tmp_path_factory.mktemp("junk"), iter(range(10**6))
    return lambda: folder / f"{next(count)}.jsonl"


@pytest.fixture
def open_file(path: Path) -> Path:
    path.parent.mkdir()
    path.touch()
    path.chmod(0o640)
    return path


async def test_a_file_that_others_can_read_is_refused(open_file: Path, tmp_path: Path) -> None:
    """So is a link, which somebody else could turn."""
    with pytest.raises(Refused) as caught:
        HistoryFile(open_file, issuer="h")
    assert caught.value.refusal.code == "file_not_private"
    (tmp_path / "link").symlink_to(open_file)
    with pytest.raises(Refused):
        HistoryFile(tmp_path / "link", issuer="h")


async def test_two_hubs_append_to_one_file(path: Path) -> None:
    """Each sees what the other wrote, and no line is broken."""
    one, two = HistoryFile(path, issuer="1"), HistoryFile(path, issuer="2")

    async def write(history: HistoryFile, name: str) -> None:
        for number in range(50):
            await history.append(Binding(action="opened", session_id=f"{name}{number}", adapter="a", at_ms=number))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write, one, "x")
        tasks.start_soon(write, two, "y")
    assert len(path.read_bytes().splitlines()) == 100
    assert await one.latest("y49") is not None
    assert await two.latest("x49") is not None
    one.close()
    two.close()


@pytest.mark.req("OAP-079")
async def test_a_session_is_reopened_through_its_binding_after_a_restart(path: Path, clock: ManualClock) -> None:
    """The adapter is given the name it told when the session was opened, by another process."""
    async with hub_on(path, Reloading(), clock) as hub:
        await hub.open("a", opens("s1"))
    adapter = Reloading()
    async with hub_on(path, adapter, clock) as hub:
        assert code(await hub.open("a", reopening("s1"))) == "session.open.response"
        assert adapter.loaded == ["native-s1"]
        assert code(await hub.open("a", reopening("s1"))) == "session_exists"
    assert [json.loads(line)["action"] for line in path.read_text().splitlines()] == [
        "opened", "closed", "reopened", "closed",
    ]  # fmt: skip


@pytest.mark.req("OAP-080")
async def test_what_a_reopen_is_refused_with_comes_from_the_binding(path: Path, clock: ManualClock) -> None:
    """No binding, or another harness's: `unknown_session`. A binding the harness cannot load: `unsupported_feature`,
    whatever the harness said. A create over a binding: `session_exists`.
    """
    adapter = Reloading()
    async with hub_on(path, adapter, clock) as hub:
        assert code(await hub.open("a", reopening("s1"))) == "unknown_session"
        assert adapter.loaded == []
        await hub.open("a", opens("s1"))
        await hub.close("s1")
        assert code(await hub.open("a", opens("s1"))) == "session_exists"
        for words in ("unknown_session", "open_failed", "unsupported_feature"):
            adapter.store_fault = Refused.because(words, "native session not found")
            refused = await hub.open("a", reopening("s1"))
            assert code(refused) == "unsupported_feature"
            assert refused.payload.error.details == {  # type: ignore[attr-defined]
                "feature": "session.open.reopen", "reason": "unsatisfiable",
            }  # fmt: skip
        adapter.store_fault = None
        assert code(await hub.open("a", reopening("s1"))) == "session.open.response"


@pytest.mark.req("OAP-080")
async def test_a_reopen_that_is_not_advertised_is_refused_before_any_binding(path: Path, clock: ManualClock) -> None:
    """The capabilities say so beforehand."""
    async with hub_on(path, ScriptedAdapter(), clock) as hub:
        refused = await hub.open("a", reopening("s1"))
    assert refused.payload.error.details["reason"] == "unadvertised"  # type: ignore[attr-defined]


@pytest.mark.req("OAP-099")
async def test_history_lists_live_and_closed_across_a_restart(path: Path, clock: ManualClock) -> None:
    """Newest first; a restart ends every session and not its history; no name of the harness is shown."""
    async with hub_on(path, Modelled(), clock) as hub:
        await hub.open("a", opens("old"))
    clock.advance(timedelta(seconds=1))
    async with hub_on(path, Modelled(), clock) as hub:
        await hub.open("a", opens("new"))
        at = int(NOON.timestamp() * 1000)
        assert (await hub.history()).sessions == (
            HistoryEntry(session_id="new", adapter="a", state="live", updated_at_ms=at + 1000, model="model-1"),
            HistoryEntry(session_id="old", adapter="a", state="closed", updated_at_ms=at, model="model-1"),
        )


@pytest.mark.req("OAP-099")
async def test_pages_follow_one_another_without_gap_or_repeat() -> None:
    """Ties are broken by the id; a page is a snapshot, and the cursor a place."""
    history = History(issuer="h")
    for number in range(120):
        await history.append(Binding(action="opened", session_id=f"s{number:03d}", adapter="a", at_ms=number // 7))
    whole: list[str] = []
    cursor, sizes = None, []
    while True:
        page = await history.page(lambda _: False, cursor=cursor)
        sizes.append(len(page.sessions))
        whole += [entry.session_id for entry in page.sessions]
        if page.next_cursor is None:
            break
        cursor = page.next_cursor
    assert sizes == [50, 50, 20]
    assert whole == [f"s{number:03d}" for number in sorted(range(120), key=lambda n: (-(n // 7), n))]
    assert len((await history.page(lambda _: False, limit=100)).sessions) == 100


@pytest.mark.req("OAP-099")
async def test_a_limit_or_cursor_that_is_none_is_refused() -> None:
    """A cursor of another hub is none."""
    ours, theirs = History(issuer="ours"), History(issuer="theirs")
    for number in range(3):
        await theirs.append(Binding(action="opened", session_id=str(number), adapter="a", at_ms=1))
    foreign = (await theirs.page(lambda _: False, limit=1)).next_cursor
    for how, expected in (
        ({"limit": 0}, "invalid_request"),
        ({"limit": 101}, "invalid_request"),
        ({"cursor": ""}, "invalid_cursor"),
        ({"cursor": "x"}, "invalid_cursor"),
        ({"cursor": foreign}, "invalid_cursor"),
    ):
        with pytest.raises(Refused) as caught:
            await ours.page(lambda _: False, **how)  # type: ignore[arg-type]
        assert caught.value.refusal.code == expected


async def test_a_history_that_cannot_be_written_stops_no_session(path: Path, clock: ManualClock) -> None:
    """The disk is full: the session opens all the same."""
    history = HistoryFile(path, issuer="h")
    os.close(history._descriptor)
    history._descriptor = os.open("/dev/full", os.O_RDWR)
    registry = registry_of(ScriptedAdapter())
    async with Hub(registry, clock=clock, ids=CountingIds(), history=history) as hub:
        assert code(await hub.open("a", opens("s1"))) == "session.open.response"
    history.close()
