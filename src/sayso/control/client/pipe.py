"""An endpoint over the pipes of a child process: requests and their answers, control frames, and each run's events.

Answers are found by `in_reply_to`, never by position, and each has its budget of time from the moment it was asked. An
endpoint sends events unasked, so they are kept here until they are read: at most `KEPT` of a run and of `RUNS` runs.
Beyond the first bound a run counts as lost and is replayed when its reader comes that far; beyond the second the run
that told its first event longest ago is forgotten, and replayed should somebody read it. An endpoint that sends what no
endpoint may, or ends, fails whatever is waiting, once, and everything that is asked later (B05, B08).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import anyio
import msgspec
from anyio.abc import TaskGroup

from sayso.control.client.errors import ServerError
from sayso.control.client.requests import answered
from sayso.control.endpoint.lines import (
    ControlLine,
    ReplayAccepted,
    ReplayError,
    ReplayGap,
    ReplayRequest,
    StreamLost,
    read_line,
)
from sayso.control.protocol.envelope import Envelope, convert_envelope, write_envelope
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.signals import TERMINALS
from sayso.core.ids import Ids
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refusal, Refused
from sayso.core.strictjson import encode
from sayso.net.child import Child, Program, start

__all__ = ("BUDGET", "KEPT", "RUNS", "EndpointPipe", "OtherHalf", "ReplayAnswer", "RunEvents")

BUDGET = 60.0
"""Seconds an endpoint has to answer one request."""
KEPT = 1024
RUNS = 64

T = TypeVar("T", bound=Wire)
ReplayAnswer = ReplayAccepted | ReplayGap | ReplayError
_FRAMES: Mapping[str, type[ReplayAnswer]] = {
    "replay.accepted": ReplayAccepted,
    "replay.gap": ReplayGap,
    "replay.error": ReplayError,
}


@dataclass(slots=True)
class _Waiting:
    """One answer that is owed."""

    done: anyio.Event = field(default_factory=anyio.Event)
    answer: Envelope[Wire] | ReplayAnswer | None = None


@dataclass(slots=True)
class RunEvents:
    """What came of one run and was not read: the events behind `start`, up to `last`."""

    start: int = 0
    last: int = 0
    events: deque[Envelope[Wire]] = field(default_factory=deque)
    is_lost: bool = False
    ends_at: int | None = None
    """The number of its terminal, once that came."""
    more: anyio.Event = field(default_factory=anyio.Event)
    readers: int = 0
    """Who is at it now."""

    def take(self) -> Envelope[Wire] | None:
        """The next event, if one is there."""
        if not self.events:
            return None
        self.start += 1
        return self.events.popleft()

    def restart(self, after: int) -> None:
        """A replay from behind `after` is about to come."""
        self.events.clear()
        self.start = self.last = after
        self.is_lost = False

    def add(self, envelope: Envelope[Wire], sequence: int) -> bool:
        """Whether the event was next, or is known; one over the bound is given up and will be replayed."""
        if sequence == 1 and not self.last:
            self.is_lost = False  # a run that begins now was not forgotten
        if self.is_lost or sequence <= self.last:
            return True
        if sequence != self.last + 1:
            return False
        if len(self.events) >= KEPT:
            self.is_lost = True
        else:
            self.events.append(envelope)
            self.last = sequence
            self.ends_at = sequence if envelope.type in TERMINALS else None
        self.wake()
        return True

    def wake(self) -> None:
        """Somebody who waits for more looks again."""
        self.more.set()
        self.more = anyio.Event()


class OtherHalf(Protocol):
    """Whoever takes what another profile sends over the same pipe (OAP-137)."""

    def take(self, value: Mapping[str, object]) -> bool:
        """One envelope of its profile, parsed; whether it is sound."""
        ...

    def refused(self, envelope: Envelope[Wire]) -> None:
        """An `error.response` that answers nothing of this profile."""
        ...

    def fail(self, failure: Exception) -> None:
        """The pipe is over."""
        ...


class EndpointPipe:
    """One endpoint. Use as `async with`: its end is the end of the child, within its patience."""

    def __init__(
        self,
        program: Program,
        *,
        ids: Ids,
        record: Callable[[Envelope[Wire]], None] | None = None,
        budget: float = BUDGET,
    ) -> None:
        self.peer = program.name
        self._program = program
        self._ids = ids
        self._record = record or (lambda _envelope: None)
        self._budget = budget
        self._child: Child | None = None
        self._tasks: TaskGroup | None = None
        self._stack = AsyncExitStack()
        self._waiting: dict[str, _Waiting] = {}
        self._runs: dict[str, RunEvents] = {}
        self._has_forgotten = False
        self._failure: Exception | None = None
        self.halves: dict[str, OtherHalf] = {}
        """By profile."""
        self.listeners: list[Callable[[Envelope[Wire]], None]] = []
        """Called with each event that belongs to no run."""
        self.endings: list[Callable[[], None]] = []
        """Called once the endpoint is over; `verify_open` then tells why."""

    async def __aenter__(self) -> Self:
        self._child = await start(self._program)
        self._tasks = tasks = await self._stack.enter_async_context(anyio.create_task_group())
        tasks.start_soon(self._read, self._child)
        self._stack.callback(tasks.cancel_scope.cancel)
        self._stack.push_async_callback(self._child.close)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(None, None, None)

    async def exchange(self, request: Envelope[Any], payload: type[T]) -> Envelope[T]:
        """The answer to a request. Raises `ServerError`; `PeerUnreachable` when none came within the budget."""
        self._record(request)
        answer = await self._ask(request.id, write_envelope(request))
        if not isinstance(answer, Envelope):
            raise self.violation("a control frame answers an envelope")
        answered(answer, payload, self.peer)
        return answer  # type: ignore[return-value]

    async def replay(self, session_id: str, run_id: str, after: int) -> ReplayAnswer:
        """Asks for a run's events again; those that follow come as any event does."""
        frame = ReplayRequest(
            control="replay", id=self._ids.new("ctl"), session_id=session_id, run_id=run_id, after=after
        )
        answer = await self._ask(frame.id, encode(frame))
        if isinstance(answer, Envelope):
            raise self.violation("an envelope answers a control frame")
        return answer

    def run(self, run_id: str) -> RunEvents:
        """What came of a run so far; of one that may have been forgotten nothing is known to be whole."""
        known = self._runs.get(run_id)
        if known is None:
            known = self._runs[run_id] = RunEvents(is_lost=self._has_forgotten)
            self._forget()
        return known

    def _forget(self) -> None:
        """Lets the oldest run that nobody waits for go."""
        if len(self._runs) <= RUNS:
            return
        oldest = next((name for name, run in self._runs.items() if not run.readers), None)
        if oldest is not None:
            del self._runs[oldest]
            self._has_forgotten = True

    def verify_open(self) -> None:
        """Raises what ended this endpoint, if something did."""
        if self._failure is not None:
            raise self._failure

    def violation(self, message: str) -> ServerError:
        """The endpoint broke the protocol."""
        return ServerError(self.peer, Refusal(code="protocol_violation", message=message))

    async def _ask(self, name: str, line: bytes) -> Envelope[Wire] | ReplayAnswer:
        self.verify_open()
        if self._child is None:
            raise PeerUnreachable(self.peer, "it was not started")
        waiting = self._waiting[name] = _Waiting()
        try:
            with anyio.move_on_after(self._budget):
                await self._child.write_line(line)
                await waiting.done.wait()
        finally:
            del self._waiting[name]
        if waiting.answer is None:
            self.verify_open()
            raise PeerUnreachable(self.peer, f"it gave no answer within {self._budget:g} s")
        return waiting.answer

    async def send(self, line: bytes) -> None:
        """One line of another profile. Raises what ended this endpoint."""
        self.verify_open()
        if self._child is None:
            raise PeerUnreachable(self.peer, "it was not started")
        await self._child.write_line(line)

    def send_soon(self, line: bytes) -> None:
        """As `send`, for whoever cannot wait; where the endpoint is over there is nobody to tell."""
        if self._failure is None and self._tasks is not None:
            self._tasks.start_soon(self._send_quietly, line)

    async def _send_quietly(self, line: bytes) -> None:
        with suppress(PeerUnreachable, PeerRefused, Refused):
            await self.send(line)

    # --- what comes in ---

    async def _read(self, child: Child) -> None:
        try:
            async for line in child.lines():
                self._take(line)
            tail = child.stderr_tail.strip().splitlines()[-1:]
            why = f"{child.ending}{f': {tail[0][:300]}' if tail else ''}"
            self._fail(PeerUnreachable(self.peer, why))
        except (ServerError, Refused) as error:
            self._fail(error if isinstance(error, ServerError) else ServerError(self.peer, error.refusal))
            await child.close()

    def _take(self, line: bytes) -> None:
        read = read_line(line)
        if isinstance(read, ControlLine):
            self._take_control(read)
            return
        half = self.halves.get(str(read.value.get("profile")))
        if half is not None:
            if not half.take(read.value):
                raise self.violation("an envelope of the other profile does not have its shape")
            return
        envelope = convert_envelope(read.value)
        self._record(envelope)
        if envelope.in_reply_to is not UNSET:
            self._answer(envelope.in_reply_to, envelope)
        elif envelope.run_id is not UNSET and envelope.sequence is not UNSET:
            run = self.run(envelope.run_id)
            if not run.add(envelope, envelope.sequence):
                raise self.violation(f"event {envelope.sequence} came right after event {run.last}")
        else:
            for listener in self.listeners:
                listener(envelope)

    def _take_control(self, frame: ControlLine) -> None:
        try:
            if frame.control == "stream.lost":
                lost = msgspec.convert(frame.value, StreamLost, strict=True)
                run = self.run(lost.run_id)
                run.is_lost = True
                run.wake()
                return
            type_ = _FRAMES.get(str(frame.control))
            if type_ is None or frame.id is None:
                raise self.violation("an unknown control frame")
            answer = msgspec.convert(frame.value, type_, strict=True)
        except msgspec.ValidationError as error:
            raise self.violation(f"a control frame does not have its shape: {error}") from None
        if isinstance(answer, ReplayAccepted):
            self.run(answer.run_id).restart(answer.after)
        self._answer(frame.id, answer)

    def _answer(self, name: str, answer: Envelope[Wire] | ReplayAnswer) -> None:
        waiting = self._waiting.get(name)
        if waiting is None and isinstance(answer, Envelope):
            for half in self.halves.values():
                half.refused(answer)
        if waiting is None or waiting.answer is not None:
            return  # it came too late, and whoever asked was told so
        waiting.answer = answer
        waiting.done.set()

    def _fail(self, failure: Exception) -> None:
        self._failure = failure
        for waiting in self._waiting.values():
            waiting.done.set()
        for run in self._runs.values():
            run.wake()
        for half in self.halves.values():
            half.fail(failure)
        for ending in self.endings:
            ending()
