"""The host's end of a connection: what was sent and what came, each in its place, and bounded waits for more.

Everything that came is kept: the trace the validator will judge, in the order in which it was sent and seen; answers by
the request they name; each run's events in order. Left out of the trace are requests that are wrong on purpose with
their answers, and events that came again because they were asked for again (OAP-199). No order is promised between an
answer and events (OAP-011): what came of a run before the answer that admits it stands behind that answer.

A wait has one budget, absolute from when it began; what has come by then counts, whenever it is looked at (OAP-129).
Writing is inside the budget too. What comes is bounded: an endpoint that floods is given up.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import anyio.lowlevel

from sayso.control.conformance.checks import Failed, Gone, Silent
from sayso.control.conformance.port import Port
from sayso.control.protocol.envelope import Envelope, convert_envelope
from sayso.core import strictjson
from sayso.core.refusal import PeerUnreachable, Refused

__all__ = ("Arrival", "HostEnd", "Value", "hosting")

MOST_LINES = 100_000
MOST_BYTES = 256 * 1024 * 1024
"""What one connection may bring; no script needs a hundredth."""

Value = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Arrival:
    """Something that came: its place among all that came, its value, and the envelope it is if it has that shape."""

    place: int
    value: Value
    envelope: Envelope[Any] | None

    @property
    def type(self) -> str:
        """The type it says it has."""
        found = self.value.get("type")
        return found if isinstance(found, str) else ""

    @property
    def payload(self) -> Any:
        """Raises `Failed` for an envelope that does not have its shape."""
        if self.envelope is None:
            raise Failed(f"`{self.type}` does not have its shape")
        return self.envelope.payload


@dataclass(slots=True)
class Seen:
    """What came so far."""

    answers: dict[str, list[Arrival]] = field(default_factory=dict)
    runs: dict[str, list[Arrival]] = field(default_factory=dict)
    flows: dict[str, list[Arrival]] = field(default_factory=dict)
    controls: dict[str, list[Value]] = field(default_factory=dict)
    lost: dict[str, Value] = field(default_factory=dict)
    strays: list[str] = field(default_factory=list)
    """Lines that are neither an envelope nor a control frame."""


class HostEnd:
    """Speaks over `port`. Use `hosting`."""

    def __init__(self, port: Port, budget: float, most_lines: int = MOST_LINES) -> None:
        self.port = port
        self.budget = budget
        self.trace: list[bytes] = []
        self.seen = Seen()
        self.is_over = False
        self._most_lines = most_lines
        self._faults: set[str] = set()
        self._again: dict[str, list[Value]] = {}
        self._count = 0
        self._size = 0
        self._moved = anyio.Event()

    # --- asking ---

    async def send(self, request: Value, *, is_fault: bool = False) -> None:
        """Gives a request out. One that is wrong on purpose leaves no trace, and neither does its answer."""
        line = strictjson.encode(request)
        if is_fault:
            self._faults.add(str(request["id"]))
        else:
            self.trace.append(line)
        await self.write(line)

    async def write(self, line: bytes) -> None:
        """Any bytes at all, as one line."""
        with anyio.move_on_after(self.budget):
            try:
                await self.port.send(line)
            except (PeerUnreachable, Refused) as error:
                raise Gone(f"it takes no more: {error}") from None
            return
        raise Silent(f"it did not take a line within {self.budget:g} s")

    async def ask(self, request: Value, *, is_fault: bool = False) -> Arrival:
        """A request's answer, within the budget."""
        await self.send(request, is_fault=is_fault)
        return await self.answer(str(request["id"]), str(request.get("type")))

    async def answer(self, request_id: str, what: str) -> Arrival:
        """The first answer to a request that was sent."""
        return await self.until(lambda: _first(self.seen.answers.get(request_id)), f"an answer to `{what}`")

    async def control(self, frame: Value) -> Value:
        """A control frame's answer, within the budget."""
        await self.write(strictjson.encode(frame))
        name = str(frame["id"])
        return await self.until(lambda: _first(self.seen.controls.get(name)), f"an answer to control `{name}`")

    async def until(self, found: Callable[[], T | None], what: str) -> T:
        """What `found` finds, looked for whenever something came."""
        with anyio.move_on_after(self.budget):
            return await self.look(found, what)
        value = found()
        if value is None:
            raise Silent(f"{what} did not come within {self.budget:g} s")
        return value

    async def look(self, found: Callable[[], T | None], what: str) -> T:
        """The same without a budget of its own: for whoever has one around it."""
        while (value := found()) is None:
            if self.is_over:
                words = self.port.last_words.strip().splitlines()[-1:]
                raise Gone(f"it ended before {what} came{f': {words[0][:200]!r}' if words else ''}")
            await self._moved.wait()
        return value

    # --- replays ---

    def replaying(self, run_id: str) -> list[Value]:
        """From now on this run's events are ones that come again; they gather in the list that is returned."""
        return self._again.setdefault(run_id, [])

    def replayed(self, run_id: str) -> None:
        """No more are expected again: what comes now is new."""
        self._again.pop(run_id, None)

    # --- what comes ---

    async def read(self) -> None:
        """Takes everything that comes, to the end."""
        try:
            while (line := await self._receive()) is not None:
                self._take(line)
                self._tell()
                await anyio.lowlevel.checkpoint()
                if self._count > self._most_lines or self._size > MOST_BYTES:
                    self.seen.strays.append(f"it floods: {self._count} lines came, {self._size} bytes")
                    break
        finally:
            self.is_over = True
            self._tell()

    async def _receive(self) -> bytes | None:
        try:
            return await self.port.receive()
        except Refused as refused:
            self.seen.strays.append(refused.refusal.message)
            return None

    def _take(self, line: bytes) -> None:
        self._count += 1
        self._size += len(line)
        try:
            value = strictjson.parse(line)
        except Refused as refused:
            self.seen.strays.append(f"{_shown(line)}: {refused.refusal.message}")
            return
        if isinstance(value, Mapping) and "protocol" in value:
            self._take_envelope(line, value)
        elif isinstance(value, Mapping) and isinstance(value.get("control"), str):
            self._take_control(value)
        else:
            self.seen.strays.append(f"{_shown(line)}: neither an envelope nor a control frame")

    def _take_control(self, value: Value) -> None:
        if value["control"] == "stream.lost":
            self.seen.lost[str(value.get("run_id"))] = value
        self.seen.controls.setdefault(str(value.get("id")), []).append(value)

    def _take_envelope(self, line: bytes, value: Value) -> None:
        arrival = Arrival(self._count, value, _shaped(value))
        name, run_id = value.get("in_reply_to"), value.get("run_id")
        if isinstance(name, str):
            self.seen.answers.setdefault(name, []).append(arrival)
            if name not in self._faults:
                self.trace.append(line)
            return
        if isinstance(run_id, str) and run_id in self._again:
            self._again[run_id].append(value)
            return
        self.trace.append(line)
        if isinstance(run_id, str):
            self.seen.runs.setdefault(run_id, []).append(arrival)
        elif arrival.type.startswith("auth.") and arrival.envelope is not None:
            self.seen.flows.setdefault(arrival.payload.flow_id, []).append(arrival)

    def surplus(self) -> list[str]:
        """Requests wrong on purpose that were answered more than once; the trace shows all others."""
        return [name for name in self._faults if len(self.seen.answers.get(name, ())) > 1]

    def _tell(self) -> None:
        moved, self._moved = self._moved, anyio.Event()
        moved.set()


@asynccontextmanager
async def hosting(port: Port, budget: float, most_lines: int = MOST_LINES) -> AsyncIterator[HostEnd]:
    """A host that reads for as long as the block runs."""
    host = HostEnd(port, budget, most_lines)
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(host.read)
        try:
            yield host
        except Exception as error:  # noqa: BLE001 - raised again below, where no group is made around it
            failure = error
        finally:
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


def _first(found: list[T] | None) -> T | None:
    return found[0] if found else None


def _shaped(value: Value) -> Envelope[Any] | None:
    try:
        return convert_envelope(value)
    except Refused:
        return None


def _shown(line: bytes) -> str:
    """The beginning of a line, fit for a terminal."""
    return repr(line[:80].decode(errors="replace"))
