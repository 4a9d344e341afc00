"""Peers for the tests of this floor: real sockets on loopback that do exactly what a script says, bytes and all."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import httpcore2
import trustme

from sayso.net.listen import Address

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Peer:
    """A listening peer. `requests` are the heads and bodies it read, `connections` how often it was dialled."""

    def __init__(self) -> None:
        self.port = 0
        self.connections = 0
        self.closed = asyncio.Event()
        self.requests: list[bytes] = []

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def last_head(self) -> list[bytes]:
        return self.requests[-1].partition(b"\r\n\r\n")[0].split(b"\r\n")

    async def read_request(self, reader: asyncio.StreamReader) -> bytes:
        head = await reader.readuntil(b"\r\n\r\n")
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        request = head + await reader.readexactly(length)
        self.requests.append(request)
        return request


@asynccontextmanager
async def peer(handle: Callable[[Peer, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
               tls: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:  # fmt: skip
    """Runs `handle` for each connection until the block ends."""
    it = Peer()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        it.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            await handle(it, reader, writer)
        writer.close()
        with suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()
        it.closed.set()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    it.port = server.sockets[0].getsockname()[1]
    try:
        yield it
    finally:
        server.close()


def answering(*answers: bytes) -> Callable[[Peer, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """A peer that gives these answers in turn, over however many connections; the last one again for ever."""
    left = list(answers)

    async def handle(it: Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await it.read_request(reader)
            writer.write(left.pop(0) if len(left) > 1 else left[0])
            await writer.drain()

    return handle


def answer(
    body: bytes = b"{}", *, status: str = "200 OK", headers: Sequence[str] = ("Content-Type: application/json",)
) -> bytes:
    """An HTTP answer with its length."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


class MappedNetwork:
    """The internet as a test says it is: names to addresses, public addresses to loopback ports. Sockets are real."""

    def __init__(self, names: Mapping[str, Sequence[Sequence[str]]], ports: Mapping[str, int]) -> None:
        self._names = {name: list(answers) for name, answers in names.items()}
        self._ports = ports
        self._sockets = httpcore2.AnyIOBackend()
        self.asked: list[str] = []
        self.dialled: list[tuple[str, int]] = []

    async def addresses(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        if host not in self._names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        answers = self._names[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def connect(self, address: str, port: int) -> httpcore2.AsyncNetworkStream:
        self.dialled.append((address, port))
        if address not in self._ports:
            raise ConnectionRefusedError(address)
        return await self._sockets.connect_tcp("127.0.0.1", self._ports[address])


class Authority:
    """A certificate authority that only this test believes."""

    def __init__(self) -> None:
        self._ca = trustme.CA()
        self.names_asked: list[str | None] = []
        self.trust = ssl.create_default_context()
        self._ca.configure_trust(self.trust)

    def server(self, *names: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*names).configure_cert(context)
        context.sni_callback = lambda _socket, name, _context: self.names_asked.append(name)
        return context


async def ask(address: Address, *parts: bytes) -> bytes:
    """Sends raw bytes to a server, a flush after each part, and reads until it closes."""
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        return await reader.read()
    finally:
        writer.close()
