"""An MCP endpoint over plain sockets that misbehaves in one named way; keeps what it was sent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

CAPABILITIES = {"tools": {"listChanged": True}}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": {"name": "raw", "version": "1"}}
NEWER = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": CAPABILITIES,
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}
TOOLS = {"tools": [{"name": "go", "inputSchema": {"type": "object"}}]}
WENT = {"content": [{"type": "text", "text": "went"}]}
EVENTS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
AS_JSON = "content-type: application/json"
SENT = {
    "ends_the_session": ("404 Not Found", b""),
    "accepts_only": ("202 Accepted", b""),
    "bad_json": ("200 OK", b'{"jsonrpc":"2.0","id":1,"id":2}', AS_JSON),
    "huge": ("200 OK", b'"' + b"x" * 200_000 + b'"', AS_JSON),
    "redirects_calls": ("302 Found", b"", "location: http://127.0.0.1:1/"),
    "fails": ("500 Internal Server Error", b"trace", "content-type: text/plain"),
}
BROKEN = {
    "breaks_off": b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{",
    "is_not_http": b"SSH-2.0-OpenSSH\r\n",
    "ends_its_stream": EVENTS + b": nothing\n\n",
    "huge_event": EVENTS + b"data: " + b"x" * 200_000 + b"\n\n",
}


@dataclass
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    message: dict[str, Any]


@dataclass
class RawEndpoint:
    """`way` may be changed while it serves."""

    way: str
    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    gone: anyio.Event = field(default_factory=anyio.Event)
    """A client closed a stream that it was being answered on."""

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            try:
                while True:
                    asked = await self._read(stream)
                    self.asked.append(asked)
                    await self._answer(stream, asked)
            except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass  # one of us is done with this connection

    def _is_newer(self) -> bool:
        return any(asked.message.get("method") == "server/discover" for asked in self.asked)

    async def _read(self, stream: SocketStream) -> Asked:
        buffered = BufferedByteReceiveStream(stream)
        head = (await buffered.receive_until(b"\r\n\r\n", 65536)).decode()
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = (
            await buffered.receive_exactly(int(headers.get("content-length", 0)))
            if "content-length" in headers
            else b""
        )
        method, path, _ = first.split(" ")
        return Asked(method, path, headers, json.loads(body) if body else {})

    async def _answer(self, stream: SocketStream, asked: Asked) -> None:
        match asked.message.get("method"):
            case "initialize":
                await self._initialize(stream, asked.message["id"])
            case "server/discover":
                await reply(stream, result(asked.message["id"], NEWER))
            case "tools/list":
                # The members of the newer revision; an older one knows none of them.
                newer = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if self._is_newer() else {}
                await reply(stream, result(asked.message["id"], {**TOOLS, **newer}))
            case "tools/call":
                await self._call(stream, asked)
            case None if asked.method == "GET":
                await self._get(stream)
            case _:
                await send(stream, "202 Accepted", b"")

    async def _initialize(self, stream: SocketStream, request_id: int) -> None:
        match self.way:
            case "redirects":
                await send(stream, "307 Temporary Redirect", b"", f"location: {self.url}/elsewhere")
            case "wants_a_key":
                await send(stream, "401 Unauthorized", b"", "www-authenticate: Bearer")
            case "is_newer":
                error = {"code": -32022, "message": "which?", "data": {"supported": ["2026-07-28"], "requested": "x"}}
                await send(stream, "400 Bad Request", refusal(request_id, error), AS_JSON)
            case "is_a_website":
                await send(stream, "200 OK", b"<html>", "content-type: text/html")
            case _:
                await reply(stream, result(request_id, HELLO), "mcp-session-id: s-1")

    async def _get(self, stream: SocketStream) -> None:
        if self.way != "tells_of_change":
            await send(stream, "405 Method Not Allowed", b"")
            return
        TOOLS["tools"] = [*TOOLS["tools"][:1], {"name": "more", "inputSchema": {"type": "object"}}]
        change = b'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'
        await stream.send(EVENTS + change)
        self.way = "fine"
        await stream.aclose()

    async def _call(self, stream: SocketStream, asked: Asked) -> None:
        number = asked.message["id"]
        if self.way in SENT:
            await send(stream, *SENT[self.way])
        elif self.way in BROKEN:
            await stream.send(BROKEN[self.way])
            await stream.aclose()
        elif self.way == "drips":
            await self._drip(stream, number)
        elif self.way == "never":
            await self._wait(stream)
        else:
            went = {**WENT, "resultType": "complete"} if self._is_newer() else WENT
            await reply(stream, result(number + (self.way == "answers_another"), went))
        if self.way == "ends_the_session":
            self.way = "fine"

    async def _wait(self, stream: SocketStream) -> None:
        await stream.send(EVENTS)
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            self.gone.set()
            raise

    async def _drip(self, stream: SocketStream, number: int) -> None:
        """Events cut at every byte, with a separator of Unicode inside, a request and a notification before."""
        said = {"content": [{"type": "text", "text": "a\u2028b"}]}
        ping = b'data: {"jsonrpc":"2.0","id":"p1","method":"ping"}\r\n\r\n'
        told = {"progressToken": 1, "progress": 1}
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": told}
        answer = {"jsonrpc": "2.0", "id": number, "result": said}
        whole = b"\xef\xbb\xbf" + ping + b"data: " + json.dumps(progress).encode() + b"\r\n\r\nid: 1\r\ndata: "
        whole += json.dumps(answer, ensure_ascii=False).encode()
        await stream.send(EVENTS)
        for byte in whole + b"\r\n\r\n":
            await stream.send(bytes((byte,)))
        await stream.aclose()


def result(request_id: int, value: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": value}).encode()


def refusal(request_id: int, error: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()


async def reply(stream: SocketStream, body: bytes, *headers: str) -> None:
    await send(stream, "200 OK", body, AS_JSON, *headers)


async def send(stream: SocketStream, status: str, body: bytes, *headers: str) -> None:
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", *headers, f"content-length: {len(body)}"))
    await stream.send(head.encode() + b"\r\n" + body)


@asynccontextmanager
async def misbehaving(way: str) -> AsyncIterator[RawEndpoint]:
    TOOLS["tools"] = TOOLS["tools"][:1]
    endpoint = RawEndpoint(way)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    endpoint.url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/mcp?key=k"
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, endpoint.serve)
        yield endpoint
        tasks.cancel_scope.cancel()
