"""One host over our own pipes, from its first line to the end: what an endpoint of either profile has in common.

Lines are classed and begun in their order, at most so many at once; a line that cannot be classed, the host's hanging
up, a signal and output that nobody takes end the connection. What a line asks and how it is settled is the endpoint's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from sayso.control.endpoint.lines import ControlLine, EnvelopeLine, read_line
from sayso.control.hub.bindings.stdio import StdioEnd, StdioEnding
from sayso.core.refusal import Refused
from sayso.net.ownpipes import LineInput, LineOutput

__all__ = ("USUAL", "Connection", "EndpointBounds")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointBounds:
    """A line's bytes either way; how many requests are served at once, and lines wait to leave; seconds for each step
    of the end, and seconds in which a host that takes nothing at all is taken as gone. `inferences` are those of the
    provider profile under way at once, and `finish` the seconds they have to end by themselves once the host hung up.
    """

    line: int = 16 * 1024 * 1024
    requests: int = 64
    queued_lines: int = 256
    stage: float = 5.0
    stall: float = 120.0
    inferences: int = 256
    finish: float = 30.0


USUAL = EndpointBounds()


class Connection:
    """One connection. A subclass serves each line (`_serve`) and settles what is under way (`_finish`)."""

    def __init__(self, lines: LineInput, output: LineOutput, bounds: EndpointBounds) -> None:
        self._lines = lines
        self._output = output
        self._bounds = bounds
        self._room = anyio.Semaphore(bounds.requests)
        self._in_flight = 0
        self._read = 0
        self._changed = anyio.Event()
        self._tasks: TaskGroup | None = None
        self._stop = anyio.Event()

    async def serve(self, stop: anyio.Event) -> StdioEnd:
        """Until the host hangs up, `stop` is set, a line cannot be read or the output is gone; then settles."""
        self._stop = stop
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            with anyio.CancelScope() as reading:
                for wait in (stop.wait, self._output.broken.wait, self._stalled):
                    tasks.start_soon(_cancel_after, wait, reading)
                end = await self._serve_lines(tasks)
            if reading.cancelled_caught:
                end = StdioEnd(StdioEnding.CLEAN)
            end = await self._settle(end)
            tasks.cancel_scope.cancel()
        return end

    async def _serve(self, line: EnvelopeLine | ControlLine, tasks: TaskGroup) -> None:
        """Answers one line."""
        raise NotImplementedError

    async def _finish(self, end: StdioEnd) -> StdioEnd:
        """What was begun and is no request any more ends, within its time."""
        raise NotImplementedError

    async def _serve_lines(self, tasks: TaskGroup) -> StdioEnd:
        while True:
            self._read += 1
            try:
                line = await self._lines.read_line()
                if line is None:
                    if self._lines.unfinished:
                        raise Refused.because("malformed_line", "the last line has no end")
                    return StdioEnd(StdioEnding.CLEAN)
                read = read_line(line)
            except Refused as refused:
                return StdioEnd(StdioEnding.MALFORMED, f"line {self._read}: {refused.refusal.message}")
            await self._room.acquire()
            self._in_flight += 1
            # Begun in the order of the lines, up to the first thing each has to wait for.
            tasks.start_soon(self._serve_one, read, tasks)
            await anyio.lowlevel.checkpoint()

    async def _serve_one(self, line: EnvelopeLine | ControlLine, tasks: TaskGroup) -> None:
        try:
            await self._serve(line, tasks)
        finally:
            self._room.release()
            self._in_flight -= 1
            self._tell_change()

    # --- the end ---

    async def _settle(self, end: StdioEnd) -> StdioEnd:
        """What was admitted is answered, what was told is written, each within its time."""
        stage = self._bounds.stage
        with anyio.move_on_after(stage):
            while self._in_flight:
                await self._changed.wait()
        if self._in_flight and end.is_clean and not self._output.broken.is_set():
            end = StdioEnd(StdioEnding.STALLED, f"{self._in_flight} requests were not answered in {stage:g} s")
        end = await self._finish(end)
        if not await self._output.drain(stage) and end.is_clean:
            end = StdioEnd(StdioEnding.OUTPUT_LOST, "the host takes no more output")
        return end

    async def _stalled(self) -> None:
        """Returns when output has waited for long and nothing of it has left: no host could still be reading."""
        written = -1
        while written != self._output.written or not self._output.pending:
            written = self._output.written
            await anyio.sleep(self._bounds.stall)

    def _tell_change(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


async def _cancel_after(wait: Callable[[], Awaitable[Any]], scope: anyio.CancelScope) -> None:
    await wait()
    scope.cancel()
