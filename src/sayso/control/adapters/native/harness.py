"""One harness process, from its start to its one end (OAP-044, OAP-045, bugs B03..B09).

Started, it has a bounded time to become ready; whatever goes wrong in it, its whole group is gone afterwards. Then its
lines are read, each judged by the adapter's reducer. It is *lost* exactly once, by its exit, the end of its output, a
line that is none, a frame nobody may ignore, or our closing; then everyone who waits for an answer is told, and nobody
waits again. A native result that came before counts: a grandchild that keeps the output open changes nothing.

What a harness wrote to stderr may hold secrets: its tail is bounded, the values it was given are struck out of it, and
it goes into the run's failure, never into a log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from sayso.control.adapters.native.codec import Fate, read_frame, verify_last, write_frame
from sayso.control.protocol.payloads.scalars import JsonObject
from sayso.core.refusal import PeerUnreachable, Refusal, Refused
from sayso.net.child import Cause, Child, Program, start

__all__ = ("Harness", "Reducer", "open_harness")

_TAIL_SHOWN = 600
_LEAST_SECRET = 6


class Reducer(Protocol):
    """An adapter's view of its harness's frames: pure decisions, and what a mapped frame leads to."""

    def judge(self, frame: JsonObject) -> Fate:
        """What becomes of a frame."""
        ...

    def answers(self, frame: JsonObject) -> Hashable | None:
        """The key of the request of ours that a mapped frame answers."""
        ...

    def take(self, frame: JsonObject) -> None:
        """A mapped frame that answers nobody."""
        ...

    def unsupported(self, frame: JsonObject) -> JsonObject:
        """The native error for a request nobody serves."""
        ...


class Harness:
    """A running harness. `lost` is called once, with why; requests that wait fail with the same."""

    def __init__(
        self, child: Child, reducer: Reducer, secrets: frozenset[str], lost: Callable[[Refusal], None]
    ) -> None:
        self._child = child
        self._reducer = reducer
        self._secrets = secrets
        self._lost = lost
        self._waiting: dict[Hashable, asyncio.Future[JsonObject]] = {}
        self.loss: Refusal | None = None
        """Why it is gone, once it is."""

    async def read(self) -> None:
        """Takes its lines to the end. Runs once, in the background."""
        try:
            async for line in self._child.lines():
                await self._take(read_frame(line))
            ending = await self._child.ended()
            if ending.refusal is not None:
                raise Refused(_of_peer(ending.refusal))
            if ending.cause is not Cause.CLOSED_BY_US:
                verify_last(ending.unfinished)
            self._lose(Refusal(code="adapter_failed", message=f"the harness is gone: {ending}"))
        except Refused as refused:
            self._lose(refused.refusal)
            await self._child.close()

    async def send(self, frame: JsonObject) -> None:
        """Writes one frame. Raises `Refused`: `line_too_long`, with nothing written; why it is lost."""
        try:
            await self._child.write_line(write_frame(frame))
        except PeerUnreachable as gone:
            raise Refused(self.loss or Refusal(code="adapter_failed", message=str(gone))) from None

    async def ask(self, key: Hashable, frame: JsonObject) -> JsonObject:
        """Writes a request and waits for the frame that answers it. Raises `Refused` as `send` does."""
        if self.loss is not None:
            raise Refused(self.loss)
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting[key] = answer
        try:
            await self.send(frame)
            return await answer
        finally:
            self._waiting.pop(key, None)
            answer.cancel()

    async def close(self) -> None:
        """Ends it and its whole group within its patience."""
        self._lose(Refusal(code="adapter_failed", message="the harness was closed"))
        await self._child.close()

    async def _take(self, frame: JsonObject) -> None:
        fate = self._reducer.judge(frame)
        if fate is Fate.UNMAPPED:
            said = "the harness said something the run cannot go on without, and that has no way to be said here"
            raise Refused.because("protocol_violation", said, reason="required_unmapped")
        if fate is Fate.UNSUPPORTED:
            await self.send(self._reducer.unsupported(frame))
        if fate is not Fate.MAPPED:
            return
        waiting = self._waiting.pop(key, None) if (key := self._reducer.answers(frame)) is not None else None
        if waiting is not None and not waiting.done():
            waiting.set_result(frame)
        elif key is None:
            self._reducer.take(frame)

    def _lose(self, why: Refusal) -> None:
        if self.loss is not None:
            return
        details = {**why.details, **self._said()}
        self.loss = Refusal(code=why.code, message=why.message, reason=why.reason, details=details)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Refused(self.loss))
        self._lost(self.loss)

    def _said(self) -> dict[str, object]:
        """How it ended and what it said last, for whoever reads the failure."""
        tail = self._child.stderr_tail
        for secret in sorted(self._secrets, key=len, reverse=True):
            tail = tail.replace(secret, "[...]")
        ending = self._child.ending
        found: dict[str, object] = {"stderr": tail[-_TAIL_SHOWN:]} if tail else {}
        return found | ({} if ending is None or ending.exit_code is None else {"exit_code": ending.exit_code})


async def open_harness(
    program: Program,
    reducer: Reducer,
    tasks: TaskGroup,
    *,
    ready: Callable[[Harness], Awaitable[None]],
    lost: Callable[[Refusal], None],
    seconds: float,
) -> Harness:
    """Starts a harness and waits until it is `ready`. Raises `Refused` `open_failed`; nothing of it is left then."""
    try:
        child = await start(program)
    except Refused as refused:
        raise Refused.because("open_failed", refused.refusal.message, help=refused.refusal.help) from None
    secrets = frozenset(value for value in program.environment.values() if len(value) >= _LEAST_SECRET)
    harness = Harness(child, reducer, secrets, lost)
    tasks.start_soon(harness.read)
    try:
        with anyio.fail_after(seconds):
            await ready(harness)
    except BaseException as failure:
        await harness.close()
        if isinstance(failure, TimeoutError):
            raise Refused.because("open_failed", f"the harness was not ready in {seconds:g} s") from None
        if isinstance(failure, Refused):
            message, details = failure.refusal.message, failure.refusal.details
            raise Refused.because("open_failed", message, details=details) from None
        raise
    return harness


def _of_peer(fault: Refusal) -> Refusal:
    """A line over the bound, as the run's failure: its real size is in the message."""
    return Refusal(code="protocol_violation", message=f"the harness wrote {fault.message}", reason=fault.code)
