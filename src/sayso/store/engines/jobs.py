"""Bodies on their way to an engine's thread, and their answers on the way back to whoever waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from sayso.core.clock import Clock
from sayso.store.unit import Unit

__all__ = ("Job", "deliver")

T = TypeVar("T")


class Job(Generic[T]):
    """One body. Its maker waits in `wait` or `arrival`; the engine sets `value` or `error` and then delivers it."""

    __slots__ = ("_future", "_gate", "_value", "body", "clock", "error", "loop", "unit")

    def __init__(self, body: Callable[[Unit], T], clock: Clock, loop: asyncio.AbstractEventLoop | None) -> None:
        self.body = body
        self.clock = clock
        self.loop = loop
        self.unit: Unit | None = None
        self.error: BaseException | None = None
        self._value: T | None = None
        self._future: asyncio.Future[T] | None = None
        self._gate: threading.Lock | None = None
        if loop is not None:
            self._future = loop.create_future()
        else:
            self._gate = threading.Lock()
            self._gate.acquire()

    def keep(self, value: T) -> None:
        """The body's value, to be answered after COMMIT."""
        self._value = value

    def wait(self) -> T:
        """Blocks the calling thread until the answer."""
        assert self._gate is not None
        self._gate.acquire()
        if self.error is not None:
            raise self.error
        return self._value  # type: ignore[return-value] # a body may well return None

    @property
    def arrival(self) -> asyncio.Future[T]:
        """What a coroutine awaits."""
        assert self._future is not None
        return self._future

    def release(self) -> None:
        """Answers a blocked thread."""
        assert self._gate is not None
        self._gate.release()

    def resolve(self) -> None:
        """Answers a coroutine; runs on its loop."""
        future = self.arrival
        if future.done():
            return
        if self.error is not None:
            future.set_exception(self.error)
        else:
            future.set_result(self._value)  # type: ignore[arg-type] # a body may well return None


def deliver(jobs: Iterable[Job[Any]]) -> None:
    """Answers many at once: one hop to each event loop, however many of its coroutines wait."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
    for job in jobs:
        if job.loop is None:
            job.release()
        else:
            by_loop.setdefault(job.loop, []).append(job)
    for loop, waiting in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, waiting)
        except RuntimeError:
            # The loop was closed while its unit ran; its coroutines are gone with it.
            continue


def _resolve(jobs: list[Job[Any]]) -> None:
    for job in jobs:
        job.resolve()
