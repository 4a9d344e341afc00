"""Serving an ASGI application inside the running event loop, as a block: bound when it begins, gone when it ends.

The socket is bound before anything is promised, so a taken port is a plain refusal. No signal handler is installed
(Ctrl-C belongs to the command), no access log, no server or date header (the movable clock would contradict a date), no
trust in forwarding headers. Who may connect is decided by `edge`, not here.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import msgspec
from starlette.types import ASGIApp
from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sayso.core.refusal import Refused
from sayso.net.unbroken import unbroken

__all__ = ("LOOPBACK", "Address", "serving")

LOOPBACK = "127.0.0.1"
_IDLE_SECONDS = 30
_BACKLOG = 512
_LAST_SECONDS = 1.0
_HEAD_CAP = 65_536
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Address(msgspec.Struct, frozen=True):
    """Where a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self}"


@asynccontextmanager
async def serving(app: ASGIApp, host: str = LOOPBACK, port: int = 0, *, grace: float = 5.0) -> AsyncIterator[Address]:
    """Serves `app` while the block runs; port 0 takes a free one. Refused `port_in_use` or `address_not_ours`.

    At the end no new connection is taken, idle ones are closed, and running answers have `grace` seconds before their
    connections are cut. Lifespan messages are not sent: what an application needs is opened around this block.
    """
    listener = _bind(host, port)
    config = Config(
        app,
        http=_BoundedHead,
        ws="none",
        interface="asgi3",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_IDLE_SECONDS,
    )
    server = _Server(config, grace)
    # Not a task group: its block would wrap the caller's own failure in a group. This task is always awaited below.
    running = asyncio.create_task(server.serve([listener]))  # noqa: TID251 - a group would wrap the caller's own failure; this task is always awaited below
    try:
        await asyncio.wait((server.begun, running), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        yield Address(*listener.getsockname()[:2])
    finally:
        server.stop()
        await unbroken(running)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Set here because asyncio sets it only on sockets whose protocol number was given; without it the second
        # packet of an answer waits 40 ms for the client's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise _not_bound(error, host, port) from error
    return listener


def _not_bound(error: OSError, host: str, port: int) -> Refused:
    if error.errno == errno.EADDRINUSE:
        return Refused.because(
            "port_in_use",
            f"Port {port} on {host} is in use",
            help="Stop the program that listens there, or choose other ports with --port-base.",
            details={"port": port},
        )
    return Refused.because(
        "address_not_ours",
        f"Cannot listen on {host} port {port}: {error.strerror}",
        help="Ports below 1024 need rights this program should not have; choose a higher one.",
        details={"port": port},
    )


class _Server(Server):
    """uvicorn's server with its life in our hands: no signals, stopped at once, an end that waits for its tasks."""

    def __init__(self, config: Config, grace: float) -> None:
        super().__init__(config)
        self._grace = grace
        self._asked = asyncio.Event()
        self.begun = asyncio.get_running_loop().create_future()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        await self._serve(sockets)

    async def main_loop(self) -> None:
        self.begun.set_result(None)
        await self._asked.wait()

    def stop(self) -> None:
        self.should_exit = True
        self._asked.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for each in sockets or ():
            each.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._settle(self._grace)
        # Applications still answering hear that their client has gone, which ends an event stream without an error.
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await self._settle(_LAST_SECONDS)
        for running in list(self.server_state.tasks):
            running.cancel()
        await self._settle(_LAST_SECONDS)

    async def _settle(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            while self.server_state.tasks:
                await asyncio.wait(list(self.server_state.tasks))


class _BoundedHead(HttpToolsProtocol):
    """The parser gathers a request's head without a bound of its own; this ends a connection that never ends its head.

    What is counted arrives after the first chunk, so at most the cap and two chunks are ever held.
    """

    _head_bytes = 0
    _is_in_head = False

    def data_received(self, data: bytes) -> None:
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._head_bytes > _HEAD_CAP:
                self.transport.write(_HEAD_TOO_LARGE)
                self.transport.close()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._is_in_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()
