"""The calls as bytes, and the client that sends them: the same for every server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import httptools
import uvloop

from bench.measure import stopwatch
from sayso.proof.requestmac import sign_request_mac

CONNECTIONS = 8
TEXT = "the quick brown fox jumps over the lazy dog, as it has done in every test since there are typewriters"
_META = (
    ',"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
)
_CALL = (
    '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"'
    + TEXT + '"}__meta__}}'
)  # fmt: skip
_OPEN = (
    '{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    '"clientInfo":{"name":"bench","version":"1"}}}'
)
_HEAD = (
    "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    "Accept: application/json, text/event-stream\r\n"
)


@dataclass(frozen=True, slots=True)
class Era:
    """How a revision asks: the lines of a call's head, its body, and the body that opens a session, if any."""

    revision: str
    lines: str
    call: str
    opening: str | None = None


MODERN = Era(
    "2026-07-28",
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n",
    _CALL.replace("__meta__", _META),
)
LEGACY = Era("2025-11-25", "MCP-Protocol-Version: 2025-11-25\r\n", _CALL.replace("__meta__", ""), _OPEN)
Sign = Callable[[bytes], str]


def nothing(_body: bytes) -> str:
    """For servers that ask for no key."""
    return ""


def bearer(token: str) -> Sign:
    """A token in each request."""
    return lambda _body: f"Authorization: Bearer {token}\r\n"


def signing(key: str) -> Sign:
    """The gateway's key and signature over each body, at this moment."""
    secret = key.encode()

    def sign(body: bytes) -> str:
        stamp = str(time.time_ns() // 1_000_000)
        mac = sign_request_mac(secret, stamp.encode(), body)
        return f"X-OSz-Agent-Key: {key}\r\nX-OSz-Timestamp: {stamp}\r\nX-OSz-Signature: {mac}\r\n"

    return sign


@dataclass(frozen=True, slots=True)
class Target:
    """Where calls go. Each connection signs with one of `signs`, in turn."""

    port: int
    path: str
    signs: tuple[Sign, ...] = (nothing,)
    era: Era = MODERN


@dataclass(frozen=True, slots=True)
class Round:
    """Calls a second, and percentiles of their latency in milliseconds."""

    rate: float
    p50: float
    p95: float
    p99: float


class _Caller(asyncio.Protocol):
    """One connection: the next call leaves when the last one is answered, until the time is over."""

    def __init__(self, target: Target, sign: Sign, until: float, took: list[float], done: asyncio.Future[None]) -> None:
        self.era, self.sign, self.until, self.took, self.done = target.era, sign, until, took, done
        self.head = _HEAD.format(path=target.path, port=target.port)
        self.lines = self.era.lines
        self.is_opening = self.era.opening is not None
        self.parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        if self.era.opening is not None:
            self.send(self.era.opening, "")
        else:
            self.send(self.era.call, self.lines)

    def send(self, body: str, lines: str) -> None:
        self.body = b""
        data = (body % next(_ids)).encode()
        head = f"{self.head}{lines}{self.sign(data)}Content-Length: {len(data)}\r\n\r\n"
        self.began = time.perf_counter()
        self.transport.write(head.encode() + data)

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(error)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.is_opening and name.lower() == b"mcp-session-id":
            self.lines += f"Mcp-Session-Id: {value.decode()}\r\n"

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        now, status = time.perf_counter(), self.parser.get_status_code()
        expected = b"serverInfo" if self.is_opening else TEXT.encode()
        if status != 200 or expected not in self.body or b'"isError":true' in self.body:
            self._fail(AssertionError(f"{status}: {self.body[:300]!r}"))
        elif now < self.until:
            if not self.is_opening:
                self.took.append(now - self.began)
            self.is_opening = False
            asyncio.get_running_loop().call_soon(self.send, self.era.call, self.lines)
        elif not self.done.done():
            self.took.append(now - self.began)
            self.transport.close()
            self.done.set_result(None)

    def connection_lost(self, _error: Exception | None) -> None:
        self._fail(AssertionError("the server hung up"))

    def _fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)
            self.transport.close()


_ids = count(1)


async def _call(target: Target, seconds: float, connections: int) -> tuple[float, list[float]]:
    loop = asyncio.get_running_loop()
    took: list[float] = []
    until = time.perf_counter() + seconds
    done = [loop.create_future() for _ in range(connections)]
    with stopwatch() as watch:
        for number, end in enumerate(done):
            sign = target.signs[number % len(target.signs)]
            await loop.create_connection(partial(_Caller, target, sign, until, took, end), "127.0.0.1", target.port)
        await asyncio.gather(*done)
    return watch.rate(len(took)), took


def load(target: Target, seconds: float, *, connections: int = CONNECTIONS) -> Round:
    """Calls for so many seconds; every answer must be right."""
    rate, took = uvloop.run(_call(target, seconds, connections))
    took.sort()
    p50, p95, p99 = (1000 * took[min(len(took) - 1, int(len(took) * part))] for part in (0.50, 0.95, 0.99))
    return Round(rate, p50, p95, p99)
