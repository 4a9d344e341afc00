"""A loopback proxy that cuts what a server answers after so many bytes: the bad network of these tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import SocketStream

from sayso.net.listen import Address


class Cutter:
    """Forwards to `target`. `cuts` says after how many bytes the answer of each connection in turn is cut; None and
    the end of the list mean never.
    """

    def __init__(self, target: Address, cuts: Iterator[int | None]) -> None:
        self._target = target
        self._cuts = cuts
        self.connections = 0

    async def serve(self, client: SocketStream) -> None:
        self.connections += 1
        left = next(self._cuts, None)
        connecting = anyio.connect_tcp(self._target.host, self._target.port)
        async with client, await connecting as server, anyio.create_task_group() as both:
            both.start_soon(_copy, client, server, None, both.cancel_scope)
            both.start_soon(_copy, server, client, left, both.cancel_scope)


async def _copy(source: SocketStream, sink: SocketStream, left: int | None, scope: anyio.CancelScope) -> None:
    try:
        while left is None or left > 0:
            data = await source.receive(65_536 if left is None else min(left, 65_536))
            await sink.send(data)
            left = None if left is None else left - len(data)
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        pass
    scope.cancel()


@asynccontextmanager
async def cutting(target: Address, cuts: Iterator[int | None]) -> AsyncIterator[tuple[str, Cutter]]:
    """A proxy in front of `target`, as a URL."""
    cutter = Cutter(target, cuts)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, cutter.serve)
        yield f"http://127.0.0.1:{port}", cutter
        tasks.cancel_scope.cancel()
