"""A vendor whose connection breaks: it reads a request, sends some bytes, and resets."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.abc

__all__ = ("closed_port", "resetting")

_ANY_LINGER_OFF = struct.pack("ii", 1, 0)


@asynccontextmanager
async def resetting(sends: bytes = b"") -> AsyncIterator[str]:
    """Yields the address of a server that answers each request with `sends` and a reset connection."""

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            if sends:
                await stream.send(sends)
            raw = stream.extra(anyio.abc.SocketAttribute.raw_socket)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ANY_LINGER_OFF)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            tasks.cancel_scope.cancel()


def closed_port() -> str:
    """The address of a port of this machine on which nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{bound.getsockname()[1]}"
