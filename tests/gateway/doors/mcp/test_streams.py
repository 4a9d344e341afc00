"""Event streams over a real socket: the session's, and the modern subscription's (wire fact 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx2
import orjson
import pytest

from sayso.core.clock import ManualClock
from sayso.core.frames import SseEvent
from sayso.gateway.crossing import Agent
from sayso.gateway.doors.mcp.endpoint import MESSAGE_PATH
from sayso.gateway.doors.mcp.read.revisions import CAPABILITIES_KEY, MODERN, SUBSCRIPTION_KEY, VERSION_KEY
from sayso.gateway.doors.mcp.sessions import McpSession, Sessions
from sayso.gateway.doors.mcp.streams import LASTS, MOST_STREAMS, Streams, read_event_id
from sayso.governance.proposal import Decider
from sayso.net.eventstream import read_events
from sayso.store.unit import Store
from sayso.testing.gateway import sign
from sayso.testing.store import START
from tests.gateway.doors.mcp.speaking import BOTH, Speaker, request, speaking

pytestmark = pytest.mark.anyio

OWNER = Decider(id="per_1", name="Ada", role="owner")
UPDATED = "notifications/resources/updated"


@asynccontextmanager
async def listening(
    speaker: Speaker, method: str, body: bytes = b"", **headers: str
) -> AsyncIterator[tuple[httpx2.Response, AsyncIterator[SseEvent]]]:
    """An open stream and its events."""
    named = {"accept": BOTH, "content-type": "application/json"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    signed = sign(speaker.key, body, method, MESSAGE_PATH, clock=speaker.bench.clock)
    stream = speaker.http.stream(method, speaker.url, content=body or None, headers={**named, **signed})
    with anyio.fail_after(60):
        async with stream as answer:
            assert answer.status_code == 200, await answer.aread()
            assert answer.headers["content-type"] == "text/event-stream"
            assert answer.headers["x-accel-buffering"] == "no"
            yield answer, aiter(read_events(answer.aiter_raw()))


async def propose(speaker: Speaker, text: str) -> str:
    answer = await speaker.modern("tools/call", {"name": "take_note", "arguments": {"text": text}})
    return str(answer.json()["result"]["structuredContent"]["proposal_id"])


async def reject(speaker: Speaker, proposal: str) -> None:
    await speaker.bench.gate.reject(proposal, OWNER, reason="no")


async def read(events: AsyncIterator[SseEvent]) -> tuple[str | None, Any]:
    event = await anext(events)
    return event.id, orjson.loads(event.data) if event.data else None


def told(proposal: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": f"osz://proposals/{proposal}"}}


@pytest.mark.req("GTW-002", "GTW-034")
async def test_a_session_hears_that_its_proposal_moved(tmp_path: Path, location: str) -> None:
    """Once for each move, with an id; a proposal it did not ask for is not told of. On either engine."""
    async with speaking(tmp_path, location=location) as (ada,):
        session = await ada.open("2025-06-18")
        mine, other = await propose(ada, "mine"), await propose(ada, "other")
        uri = f"osz://proposals/{mine}"
        assert (await ada.ask(session, "resources/subscribe", {"uri": uri})).json()["result"] == {}
        async with listening(ada, "GET", mcp_session_id=session) as (_, events):
            await reject(ada, other)
            await reject(ada, mine)
            assert await read(events) == ("get-1", told(mine))


@pytest.mark.req("GTW-002")
async def test_what_is_subscribed_to_meanwhile_is_heard_on_the_open_stream(tmp_path: Path) -> None:
    """And the stream ends when its session does."""
    async with speaking(tmp_path) as (ada,):
        session = await ada.open("2025-11-25")
        async with listening(ada, "GET", mcp_session_id=session) as (_, events):
            assert await read(events) == ("get-0", None)
            proposal = await propose(ada, "mine")
            await ada.ask(session, "resources/subscribe", {"uri": f"osz://proposals/{proposal}"})
            await reject(ada, proposal)
            assert await read(events) == ("get-1", told(proposal))
            await ada.send("DELETE", mcp_session_id=session)
            with pytest.raises(StopAsyncIteration):
                await anext(events)


@pytest.mark.req("GTW-002")
async def test_a_stream_that_broke_is_taken_up_where_it_was(tmp_path: Path) -> None:
    """What happened meanwhile is told; what was told after the last event seen, again; nothing else twice."""
    async with speaking(tmp_path) as (ada,):
        session = await ada.open("2025-06-18")
        first, second = await propose(ada, "first"), await propose(ada, "second")
        for proposal in (first, second):
            await ada.ask(session, "resources/subscribe", {"uri": f"osz://proposals/{proposal}"})
        async with listening(ada, "GET", mcp_session_id=session) as (_, events):
            await reject(ada, first)
            assert await read(events) == ("get-1", told(first))
        await reject(ada, second)
        async with listening(ada, "GET", mcp_session_id=session, last_event_id="get-0") as (_, events):
            assert await read(events) == ("get-1", told(first))
            again, message = await read(events)
            assert message == told(second)
        async with listening(ada, "GET", mcp_session_id=session, last_event_id=str(again)) as (_, events):
            third = await propose(ada, "third")
            await ada.ask(session, "resources/subscribe", {"uri": f"osz://proposals/{third}"})
            await reject(ada, third)
            assert (await read(events))[1] == told(third)


@pytest.mark.parametrize("text", [None, "", "1", "get-", "get--1", "get-1x", "get-" + "9" * 10, "post-1"])
def test_an_event_id_of_somebody_else_is_none(text: str | None) -> None:
    """The stream then begins as if nothing had been seen."""
    assert read_event_id(text) is None


def listen(id_: Any, *uris: str, **more: Any) -> bytes:
    meta = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}}
    wanted = {"resourceSubscriptions": list(uris), **more}
    return orjson.dumps(request("subscriptions/listen", {"notifications": wanted, "_meta": meta}, id_))


MODERN_HEADERS = {"mcp_protocol_version": MODERN, "mcp_method": "subscriptions/listen"}


@pytest.mark.req("GTW-002", "GTW-034")
async def test_a_modern_subscription_acknowledges_and_then_tells(tmp_path: Path) -> None:
    """First what is honoured: neither another agent's proposal nor a list that never changes. Each frame is tagged."""
    clock = ManualClock(START)
    async with speaking(tmp_path, "ada", "eve", clock=clock) as (ada, eve):
        mine, hers = await propose(ada, "mine"), await propose(eve, "hers")
        body = listen("sub", f"osz://proposals/{mine}", f"osz://proposals/{hers}", "osz://none", toolsListChanged=True)
        async with listening(ada, "POST", body, **MODERN_HEADERS) as (answer, events):
            assert "mcp-session-id" not in answer.headers
            tag = {SUBSCRIPTION_KEY: "sub"}
            assert await read(events) == (
                None,
                {
                    "jsonrpc": "2.0",
                    "method": "notifications/subscriptions/acknowledged",
                    "params": {"notifications": {"resourceSubscriptions": [f"osz://proposals/{mine}"]}, "_meta": tag},
                },
            )
            await reject(eve, hers)
            await reject(ada, mine)
            message = told(mine)
            assert await read(events) == (None, {**message, "params": {**message["params"], "_meta": tag}})
            clock.advance(LASTS + timedelta(seconds=1))
            last = (await read(events))[1]
            assert (last["id"], last["result"]["resultType"]) == ("sub", "complete")
            assert last["result"]["_meta"][SUBSCRIPTION_KEY] == "sub"
            with pytest.raises(StopAsyncIteration):
                await anext(events)


async def revoke(speaker: Speaker) -> None:
    await speaker.bench.agents.revoke(speaker.agent, by="owner")


async def suspend(speaker: Speaker) -> None:
    await speaker.bench.agents.suspend(speaker.agent, by="owner", reason="holiday")


@pytest.mark.req("GTW-010")
@pytest.mark.parametrize("stop", [revoke, suspend])
@pytest.mark.parametrize("version", ["2025-06-18", MODERN])
async def test_a_stream_tells_nothing_once_its_key_is_gone(
    tmp_path: Path, version: str, stop: Callable[[Speaker], Awaitable[None]]
) -> None:
    """Revoked or suspended: it ends without a further word, in either era."""
    async with speaking(tmp_path) as (ada,):
        proposal = await propose(ada, "mine")
        uri = f"osz://proposals/{proposal}"
        if version == MODERN:
            stream = listening(ada, "POST", listen("sub", uri), **MODERN_HEADERS)
        else:
            session = await ada.open(version)
            await ada.ask(session, "resources/subscribe", {"uri": uri})
            stream = listening(ada, "GET", mcp_session_id=session)
        async with stream as (_, events):
            if version == MODERN:
                assert (await read(events))[1]["method"] == "notifications/subscriptions/acknowledged"
            await stop(ada)
            await reject(ada, proposal)
            with pytest.raises(StopAsyncIteration):
                await anext(events)


@pytest.mark.req("GTW-002", "GTW-021a")
async def test_a_subscription_looks_up_addresses_only_and_each_once(tmp_path: Path, location: str) -> None:
    """What no address can be is not honoured, and asked of no store: on Postgres a NUL would break the statement."""
    async with speaking(tmp_path, location=location) as (ada,):
        strange = ["osz://proposals/a\0b", "test://template/a\0b/data", "osz://d\u00f6mains", "", "osz://none"]
        body = listen(1, "osz://constitution", *strange, "osz://constitution")
        async with listening(ada, "POST", body, **MODERN_HEADERS) as (_, events):
            honoured = (await read(events))[1]["params"]["notifications"]
        assert honoured == {"resourceSubscriptions": ["osz://constitution"]}


class Halves:
    """Two things to hear of: one that moves when it is looked at, and one that never moves."""

    def __init__(self, store: Store) -> None:
        self.asked: list[str] = []
        self._store = store

    async def moves(self, uri: str, _agent: Agent) -> int:
        self.asked.append(uri)
        await self._store.unit(lambda unit: unit.wake("moving"))
        return len(self.asked) - 1

    def channel(self, uri: str) -> str | None:
        return uri if uri == "moving" else None


ADA = Agent(id="ada", name="ada", owner="house", scopes=frozenset())


async def test_what_never_moves_is_not_read_again(store: Store, clock: ManualClock) -> None:
    """Only what has moved is worth a look; a stream that waits costs no more for what else it named."""
    heard = Halves(store)
    streams = Streams(Sessions(store, "house"), heard, store, clock)
    told = {"still": 0, "moving": 0}
    events = streams.of_subscription(told, ADA, lambda _view: True, {SUBSCRIPTION_KEY: "s"}, {})
    with anyio.fail_after(60):
        await anext(events)
    await events.aclose()  # type: ignore[attr-defined]
    assert heard.asked == ["moving", "moving"]


@pytest.mark.req("GTW-020")
async def test_of_streams_that_found_room_at_once_no_more_stay_than_there_is(store: Store, clock: ManualClock) -> None:
    """Room is looked for before a request is settled and taken after it; the one too many ends as soon as it begins."""
    sessions = Sessions(store, "house")
    await store.unit(lambda unit: sessions.open_in(unit, "s1", "ada", "2025-11-25"))
    full = Streams(sessions, Halves(store), store, clock, Counter({"ada": MOST_STREAMS}))
    of_session = full.of_session(McpSession("s1", "2025-11-25"), ADA, lambda _view: True, None)
    with pytest.raises(StopAsyncIteration):
        await anext(of_session)
    meta = {SUBSCRIPTION_KEY: "s"}
    of_subscription = full.of_subscription({"moving": -1}, ADA, lambda _view: True, meta, {"id": 1})
    assert (await anext(of_subscription)).data == b'{"id":1}'
    with pytest.raises(StopAsyncIteration):
        await anext(of_subscription)
    assert full.opened["ada"] == MOST_STREAMS


async def test_a_subscription_is_a_stream_or_nothing(tmp_path: Path) -> None:
    """406 for who cannot take one, 400 for a filter that is none."""
    async with speaking(tmp_path) as (ada,):
        plain = {"content_type": "application/json", **MODERN_HEADERS}
        answer = await ada.send("POST", listen(1), accept="application/json", **plain)
        assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (406, 40601, 1)
        bad = listen(1).replace(b'"resourceSubscriptions":[]', b'"resourceSubscriptions":7')
        answer = await ada.send("POST", bad, **plain)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32602)


@pytest.mark.req("GTW-020")
async def test_an_agent_has_so_many_streams(tmp_path: Path) -> None:
    """One more is refused, another agent's is not, and one that was closed makes room."""
    async with speaking(tmp_path, "ada", "eve") as (ada, eve), AsyncExitStack() as kept:
        session, hers = await ada.open("2025-11-25"), await eve.open("2025-11-25")
        first = await kept.enter_async_context(stream_of(ada, session))
        for _ in range(MOST_STREAMS - 1):
            await kept.enter_async_context(stream_of(ada, session))
        async with opening(ada, session) as refused:
            assert refused.status_code == 403
            assert orjson.loads(await refused.aread())["error"]["code"] == 40320
        await kept.enter_async_context(stream_of(eve, hers))
        await first.aclose()
        # The server learns of it when the connection is gone; each try is a round trip to it.
        for _ in range(500):
            async with opening(ada, session) as again:
                if again.status_code == 200:
                    return
        pytest.fail("the closed stream made no room")


def opening(speaker: Speaker, session: str) -> Any:
    """A GET for the session's stream."""
    signed = sign(speaker.key, b"", "GET", MESSAGE_PATH, clock=speaker.bench.clock)
    headers = {"accept": "text/event-stream", "mcp-session-id": session, **signed}
    return speaker.http.stream("GET", speaker.url, headers=headers)


@asynccontextmanager
async def stream_of(speaker: Speaker, session: str) -> AsyncIterator[httpx2.Response]:
    """A stream that has begun."""
    async with opening(speaker, session) as answer:
        assert answer.status_code == 200
        chunks = aiter(answer.aiter_raw())
        await anext(chunks)
        yield answer
        await chunks.aclose()
