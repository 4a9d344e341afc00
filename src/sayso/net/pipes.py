"""The three pipes of a child process on our event loop, and the one moment at which its stream of lines has ended.

stdout is cut into lines within a bound and read no faster than its reader takes them; stderr is always drained, into a
bounded tail; whichever of exit and end of output comes first waits a little for the other, and the ending is then
decided once. `child` owns the process and its end.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import IO, cast

import msgspec

from sayso.core.frames import LineFramer, LineTooLong
from sayso.core.refusal import Misuse, Refusal
from sayso.net.group import ProcessGroup

__all__ = ("Cause", "Ending", "Patience", "Pipes", "Tail")

_HIGH_WATER = 1024 * 1024
_LOOKS = 4
_STDIN, _STDOUT, _STDERR = range(3)


class Cause(Enum):
    """Why a child's stream of lines ended."""

    EXITED = "it exited"
    CLOSED_OUTPUT = "it closed its output and went on running"
    LINE_TOO_LONG = "it wrote a line over the bound"
    CLOSED_BY_US = "it was closed"


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a child ended. `exit_code` is negative for a signal, None while it still ran; `unfinished` is what it wrote
    after its last line end. The tail of its stderr may hold secrets: shown to the operator, never logged.
    """

    cause: Cause
    exit_code: int | None
    unfinished: bytes = b""
    refusal: Refusal | None = None

    def __str__(self) -> str:
        if self.cause is not Cause.EXITED or self.exit_code is None:
            return self.cause.value
        if self.exit_code < 0:
            return f"it was ended by signal {-self.exit_code}"
        return f"it exited with code {self.exit_code}"


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds each step of an end may take. Real seconds: a stuck process is stuck in them."""

    eof: float = 5.0
    term: float = 5.0
    kill: float = 5.0
    drain: float = 0.5
    """How long after an exit output may still come from a pipe that somebody else holds open."""


class Tail:
    """The last bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes = bytearray()

    def add(self, data: bytes) -> None:
        self._bytes += data
        if len(self._bytes) > 2 * self._limit:
            del self._bytes[: -self._limit]

    @property
    def size(self) -> int:
        """Bytes held in memory."""
        return len(self._bytes)

    def text(self) -> str:
        return self._bytes[-self._limit :].decode("utf-8", errors="replace")


class Pipes:
    """The event loop's end of one child. The ending is decided here, once.

    Made from a plain `Popen` and not by the event loop: loops differ in what else they let a child inherit, and in when
    they tell of an exit.
    """

    def __init__(self, process: subprocess.Popen[bytes], line_limit: int, tail_limit: int, patience: Patience) -> None:
        self.process = process
        self.group = ProcessGroup(process.pid)
        self.line_limit = line_limit
        self.patience = patience
        self.tail = Tail(tail_limit)
        self.ending: Ending | None = None
        self.exit_code: int | None = None
        self.exited = asyncio.Event()
        self.output_over = asyncio.Event()
        self.is_closing = False
        self._loop = asyncio.get_running_loop()
        self._framer = LineFramer(line_limit)
        self._lines: deque[bytes] = deque()
        self._unread = 0
        self._is_paused = False
        self._changed = asyncio.Event()
        self._settled: asyncio.Future[Ending] = self._loop.create_future()
        self._input = _Input()
        self._transports: dict[IO[bytes], asyncio.BaseTransport] = {}

    async def connect(self) -> None:
        """Watches the exit and connects the pipes. Until this is done nothing is drained: call it at once."""
        threading.Thread(target=self._await_exit, name=f"child-{self.process.pid}", daemon=True).start()
        stdin, stdout, stderr = self._ends()
        connect = self._loop.connect_read_pipe
        self._transports[stderr], _ = await connect(lambda: _Output(self.tail.add, _nothing), stderr)
        self._transports[stdout], _ = await connect(lambda: _Output(self._read, self._over), stdout)
        self._transports[stdin], _ = await self._loop.connect_write_pipe(lambda: self._input, stdin)

    def close(self) -> None:
        """Lets go of the pipes, whoever else still holds their other ends."""
        for pipe in self._ends():
            with suppress(OSError):
                self._transports.get(pipe, pipe).close()

    def close_input(self) -> None:
        """Ends the child's input after what is already written."""
        self._input.is_open = False
        stdin = self._ends()[0]
        with suppress(OSError):
            self._transports.get(stdin, stdin).close()

    def settle(self, cause: Cause, refusal: Refusal | None = None) -> Ending:
        """The ending: `cause` if this is the first call, else what the first one said."""
        if self.ending is None:
            cause = Cause.CLOSED_BY_US if self.is_closing else cause
            unfinished = b"" if refusal is not None else self._framer.close()
            self.ending = Ending(cause=cause, exit_code=self.exit_code, unfinished=unfinished, refusal=refusal)
            self._settled.set_result(self.ending)
            self._changed.set()
            self._input.end()
        return self.ending

    async def ended(self) -> Ending:
        return await asyncio.shield(self._settled)

    async def read_line(self) -> bytes | None:
        while not self._lines:
            if self.ending is not None:
                return None
            self._changed.clear()
            await self._changed.wait()
        line = self._lines.popleft()
        self._unread -= len(line)
        if self._is_paused and self._unread <= _HIGH_WATER // 2:
            self._pause(is_paused=False)
        return line

    async def write(self, data: bytes) -> bool:
        """Whether the data could be handed to the child; waits while its pipe is full."""
        if self.ending is None and self._input.is_open:
            cast(asyncio.WriteTransport, self._transports[self._ends()[0]]).write(data)
            await self._input.writable.wait()
        return self.ending is None and self._input.is_open

    def _ends(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self.process
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise Misuse("a child is started with three pipes")
        return process.stdin, process.stdout, process.stderr

    def _await_exit(self) -> None:
        """Reaps the child, in a thread of its own: no system offers every event loop the news of an exit."""
        code = self.process.wait()
        with suppress(RuntimeError):  # the loop is gone, and so is whoever waited
            self._loop.call_soon_threadsafe(self._exit, code)

    def _exit(self, code: int) -> None:
        self.exit_code = code
        self.exited.set()
        # What outlives its leader is ended, and killed if that does not help.
        self.group.send(signal.SIGTERM)
        if self.group.is_alive():
            self._loop.call_later(self.patience.term, self.group.send, signal.SIGKILL)
        self._settle_or_wait()

    def _read(self, data: bytes) -> None:
        if self.ending is not None:
            return
        try:
            self._take(self._framer.feed(data))
        except LineTooLong as fault:
            self._take(fault.lines)
            self.settle(Cause.LINE_TOO_LONG, fault.refusal)
            self.group.send(signal.SIGTERM)

    def _over(self) -> None:
        self.output_over.set()
        self._settle_or_wait()

    def _take(self, lines: list[bytes]) -> None:
        self._lines.extend(lines)
        self._unread += sum(map(len, lines))
        if self._unread > _HIGH_WATER and not self._is_paused:
            self._pause(is_paused=True)
        self._changed.set()

    def _pause(self, *, is_paused: bool) -> None:
        # Cast, not checked: another event loop's transports need not descend from asyncio's.
        pipe = cast("asyncio.ReadTransport | None", self._transports.get(self._ends()[1]))
        if pipe is None or pipe.is_closing():
            return
        self._is_paused = is_paused
        if is_paused:
            pipe.pause_reading()
        else:
            pipe.resume_reading()

    def _settle_or_wait(self) -> None:
        """Both the exit and the end of output make an ending; the first of them waits a little for the other.

        A grandchild may hold the output open for ever, and a program may close it and stay.
        """
        if self.output_over.is_set() and self.exit_code is not None:
            self.settle(Cause.EXITED)
        else:
            self._look_again(_LOOKS)

    def _look_again(self, left: int) -> None:
        # In several steps: after a busy moment a loop may run its timers before it reads what has long been there.
        self._loop.call_later(self.patience.drain / _LOOKS, self._look, left - 1)

    def _look(self, left: int) -> None:
        if self.ending is not None or self.is_closing:
            return
        if self._is_paused and not self.output_over.is_set():
            # The reader is slow, so what the child left in the pipe has not been seen yet.
            self._look_again(_LOOKS)
        elif left:
            self._look_again(left)
        else:
            self.settle(Cause.CLOSED_OUTPUT if self.exit_code is None else Cause.EXITED)


class _Output(asyncio.Protocol):
    """Hands on what a pipe brings, and that it is over."""

    def __init__(self, take: Callable[[bytes], None], over: Callable[[], None]) -> None:
        self._take = take
        self._over = over

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._over()


class _Input(asyncio.BaseProtocol):
    """Whether the child's input is open, and whether its pipe has room."""

    def __init__(self) -> None:
        self.is_open = True
        self.writable = asyncio.Event()
        self.writable.set()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.end()

    def end(self) -> None:
        self.is_open = False
        self.writable.set()


def _nothing() -> None:
    """The end of stderr tells nobody anything."""
