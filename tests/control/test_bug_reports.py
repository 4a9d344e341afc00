"""Faults reported of other hubs and clients, each with its input: permissions, replay, cancel, queue, the open port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import msgspec
import pytest

from sayso.client import Client, ServerError
from sayso.control.client.requests import resolve_request
from sayso.control.hub.bindings.http import serving_hub
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.protocol.envelope import Envelope, write_envelope
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.session import MessageSubmitResponse
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds, SystemIds
from sayso.core.refusal import Refused
from sayso.testing.adapter import ScriptedAdapter, ScriptedSession
from tests.control.conftest import Trace
from tests.control.houses import NOON, watched
from tests.control.hub.test_units import served, told
from tests.control.protocol.talk import cancelled, complete, of_run, say, start

pytestmark = pytest.mark.anyio
JSON = {"content-type": "application/json"}


@asynccontextmanager
async def peer(trace: Trace, *script: Any) -> AsyncIterator[tuple[Client, ScriptedSession]]:
    """A client over a socket, and the adapter's side of its session `s1`."""
    adapter, ids = ScriptedAdapter(*script), CountingIds()
    registry = Registry({"peer": adapter})
    async with (
        watched(),
        Hub(registry, clock=ManualClock(NOON), ids=ids, record=trace.record, patience=1) as hub,
        serving_hub(hub, ids, port=0) as address,
        Client(address.url, judged=True) as client,
    ):
        await client.open("peer", session_id="s1")
        yield client, adapter.sessions[0]


async def question(session: Any, run_id: object) -> Envelope[PermissionRequested]:
    async for envelope in session.events(run_id=str(run_id), after=0):
        if isinstance(envelope.payload, PermissionRequested):
            asked: Envelope[PermissionRequested] = envelope
            return asked
    raise AssertionError("nobody was asked")


@pytest.mark.req("OAP-017", "OAP-106")
async def test_b10_only_the_first_answer_of_the_right_person_counts(trace: Trace) -> None:
    """B10: answered twice, under an unknown id, by somebody else: 409 each time, and every reader sees one answer."""
    async with served(trace) as client:
        session = await client.start("memory")
        run = await session.submit("script: tools")
        asked = await question(session, run.run_id)
        windows: list[list[str]] = [[], []]

        async def watch(seen: list[str]) -> None:
            seen.extend([envelope.type async for envelope in session.events(run_id=str(run.run_id), after=0)])

        async with anyio.create_task_group() as tasks:
            for seen in windows:
                tasks.start_soon(watch, seen)
            codes = []
            ids = SystemIds()
            right = resolve_request(ids, asked, granted=True, signed=None, reason=None)
            stranger = msgspec.structs.replace(right.payload, responded_by="stranger")
            unknown = msgspec.structs.replace(right.payload, interaction_id="nobody-asked")
            async with httpx2.AsyncClient(base_url=client._wire.peer, trust_env=False) as http:
                for payload in (stranger, unknown, right.payload, right.payload):
                    request = msgspec.structs.replace(right, id=ids.new("req"), payload=payload)
                    answer = await http.post(
                        f"/sessions/{session.id}/resolve", content=write_envelope(request), headers=JSON
                    )
                    error = answer.json()["payload"].get("error", {})
                    codes.append((answer.status_code, error.get("code")))
    no = (409, "resolution_rejected")
    assert codes == [no, no, (200, None), no]
    assert [seen.count("action.permission.resolved") for seen in windows] == [1, 1]


@pytest.mark.req("OAP-019", "OAP-093")
async def test_b11_a_replayed_question_comes_with_what_became_of_it(trace: Trace) -> None:
    """B11: asked, cancelled, read again from before the question: the suffix has its end, and nothing is pending."""
    async with served(trace) as client:
        session = await client.start("memory")
        run = await session.submit("script: tools")
        asked = await question(session, run.run_id)
        waiting = await session.state()
        await session.cancel(str(run.run_id))
        again = [envelope async for envelope in session.events_after(run.run_id, int(asked.sequence or 0) - 1)]
        state = await session.state()
    (active,) = waiting.active_runs or ()
    assert list(active.pending_interactions or ())
    kinds = [envelope.type for envelope in again]
    assert kinds[0] == "action.permission.requested"
    assert "action.permission.resolved" in kinds[1:]
    assert kinds[-1] == "run.cancelled"
    assert (state.active_runs or (), state.status) == ((), "idle")


@pytest.mark.req("OAP-019", "OAP-105", "OAP-203")
async def test_b12_what_was_told_while_nobody_listened_is_not_lost(trace: Trace) -> None:
    """B12: the stream is dropped, a question is asked, answered from elsewhere, and the run ends."""
    async with served(trace) as client:
        session = await client.start("memory")
        run = await session.submit("script: tools")
        events = session.events(run_id=str(run.run_id), after=0)
        first = await anext(events)
        await events.aclose()
        asked = await question(session, run.run_id)
        await session.resolve(asked, granted=False)
        rest = [e async for e in session.events_after(run.run_id, int(first.sequence or 0))]
    assert [e.sequence for e in rest] == list(range(2, len(rest) + 2))
    assert {"action.permission.requested", "action.permission.resolved"} <= {e.type for e in rest}
    assert rest[-1].type == "run.completed"


@pytest.mark.req("OAP-014")
async def test_b13_a_cancel_that_lost_is_a_completion_and_says_so(trace: Trace) -> None:
    """B13: the adapter accepts the cancel and completes all the same: intent, no more. A cancelled run has no usage
    made up for it.
    """
    async with served(trace) as client:
        session = await client.start("memory")
        run = await session.submit("script: stubborn")
        await told(session, run.run_id, "content.delta")
        accepted = await session.cancel(str(run.run_id))
        kinds = [envelope.type async for envelope in session.events(run_id=str(run.run_id), after=0)]
        with pytest.raises(ServerError) as late:
            await session.cancel(str(run.run_id))
        other = await session.submit("script: hold")
        await told(session, other.run_id, "content.delta")
        await session.cancel(str(other.run_id))
        last: Any = [envelope async for envelope in session.events(run_id=str(other.run_id), after=0)][-1]
    assert (accepted.accepted, kinds[-1], late.value.code) == (True, "run.completed", "run_terminal")
    assert (last.type, last.payload.usage) == ("run.cancelled", msgspec.UNSET)


@pytest.mark.req("OAP-004", "OAP-014")
async def test_b13_a_cancel_that_is_not_offered_is_refused_by_its_feature(trace: Trace) -> None:
    """B13: never taken and then ignored."""
    async with peer(trace, [start(), anyio.sleep_forever]) as (client, adapter):
        run = await client.submit("s1", "go")
        adapter.fault = Refused.because("unsupported_feature", "no cancel", details={"feature": "run.cancel"})
        with pytest.raises(ServerError) as refused:
            await client.cancel("s1", str(run.run_id))
        adapter.fault = None
    assert (refused.value.code, refused.value.details["feature"]) == ("unsupported_feature", "run.cancel")


@pytest.mark.req("OAP-012", "OAP-013", "OAP-014")
@pytest.mark.parametrize("order", ["cancel first", "end first"])
async def test_b14_the_first_end_counts_and_nothing_follows_it(trace: Trace, order: str) -> None:
    """B14: cancel and end in either order, late events behind the end, and the next message at once."""
    go = anyio.Event()

    async def until_asked() -> None:
        await go.wait()

    end = cancelled(2) if order == "cancel first" else complete(2)
    script = [start(), until_asked, end, say(3), complete(4)]
    second = [of_run("r2", 1, "run.started", status="running"), of_run("r2", 2, "run.failed", error=LOST)]
    async with peer(trace, script, second) as (client, _adapter):
        run = await client.submit("s1", "go")
        if order == "cancel first":
            await client.cancel("s1", str(run.run_id))
            go.set()
        else:
            go.set()
            _ = [envelope async for envelope in client.events("s1", run_id="r1", after=0)]
            with pytest.raises(ServerError) as late:
                await client.cancel("s1", "r1")
            assert late.value.code == "run_terminal"
        got = [envelope.type async for envelope in client.events("s1", run_id="r1", after=0)]
        await client.submit("s1", "more")
        after = [(e.run_id, e.sequence) async for e in client.events("s1", run_id="r2", after=0)]
    assert got == ["run.started", end.type]
    assert after == [("r2", 1), ("r2", 2)]


LOST = {"code": "endpoint_error", "message": "gone"}


class Queue:
    """Four runs of a session whose adapter queues: r1 and r3 are cancelled, r3 before its turn."""

    def __init__(self) -> None:
        self.ends = {name: anyio.Event() for name in ("r1", "r3")}
        self.done = {f"r{number}": anyio.Event() for number in range(1, 5)}
        self.scripts = [self.script(number) for number in range(1, 5)]

    def script(self, number: int) -> list[Any]:
        name = f"r{number}"

        async def turn() -> None:
            for before in range(1, number):
                await self.done[f"r{before}"].wait()

        async def over() -> None:
            self.done[name].set()

        if name == "r3":
            return [self.ends[name].wait, of_run(name, 1, "run.cancelled"), over]
        told = [turn, of_run(name, 1, "run.started", status="running")]
        if name == "r1":
            return [*told, self.ends[name].wait, of_run(name, 2, "run.cancelled"), over]
        reply = {"stop_reason": "end_turn", "final_response": {"role": "assistant", "content": "done"}}
        return [*told, of_run(name, 2, "run.completed", **reply), over]

    def admitting(self, adapter: ScriptedSession) -> Any:
        submit = adapter.submit

        async def queueing(request: Envelope[Any]) -> MessageSubmitResponse:
            admitted = await submit(request)
            if admitted.run_id == "r1":
                return admitted
            queued: dict[str, Any] = {"effective_delivery": "queue", "admission": "queued", "status": "queued"}
            return msgspec.structs.replace(admitted, **queued, delivery_resolution="session_busy")

        return queueing


@pytest.mark.req("OAP-012", "OAP-053")
async def test_b15_queued_messages_survive_the_interrupted_one(trace: Trace) -> None:
    """B15: A runs, B, C, D wait; C is cancelled, then A: C tells one end and starts nothing, B and D run in order."""
    queue = Queue()
    seen: list[tuple[object, str]] = []
    async with peer(trace, *queue.scripts) as (client, adapter):
        adapter.submit = queue.admitting(adapter)  # type: ignore[method-assign]
        for _ in range(4):
            await client.submit("s1", "go")

        async def watch() -> None:
            async for envelope in client.events("s1", after=0):
                seen.append((envelope.run_id, envelope.type))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            for name in ("r3", "r1"):
                await client.cancel("s1", name)
                queue.ends[name].set()
                await told(await client.attach("s1"), name, "run.cancelled")
    assert seen == [
        ("r1", "run.started"),
        ("r3", "run.cancelled"),
        ("r1", "run.cancelled"),
        ("r2", "run.started"),
        ("r2", "run.completed"),
        ("r4", "run.started"),
        ("r4", "run.completed"),
    ]


@pytest.mark.req("OAP-112", "OAP-113")
async def test_b26_a_web_page_drives_nothing(trace: Trace) -> None:
    """B26: an Origin, a rebound Host, a form's media type: refused on every route, close and those that are none too,
    before a body is read.
    """
    async with served(trace) as client:
        session = await client.start("memory")
        async with httpx2.AsyncClient(base_url=client._wire.peer, trust_env=False) as http:

            async def status(method: str, path: str, **headers: str) -> int:
                return (await http.request(method, path, headers=headers, content=b"x" * 10)).status_code

            own = f"/sessions/{session.id}"
            routes = [
                ("POST", f"{own}/{act}") for act in ("close", "submit", "resolve", "cancel", "model", "settings")
            ] + [("GET", f"{own}/{view}") for view in ("state", "tools", "models", "events")]
            routes += [("GET", "/adapters"), ("GET", "/sessions/history"), ("POST", "/no/such/route")]
            for method, path in routes:
                assert await status(method, path, origin="https://evil.example") == 403
                assert await status(method, path, host="evil.example:6270") == 403
            for act in ("submit", "resolve", "cancel", "model", "settings"):
                assert await status("POST", f"{own}/{act}", **{"content-type": "text/plain"}) == 415
        assert (await session.state()).status == "idle"
