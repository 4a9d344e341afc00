"""The host's side of the hub over stdio: real pipes, lines in and out, answers by their id."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from sayso.control.hub.bindings.stdio import Bounds, HubOverStdio, StdioEnd
from sayso.control.hub.hub import Hub
from sayso.control.protocol.envelope import Envelope, write_envelope
from sayso.net.ownpipes import LineInput, LineOutput

PATIENCE = 30
USUAL = Bounds()


class Host:
    """Writes lines and reads them. A wait that never ends fails."""

    def __init__(self, to_hub: int, from_hub: int, stop: anyio.Event) -> None:
        self._closed: set[int] = set()
        self._to_hub = to_hub
        self._from_hub = from_hub
        self._lines: LineInput | None = None
        self._waiting: deque[dict[str, Any]] = deque()
        self._next = 0
        self.stop = stop
        self.end: StdioEnd | None = None
        self.ended = anyio.Event()

    def send(self, line: bytes | dict[str, Any]) -> None:
        data = line if isinstance(line, bytes) else json.dumps(line).encode()
        os.write(self._to_hub, data + b"\n")

    def raw(self, data: bytes) -> None:
        os.write(self._to_hub, data)

    def hang_up(self) -> None:
        self._close(self._to_hub)

    def stop_reading(self) -> None:
        self._close(self._from_hub)

    def _close(self, descriptor: int) -> None:
        """Once: its number may be somebody else's afterwards."""
        if descriptor not in self._closed:
            self._closed.add(descriptor)
            os.close(descriptor)

    async def read(self) -> dict[str, Any] | None:
        """The next line that nobody has waited for."""
        if self._waiting:
            return self._waiting.popleft()
        return await self._read()

    async def _read(self) -> dict[str, Any] | None:
        if self._lines is None:
            self._lines = LineInput(self._from_hub, 64 * 1024 * 1024)
        with anyio.fail_after(PATIENCE):
            line = await self._lines.read_line()
        return None if line is None else json.loads(line)

    async def answer(self, request_id: int) -> dict[str, Any]:
        """The answer to a request; other lines are kept for `read`."""
        passed = []
        try:
            while (line := await self.read()) is not None:
                if line.get("id") == request_id and "ok" in line:
                    return line
                passed.append(line)
        finally:
            self._waiting.extendleft(reversed(passed))
        raise AssertionError(f"request {request_id} was not answered: {self.end}")

    async def ask(self, op: str, envelope: Envelope[Any] | None = None, **members: Any) -> dict[str, Any]:
        """One request and its answer."""
        self._next += 1
        line = {"id": self._next, "op": op, **members}
        if envelope is not None:
            line["request"] = json.loads(write_envelope(envelope))
        self.send(line)
        return await self.answer(self._next)

    async def events(self, request_id: int, *, until: str) -> list[dict[str, Any]]:
        """The lines of a subscription, to the one whose event or envelope type is `until`."""
        found: list[dict[str, Any]] = []
        passed = []
        while (line := await self.read()) is not None:
            if line.get("id") != request_id or "event" not in line:
                passed.append(line)
                continue
            found.append(line)
            if until in (line["event"], line.get("envelope", {}).get("type")):
                self._waiting.extendleft(reversed(passed))
                return found
        raise AssertionError(f"{until} did not come: {found}")

    async def finish(self) -> StdioEnd:
        """Hangs up, and how the other side ended."""
        self.hang_up()
        with anyio.fail_after(PATIENCE):
            await self.ended.wait()
        assert self.end is not None
        return self.end


@asynccontextmanager
async def host_of(hub: Hub, bounds: Bounds = USUAL) -> AsyncIterator[Host]:
    """A host at one connection of a hub, which is over when the block is."""
    to_hub, from_hub = os.pipe(), os.pipe()
    host = Host(to_hub[1], from_hub[0], anyio.Event())
    lines, output = LineInput(to_hub[0], bounds.frame), LineOutput(from_hub[1], bounds.queued_lines)

    async def serve() -> None:
        host.end = await HubOverStdio(hub, lines, output, bounds).serve(host.stop)
        os.close(from_hub[1])
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
            os.close(to_hub[0])
            tasks.cancel_scope.cancel()


def code(answer: dict[str, Any]) -> str:
    """The code of a refusal."""
    assert (answer["ok"], answer["result"]) == (False, None)
    return str(answer["error"]["code"])
