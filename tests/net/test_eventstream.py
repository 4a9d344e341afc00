"""Event streams over real HTTP: whole events, a clean end on both sides, nobody left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

import anyio
import httpx2
import pytest
from starlette.types import Message, Receive, Scope, Send

from sayso.core.frames import SseEvent, write_sse
from sayso.core.refusal import Refused
from sayso.net.eventstream import EventStream, read_events
from sayso.net.listen import serving

pytestmark = pytest.mark.anyio

EVENTS = [
    SseEvent(data='{"t":"a\u2028b\u0085c"}'.encode(), id="1"),
    SseEvent(data=b'{"n":1}', event="oap-subscribed", id="1"),
    SseEvent(data=b"two\nlines", id="2"),
    SseEvent(data=b"x" * 200_000, id="3"),
]


async def stream_of(events: Iterable[SseEvent]) -> AsyncIterator[SseEvent]:
    for event in events:
        yield event


async def cut(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def test_what_is_sent_is_read_and_both_sides_end() -> None:
    """B02: U+2028 inside data ends no line; names, ids and long events arrive as they were."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await EventStream(stream_of(EVENTS), headers=[(b"x-one", b"1")])(scope, receive, send)

    async with (
        serving(app) as address,
        httpx2.AsyncClient(trust_env=False) as client,
        client.stream("GET", address.url) as response,
    ):
        read = [event async for event in read_events(response.aiter_raw())]
    assert read == EVENTS
    headers = {name: response.headers[name] for name in ("content-type", "cache-control", "x-one")}
    assert headers == {"content-type": "text/event-stream", "cache-control": "no-store", "x-one": "1"}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
async def test_events_do_not_depend_on_how_the_stream_is_cut(size: int) -> None:
    """Every cut gives the same events, inside characters and between CR and LF too."""
    data = "data: a\u2028b\r\nid: 1\r\n\r\n: comment\r\n\r\nevent: x\rdata: 한글\r\rdata: never finished".encode()
    read = [event async for event in read_events(cut(data, size))]
    assert read == [SseEvent("a\u2028b".encode(), id="1"), SseEvent("한글".encode(), event="x", id="1")]


async def test_an_event_over_the_bound_ends_the_reading() -> None:
    """A sender cannot fill our memory with one event."""
    with pytest.raises(Refused) as caught:
        async for _ in read_events(cut(b"data: " + b"x" * 1000, 100), bound=500):
            pass
    assert caught.value.refusal.code == "event_too_long"


async def test_a_client_that_leaves_ends_the_source() -> None:
    """The source is closed where it waits, so that a subscription is released and not leaked."""
    released = asyncio.Event()

    async def source() -> AsyncIterator[SseEvent]:
        try:
            yield EVENTS[0]
            await asyncio.Event().wait()
        finally:
            released.set()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await EventStream(source())(scope, receive, send)

    async with serving(app) as address:
        async with httpx2.AsyncClient(trust_env=False) as client, client.stream("GET", address.url) as response:
            assert await anext(read_events(response.aiter_raw())) == EVENTS[0]
        await released.wait()


async def _never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_source_that_is_held_back_is_closed_too() -> None:
    """The client leaves while an event is being sent: the source, suspended at its yield, still runs its end."""
    released = asyncio.Event()
    left = asyncio.Event()

    async def source() -> AsyncIterator[SseEvent]:
        try:
            while True:
                yield EVENTS[0]
        finally:
            await asyncio.sleep(0)
            released.set()

    async def receive() -> Message:
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            left.set()
            await asyncio.Event().wait()

    await EventStream(source())({}, receive, send)
    assert released.is_set()


async def test_a_failing_source_fails_as_itself() -> None:
    """Not wrapped in a group, with no second head, and the answer does not end as if it were whole."""

    async def source() -> AsyncIterator[SseEvent]:
        yield EVENTS[0]
        raise ZeroDivisionError

    sent: list[tuple[str, bool]] = []

    async def send(message: Message) -> None:
        sent.append((message["type"], message.get("more_body", True)))

    with pytest.raises(ZeroDivisionError):
        await EventStream(source())({}, _never, send)
    assert sent == [("http.response.start", True), ("http.response.body", True)]


async def test_a_quiet_stream_is_kept_open_by_comments() -> None:
    """Comments tell a dead connection from a quiet one, and a reader sees none of them."""
    bodies: list[bytes] = []
    enough = asyncio.Event()

    async def source() -> AsyncIterator[SseEvent]:
        await enough.wait()
        yield EVENTS[1]

    async def send(message: Message) -> None:
        bodies.append(message.get("body", b""))
        if bodies.count(b":\n\n") == 2:
            enough.set()

    with anyio.fail_after(30):
        await EventStream(source(), keep_open=0.01)({}, _never, send)
    read = [event async for event in read_events(cut(b"".join(bodies), 5))]
    assert (bodies[:3], read) == ([b"", b":\n\n", b":\n\n"], [EVENTS[1]])


async def test_what_comes_at_once_goes_out_at_once() -> None:
    """One write for all that is there, the end with it; and nothing waits for what comes later."""
    bodies: list[tuple[bytes, bool]] = []
    first_sent = asyncio.Event()

    async def source() -> AsyncIterator[SseEvent]:
        yield EVENTS[0]
        await first_sent.wait()
        for event in EVENTS[1:3]:
            yield event

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            bodies.append((message["body"], message["more_body"]))
            first_sent.set()

    await EventStream(source())({}, _never, send)
    assert bodies == [(write_sse(EVENTS[0]), True), (b"".join(write_sse(event) for event in EVENTS[1:3]), False)]


async def test_a_slow_reader_holds_the_source_back() -> None:
    """Nothing gathers without a bound while one write waits for the reader."""
    asked, left = 0, asyncio.Event()

    async def source() -> AsyncIterator[SseEvent]:
        nonlocal asked
        for _ in range(1000):
            asked += 1
            yield SseEvent(b"x" * 1000)

    async def receive() -> Message:
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            for _ in range(50):
                await asyncio.sleep(0)
            left.set()
            await asyncio.Event().wait()

    await EventStream(source())({}, receive, send)
    assert asked <= 3 * 65
