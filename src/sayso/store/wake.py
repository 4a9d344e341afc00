"""Waking whoever waits for rows: a hint to look again, across threads, event loops and processes.

A wake carries no data and may be spurious; it is never lost. The pattern is: `mark`, look, and only if there was
nothing `wait` with that mark:

    mark = store.wake.mark("outbox")
    while not (rows := await store.unit(claim_some)):
        mark = await store.wake.wait("outbox", mark)

The engine tells this module what it hears (its own commits, other processes' commits, notifications) and is told when
the first waiter comes, so that nothing polls or listens while nobody waits.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable

__all__ = ("Wake",)

_REMEMBERED = 4096


class Wake:
    """Counts announcements; a channel's waiters return once it was announced after their mark."""

    def __init__(self, attend: Callable[[], None]) -> None:
        """`attend` is called, on the waiter's thread, each time somebody begins to wait; it must not block."""
        self._attend = attend
        self._lock = threading.Lock()
        self._tick = 0
        self._floor = 0
        self._last: dict[str, int] = {}
        # Invariant: guarded by _lock; a waiter is in here exactly while it is suspended in wait().
        self._waiters: dict[str, dict[asyncio.Future[None], asyncio.AbstractEventLoop]] = {}

    @property
    def is_awaited(self) -> bool:
        """Whether anybody waits, on any channel."""
        return bool(self._waiters)

    def mark(self, channel: str) -> int:
        """The present position; taken before looking, so that what happens between looking and waiting counts."""
        with self._lock:
            return max(self._floor, self._last.get(channel, 0))

    async def wait(self, channel: str, mark: int) -> int:
        """Returns the new mark as soon as the channel was announced after `mark`, at once if it already was.

        Has no deadline of its own: the caller races it with the clock's `sleep_until` or a cancel scope.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if max(self._floor, self._last.get(channel, 0)) > mark:
                return max(self._floor, self._last.get(channel, 0))
            self._waiters.setdefault(channel, {})[future] = loop
        try:
            self._attend()
            await future
        finally:
            self._forget(channel, future)
        return self.mark(channel)

    def announce(self, channels: Iterable[str]) -> None:
        """Something was committed that the channels' waiters may want."""
        woken: list[tuple[asyncio.Future[None], asyncio.AbstractEventLoop]] = []
        with self._lock:
            for channel in channels:
                self._tick += 1
                if len(self._last) >= _REMEMBERED:
                    # Forgetting means that older marks on every channel return once for nothing.
                    self._last.clear()
                    self._floor = self._tick
                self._last[channel] = self._tick
                woken += self._waiters.pop(channel, {}).items()
        _resolve(woken)

    def announce_all(self) -> None:
        """Something was committed and nobody can say what: every waiter looks again."""
        with self._lock:
            self._tick += 1
            self._floor = self._tick
            self._last.clear()
            woken = [waiter for waiters in self._waiters.values() for waiter in waiters.items()]
            self._waiters.clear()
        _resolve(woken)

    def _forget(self, channel: str, future: asyncio.Future[None]) -> None:
        with self._lock:
            waiters = self._waiters.get(channel)
            if waiters is not None and waiters.pop(future, None) is not None and not waiters:
                del self._waiters[channel]


def _resolve(woken: Iterable[tuple[asyncio.Future[None], asyncio.AbstractEventLoop]]) -> None:
    for future, loop in woken:
        try:
            loop.call_soon_threadsafe(_set, future)
        except RuntimeError:
            # The waiter's loop has closed under it; there is nobody left to wake.
            continue


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
