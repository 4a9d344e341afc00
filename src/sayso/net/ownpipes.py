"""Our own standard input and output as lines: how a program that was started as a child speaks to its host.

Both ends are threads of their own, because a pipe, a file and a terminal behave alike only to a blocking read and
write, and because the descriptors are shared with whoever started us, so that no flag of theirs may be changed. Input
is cut into lines within a bound and read ahead by about a mebibyte; its end is known even while lines of it wait.
Output keeps the order in which it was given, and each line leaves whole. A host that stops reading fills it: whoever
writes then waits, and how long that may be is the caller's to decide.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from contextlib import suppress

import anyio

from sayso.core.frames import LineFramer, LineTooLong

__all__ = ("LineInput", "LineOutput")

_CHUNK = 256 * 1024
_AHEAD = 1024 * 1024
_GATHERED = 256 * 1024
_PIECE = 64 * 1024


class LineInput:
    """Lines of a descriptor. One reader."""

    def __init__(self, descriptor: int, line_limit: int) -> None:
        # One of our own: whoever closes the other cannot make this thread read what comes under its number next.
        self._descriptor = os.dup(descriptor)
        self._loop = asyncio.get_running_loop()
        self._framer = LineFramer(line_limit)
        self._chunks: deque[bytes] = deque()
        self._lines: deque[bytes] = deque()
        self._fault: LineTooLong | None = None
        self._held = 0
        self._room = threading.Condition()
        self._more = asyncio.Event()
        self._is_finished = False
        self.ended = asyncio.Event()
        """Set as soon as the other side has closed, though lines may be unread."""
        threading.Thread(target=self._pull, name=f"input-{descriptor}", daemon=True).start()

    async def read_line(self) -> bytes | None:
        """The next line without its LF; None at the end. What follows the last LF is `unfinished` then.

        Refused `line_too_long`, after the lines before it.
        """
        while not self._lines:
            if self._fault is not None:
                raise self._fault
            if not self._chunks:
                if self.ended.is_set():
                    return None
                self._more.clear()
                await self._more.wait()
                continue
            self._take(self._chunks.popleft())
        return self._lines.popleft()

    @property
    def unfinished(self) -> bytes:
        """What came after the last LF, once `read_line` has said that there is no more."""
        return b"" if self._fault is not None else self._framer.close()

    @property
    def has_unread(self) -> bool:
        """Whether anything that arrived has not been read."""
        return bool(self._lines or self._chunks)

    def _take(self, chunk: bytes) -> None:
        with self._room:
            self._held -= len(chunk)
            self._room.notify()
        try:
            self._lines.extend(self._framer.feed(chunk))
        except LineTooLong as fault:
            self._lines.extend(fault.lines)
            self._fault = fault

    def _pull(self) -> None:
        chunk = b"-"
        while chunk:
            with self._room:
                self._room.wait_for(lambda: self._held <= _AHEAD)
            try:
                chunk = os.read(self._descriptor, _CHUNK)
            except OSError:
                chunk = b""
            with self._room:
                self._held += len(chunk)
            with suppress(RuntimeError):  # the loop is gone, and so is whoever read
                self._loop.call_soon_threadsafe(self._arrived, chunk)
        os.close(self._descriptor)

    def _arrived(self, chunk: bytes) -> None:
        if chunk:
            self._chunks.append(chunk)
        else:
            self.ended.set()
        self._more.set()


class LineOutput:
    """Lines to a descriptor, in the order of the calls; many writers. `bound` is how many wait before a writer does."""

    def __init__(self, descriptor: int, bound: int = 256) -> None:
        self._descriptor = os.dup(descriptor)
        self._bound = bound
        self._loop = asyncio.get_running_loop()
        self._queue: deque[bytes] = deque()
        self._pending = 0
        self._work = threading.Semaphore(0)
        self._moved = asyncio.Event()
        self._is_abandoned = False
        self.written = 0
        """How many bytes have left: what a watcher of stalled output compares."""
        self.broken = asyncio.Event()
        """Set once the other side takes no more."""
        threading.Thread(target=self._push, name=f"output-{descriptor}", daemon=True).start()

    @property
    def pending(self) -> int:
        """How many lines have not left."""
        return self._pending

    async def write_line(self, line: bytes) -> bool:
        """Gives one line out, and waits while too many wait. False when the other side takes no more."""
        if self.broken.is_set() or self._is_abandoned:
            return False
        self._pending += 1
        self._queue.append(line)
        self._work.release()
        while self._pending > self._bound and not self.broken.is_set():
            await self._moved.wait()
        return not self.broken.is_set()

    async def drain(self, seconds: float) -> bool:
        """Waits until everything has left. False when that took too long, or the other side takes no more.

        What has not left by then is given up: nothing follows later.
        """
        with anyio.move_on_after(seconds):
            while self._pending and not self.broken.is_set():
                await self._moved.wait()
        is_whole = not self._pending and not self.broken.is_set()
        self._is_abandoned = True
        self._work.release()
        return is_whole

    def _push(self) -> None:
        is_broken = False
        while not is_broken:
            self._work.acquire()
            if self._is_abandoned:
                break
            lines = self._gather()
            if not lines:  # an earlier round took the line this one was woken for
                continue
            is_broken = not self._write(b"\n".join((*lines, b"")))
            with suppress(RuntimeError):  # the loop is gone, and so is whoever wrote
                self._loop.call_soon_threadsafe(self._told, len(lines), is_broken)
        os.close(self._descriptor)

    def _gather(self) -> list[bytes]:
        lines, size = [], 0
        while self._queue and size < _GATHERED:
            lines.append(self._queue.popleft())
            size += len(lines[-1]) + 1
        return lines

    def _write(self, data: bytes) -> bool:
        rest = memoryview(data)
        try:
            while rest:
                count = os.write(self._descriptor, rest[:_PIECE])
                self.written += count
                rest = rest[count:]
        except OSError:
            return False
        return True

    def _told(self, count: int, is_broken: bool) -> None:  # noqa: FBT001 - called by the loop, by position
        self._pending -= count
        if is_broken:
            self.broken.set()
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
