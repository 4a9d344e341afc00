"""MCP over streamable HTTP: each message a POST to one endpoint, each answer JSON or an event stream.

A request whose way fails is answered here, by an error in its own name, so that nobody waits for what cannot come: a
connection that breaks, a status that is no success, a redirect, an answer over the bound or to another request, a
stream that ends early. Only the loss of the server's session is the loss of the connection.

A stream that ends early is not taken up again: the call fails, and what it did is not known.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeGuard

import anyio
import httpcore2
from anyio.abc import TaskGroup
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from sayso.control.mcp_sources.endpoint import Endpoint
from sayso.control.mcp_sources.limits import Limits
from sayso.control.mcp_sources.messages import UNANSWERED, Ends, Lost, join, read_message, write_message
from sayso.core.frames import SseDecoder
from sayso.core.refusal import Refusal, Refused

__all__ = ("over_http",)

_JSON, _EVENTS = "application/json", "text/event-stream"
_CONNECT_SECONDS = 10.0
_SMALL_SECONDS = 10.0
"""For what has no answer: a notification, our answer to a request of theirs."""
_BYE_SECONDS = 2.0
_REOPENINGS = 5
_LASTED_SECONDS = 5.0
_FAILURES = (OSError, httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError)
_SESSION, _VERSION = b"mcp-session-id", b"mcp-protocol-version"
_Header = tuple[bytes, bytes]


class _NotAnsweredError(Exception):
    """A request has no answer; never leaves this module."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code
        self.why = why


@asynccontextmanager
async def over_http(
    endpoint: Endpoint, pool: httpcore2.AsyncConnectionPool, limits: Limits, lost: Lost
) -> AsyncIterator[Ends]:
    """The way to one endpoint. At its end the server is told that its session is over."""
    ends = join()
    way = _Way(endpoint, pool, limits, lost, ends)
    try:
        async with pool, anyio.create_task_group() as tasks:
            tasks.start_soon(way.send_all, tasks)
            try:
                yield ends
            finally:
                tasks.cancel_scope.cancel()
                await way.say_bye()
    finally:
        ends.close()


@dataclass(slots=True, eq=False)
class _Way:
    endpoint: Endpoint
    pool: httpcore2.AsyncConnectionPool
    limits: Limits
    lost: Lost
    ends: Ends
    session: list[_Header] = field(default_factory=list)
    version: list[_Header] = field(default_factory=list)
    flying: dict[RequestId, anyio.CancelScope] = field(default_factory=dict)

    async def send_all(self, tasks: TaskGroup) -> None:
        async with self.ends.outbound:
            async for sent in self.ends.outbound:
                message = sent.message
                if isinstance(message, JSONRPCRequest):
                    scope = self.flying[message.id] = anyio.CancelScope()
                    tasks.start_soon(self._ask, message, self._named(sent), scope)
                elif _is(message, "notifications/initialized"):
                    await self._tell(message, self._named(sent))
                    tasks.start_soon(self._hear)
                elif not self._cancels(message):
                    tasks.start_soon(self._tell, message, self._named(sent))

    async def say_bye(self) -> None:
        if self.session:
            with anyio.move_on_after(_BYE_SECONDS, shield=True), suppress(*_FAILURES, Refused):
                async with self._exchange("DELETE", self.session):
                    pass

    def _named(self, sent: SessionMessage) -> list[_Header]:
        """The headers a message needs beside the endpoint's own; remembers the protocol's version."""
        named = dict(sent.metadata.headers or {}) if isinstance(sent.metadata, ClientMessageMetadata) else {}
        if isinstance(sent.message, JSONRPCRequest) and sent.message.method == "initialize":
            self.version = []
        found = [(name.lower().encode(), value.encode()) for name, value in named.items()]
        self.version = [each for each in found if each[0] == _VERSION] or self.version
        others = [each for each in found if each[0] != _VERSION]
        return [*others, *self.version, *self.session]

    def _cancels(self, message: JSONRPCNotification | JSONRPCResponse | JSONRPCError) -> bool:
        """Closes the stream of a request that is given up; whether that alone says so (it does from 2026-07-28 on)."""
        if not _is(message, "notifications/cancelled"):
            return False
        scope = self.flying.get((message.params or {}).get("requestId", ""))
        if scope is not None:
            scope.cancel()
        return any(value.decode() in MODERN_PROTOCOL_VERSIONS for _, value in self.version)

    # --- requests ---

    async def _ask(self, request: JSONRPCRequest, headers: list[_Header], scope: anyio.CancelScope) -> None:
        with scope:
            try:
                await self._answer(request, headers)
            except _NotAnsweredError as fault:
                await self._settle(request, fault)
            except Refused as refused:
                await self._settle(request, _NotAnsweredError(PARSE_ERROR, refused.refusal.message))
            except _FAILURES as error:
                await self._settle(request, _NotAnsweredError(CONNECTION_CLOSED, _why(error)))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass  # the session is gone
        self.flying.pop(request.id, None)

    async def _settle(self, request: JSONRPCRequest, fault: _NotAnsweredError) -> None:
        error = ErrorData(code=fault.code, message=fault.why, data=UNANSWERED)
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._hand(JSONRPCError(jsonrpc="2.0", id=request.id, error=error))

    async def _hand(self, message: JSONRPCMessage) -> None:
        self.ends.owed.take(message)
        await self.ends.inbound.send(SessionMessage(message))

    async def _answer(self, request: JSONRPCRequest, headers: list[_Header]) -> None:
        async with self._exchange("POST", headers, write_message(request)) as response:
            kind = self._judge(response, request)
            if request.method == "initialize":
                self.session = [each for each in response.headers if each[0].lower() == _SESSION]
            if kind == _JSON:
                await self._take(read_message(await self._body(response)), request)
                return
            async with aclosing(self._events(response)) as events:
                async for data, _ in events:
                    if await self._take(read_message(data), request):
                        return
        raise _NotAnsweredError(CONNECTION_CLOSED, "its answer ended before it was whole")

    def _judge(self, response: httpcore2.Response, request: JSONRPCRequest) -> str:
        """The kind of an answer's body."""
        status, kind = response.status, _kind(response)
        if status == 404 and self.session:
            self.lost(Refusal(code="open_failed", message="it has ended our session", reason="session_ended"))
            raise _NotAnsweredError(CONNECTION_CLOSED, "it has ended our session")
        if 300 <= status < 400:
            raise _NotAnsweredError(INVALID_REQUEST, f"it answered with a redirect ({status}), which is not followed")
        if status in (401, 403):
            raise _NotAnsweredError(INVALID_REQUEST, f"it wants a credential it accepts ({status})")
        if kind not in (_JSON, _EVENTS) or (not 200 <= status < 300 and kind != _JSON) or status == 202:
            raise _NotAnsweredError(
                INVALID_REQUEST, f"it answered {request.method} with status {status} and no message"
            )
        return kind

    async def _take(self, message: JSONRPCMessage, request: JSONRPCRequest) -> bool:
        """Hands on a message; whether it was the request's answer. An answer to another request answers nobody."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            await self._hand(message)
            return False
        if isinstance(message, JSONRPCError) and message.id is None:
            message = JSONRPCError(jsonrpc="2.0", id=request.id, error=message.error)
        if message.id != request.id:
            raise _NotAnsweredError(INVALID_REQUEST, "it answered another request than the one it was asked")
        await self._hand(message)
        return True

    # --- what has no answer ---

    async def _tell(self, message: JSONRPCMessage, headers: list[_Header]) -> None:
        with anyio.move_on_after(_SMALL_SECONDS), suppress(*_FAILURES, Refused):
            async with self._exchange("POST", headers, write_message(message)):
                self.ends.owed.give(message)

    async def _hear(self) -> None:
        """What the server says unasked, for as long as it offers to."""
        pause, failures = 1.0, 0
        while failures < _REOPENINGS:
            began, failures = anyio.current_time(), failures + 1
            with suppress(*_FAILURES, Refused):
                async with self._exchange("GET", [*self.version, *self.session]) as response:
                    if response.status != 200 or _kind(response) != _EVENTS:
                        return
                    async with aclosing(self._events(response)) as events:
                        async for data, retry in events:
                            pause, failures = min(max(retry, 0.2), 30.0), 0
                            await self._hand(read_message(data))
            if anyio.current_time() - began > _LASTED_SECONDS:
                failures = 0  # what stands between us and a quiet server ends streams now and then
            await anyio.sleep(pause)

    # --- HTTP ---

    @asynccontextmanager
    async def _exchange(
        self, method: str, headers: list[_Header], body: bytes = b""
    ) -> AsyncIterator[httpcore2.Response]:
        sent = [
            (b"host", self.endpoint.authority.encode()),
            (b"accept-encoding", b"identity"),
            (b"user-agent", b"sayso"),
        ]
        sent += [(b"accept", f"{_JSON}, {_EVENTS}".encode() if method != "GET" else _EVENTS.encode())]
        if body:
            sent += [(b"content-type", _JSON.encode()), (b"content-length", str(len(body)).encode())]
        timeouts = {"connect": _CONNECT_SECONDS, "pool": _CONNECT_SECONDS, "write": _CONNECT_SECONDS}
        request = httpcore2.Request(
            method,
            self.endpoint.url,
            headers=[*sent, *headers, *self.endpoint.headers],
            content=body,
            extensions={"timeout": timeouts},
        )
        response = await self.pool.handle_async_request(request)
        try:
            yield response
        finally:
            with anyio.move_on_after(_BYE_SECONDS, shield=True):
                await response.aclose()

    async def _body(self, response: httpcore2.Response) -> bytes:
        body = bytearray()
        async with aclosing(response.aiter_stream()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > self.limits.message_bytes:
                    raise _NotAnsweredError(INVALID_REQUEST, f"its answer is over {self.limits.message_bytes} bytes")
        return bytes(body)

    async def _events(self, response: httpcore2.Response) -> AsyncGenerator[tuple[bytes, float], None]:
        """The data of each event that carries a message, and the pause asked for before coming again, in seconds."""
        decoder = SseDecoder(self.limits.message_bytes)
        async with aclosing(response.aiter_stream()) as chunks:
            async for chunk in chunks:
                for event in decoder.feed(chunk):
                    if event.event == "message" and event.data:
                        yield event.data, (decoder.retry or 1000) / 1000


def _is(message: JSONRPCMessage, method: str) -> TypeGuard[JSONRPCNotification]:
    return isinstance(message, JSONRPCNotification) and message.method == method


def _kind(response: httpcore2.Response) -> str:
    found = [value for name, value in response.headers if name.lower() == b"content-type"]
    return found[0].decode("latin-1").partition(";")[0].strip().lower() if found else ""


def _why(error: BaseException) -> str:
    """In our words: a library's text may quote the URL."""
    if isinstance(error, httpcore2.ConnectError | httpcore2.ConnectTimeout):
        return "no connection could be made"
    if isinstance(error, TimeoutError | httpcore2.TimeoutException):
        return "it was silent for too long"
    if isinstance(error, httpcore2.ProtocolError):
        return "what it sent is not whole, valid HTTP"
    return "the connection broke"
