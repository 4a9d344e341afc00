"""Server-sent events on both sides: an ASGI answer that streams them, a reader that takes them from bytes.

Framing is `core.frames`' and counts bytes, never decoded lines. What the events are, what a reader missed and when a
stream ends is the sender's. A slow reader holds `events` back here: a source that must not wait bounds its own queue.
"""

from __future__ import annotations

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


class EventStream:
    """An ASGI answer. It ends when `events` does, or when the client leaves; either way `events` is closed.

    The head goes out at once. A comment every `keep_open` real seconds lets both sides notice a dead connection.
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
        self._turn = anyio.Lock()

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        failure: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, receive, group.cancel_scope)
            group.start_soon(self._comment, send)
            try:
                await self._pump(send)
            except Exception as error:  # noqa: BLE001 - headers are out: a source that breaks can only end the stream
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def _pump(self, send: Send) -> None:
        try:
            async for event in self._events:
                await self._send(send, write_sse(event))
        finally:
            if isinstance(self._events, AsyncGenerator):
                with anyio.CancelScope(shield=True):
                    await self._events.aclose()
        async with self._turn:
            await send({"type": "http.response.body", "body": b""})

    async def _send(self, send: Send, data: bytes) -> None:
        async with self._turn:
            await send({"type": "http.response.body", "body": data, "more_body": True})

    async def _comment(self, send: Send) -> None:
        while True:
            await anyio.sleep(self._keep_open)
            await self._send(send, _COMMENT)

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
