"""The host's side of an endpoint: real pipes, envelopes and control frames."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from sayso.control.endpoint.endpoint import EndpointBounds, EndpointOverStdio
from sayso.control.hub.bindings.stdio import StdioEnd
from sayso.control.hub.hub import Hub
from sayso.control.protocol.envelope import Envelope, write_envelope
from sayso.core.ids import SystemIds
from sayso.net.ownpipes import LineInput, LineOutput

PATIENCE = 30
USUAL = EndpointBounds()
Line = dict[str, Any]


class Host:
    """Writes lines and reads them. A wait that never ends fails."""

    def __init__(self, to_endpoint: int, from_endpoint: int) -> None:
        self._closed: set[int] = set()
        self._to_endpoint = to_endpoint
        self._from_endpoint = from_endpoint
        self._lines: LineInput | None = None
        self._kept: deque[Line] = deque()
        self.seen: list[Line] = []
        self.stop = anyio.Event()
        self.end: StdioEnd | None = None
        self.ended = anyio.Event()

    @property
    def input_descriptor(self) -> int:
        """Our end of what the endpoint reads."""
        return self._to_endpoint

    def send(self, line: bytes | Line | Envelope[Any]) -> None:
        if isinstance(line, Envelope):
            line = write_envelope(line)
        os.write(self._to_endpoint, (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")

    def raw(self, data: bytes) -> None:
        os.write(self._to_endpoint, data)

    def hang_up(self) -> None:
        self._close(self._to_endpoint)

    def stop_reading(self) -> None:
        self._close(self._from_endpoint)

    def _close(self, descriptor: int) -> None:
        """Once: its number may be somebody else's afterwards."""
        if descriptor not in self._closed:
            self._closed.add(descriptor)
            os.close(descriptor)

    async def read(self) -> Line | None:
        if self._kept:
            return self._kept.popleft()
        if self._lines is None:
            self._lines = LineInput(self._from_endpoint, 64 * 1024 * 1024)
        with anyio.fail_after(PATIENCE):
            line = await self._lines.read_line()
        if line is None:
            return None
        found: Line = json.loads(line)
        self.seen.append(found)
        return found

    async def until(self, wanted: Callable[[Line], bool]) -> Line:
        """The first line that is wanted; others are kept for later."""
        passed = []
        try:
            while (line := await self.read()) is not None:
                if wanted(line):
                    return line
                passed.append(line)
        finally:
            self._kept.extendleft(reversed(passed))
        raise AssertionError(f"it did not come: {self.end}, {passed}")

    def forget(self) -> None:
        """What was kept is not wanted any more."""
        self._kept.clear()

    async def ask(self, request: Envelope[Any]) -> Line:
        """One request and its answer."""
        self.send(request)
        return await self.until(lambda line: line.get("in_reply_to") == request.id)

    async def event(self, type_: str) -> Line:
        return await self.until(lambda line: line.get("type") == type_)

    async def control(self, frame: Line) -> Line:
        """One control frame and its answer; what was kept before is forgotten."""
        self.forget()
        self.send(frame)
        return await self.until(lambda line: line.get("id") == frame["id"] and "control" in line)

    async def rest(self) -> list[Line]:
        """Everything to the end of the output."""
        lines = []
        while (line := await self.read()) is not None:
            lines.append(line)
        return lines

    async def finish(self) -> StdioEnd:
        self.hang_up()
        with anyio.fail_after(PATIENCE):
            await self.ended.wait()
        assert self.end is not None
        return self.end


@asynccontextmanager
async def host_of(hub: Hub, name: str, bounds: EndpointBounds = USUAL) -> AsyncIterator[Host]:
    """A host of one adapter's endpoint, which is over when the block is."""
    to_endpoint, from_endpoint = os.pipe(), os.pipe()
    host = Host(to_endpoint[1], from_endpoint[0])
    lines, output = LineInput(to_endpoint[0], bounds.line), LineOutput(from_endpoint[1])

    async def serve() -> None:
        host.end = await EndpointOverStdio(hub, name, lines, output, ids=SystemIds(), bounds=bounds).serve(host.stop)
        os.close(from_endpoint[1])
        host.ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        try:
            yield host
        finally:
            host.hang_up()
            host.stop.set()
            with anyio.CancelScope(shield=True), anyio.move_on_after(PATIENCE):
                await host.ended.wait()
            host.stop_reading()
            os.close(to_endpoint[0])
            tasks.cancel_scope.cancel()
