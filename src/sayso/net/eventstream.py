"""Server-sent events on both sides: an ASGI answer that streams them, a reader that takes them from bytes.

Framing is `core.frames`' and counts bytes, never decoded lines. What the events are, what a reader missed and when a
stream ends is the sender's. A slow reader holds `events` back here, some bytes later: a source that must not wait
bounds its own queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable

import anyio
from starlette.types import Receive, Scope, Send

from sayso.core.frames import SseDecoder, SseEvent, write_sse

__all__ = ("EventStream", "read_events")

_KEEP_OPEN_SECONDS = 15.0
_COMMENT = b":\n\n"
_HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # a proxy that gathers answers would hold events back
)
_LONGEST_EVENT = 16 * 1024 * 1024
_HELD_BACK = 65_536
"""Bytes that wait for a slow reader before the source waits too."""


class EventStream:
    """An ASGI answer. It ends when `events` does, or when the client leaves; either way `events` is closed.

    The head goes out at once, and so does an event; what comes while one is being written goes out together, since each
    write costs more than an event. A comment every `keep_open` real seconds lets both sides notice a dead connection.
    """

    def __init__(
        self,
        events: AsyncIterable[SseEvent],
        *,
        headers: Iterable[tuple[bytes, bytes]] = (),
        keep_open: float = _KEEP_OPEN_SECONDS,
    ) -> None:
        self._events = events
        self._headers = [*_HEADERS, *headers]
        self._keep_open = keep_open
        self._waiting: list[bytes] = []
        self._size = 0
        self._is_over = False
        self._failure: Exception | None = None
        self._more, self._taken = asyncio.Event(), asyncio.Event()

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, receive, group.cancel_scope)
            group.start_soon(self._comment)
            group.start_soon(self._pump)
            try:
                await self._deliver(send)
            except Exception as error:  # noqa: BLE001 - a group would wrap the failure of whoever sends
                self._failure = error
            group.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure

    async def _pump(self) -> None:
        try:
            async for event in self._events:
                self._put(write_sse(event))
                while self._size > _HELD_BACK:
                    self._taken.clear()
                    await self._taken.wait()
        except Exception as error:  # noqa: BLE001 - headers are out: a source that breaks can only end the stream
            self._failure = error
        finally:
            if isinstance(self._events, AsyncGenerator):
                with anyio.CancelScope(shield=True):
                    await self._events.aclose()
        self._is_over = True
        self._more.set()

    def _put(self, data: bytes) -> None:
        self._waiting.append(data)
        self._size += len(data)
        self._more.set()

    async def _deliver(self, send: Send) -> None:
        is_last = False
        while not is_last:
            await self._more.wait()
            self._more.clear()
            data, is_last = b"".join(self._waiting), self._is_over
            self._waiting.clear()
            self._size = 0
            self._taken.set()
            is_whole = is_last and self._failure is None
            if data or is_whole:
                await send({"type": "http.response.body", "body": data, "more_body": not is_whole})

    async def _comment(self) -> None:
        while True:
            await anyio.sleep(self._keep_open)
            self._put(_COMMENT)

    async def _watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()


async def read_events(chunks: AsyncIterable[bytes], *, bound: int = _LONGEST_EVENT) -> AsyncIterator[SseEvent]:
    """The events of a received body, however it is cut into chunks. Refused `event_too_long` over `bound` bytes.

    Give it raw bytes (`aiter_raw`, never a line iterator). Status and media type are for the caller to judge first.
    """
    decoder = SseDecoder(bound)
    async for chunk in chunks:
        for event in decoder.feed(chunk):
            yield event
