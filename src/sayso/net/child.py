"""A program we start and speak to in lines, and that is gone when we are done with it (OAP-044, bugs B01-B09).

It leads a process group of its own; it sees only the environment it was given; its stderr is drained from spawn to exit
into a bounded tail; its stdout is cut into lines by bytes, within a stated bound. It ends exactly once, with an
`Ending` that says how. Closing is bounded at each step and runs on every path out, cancellation included: end of input,
then SIGTERM, then SIGKILL, to the whole group. What outlives its leader is ended as soon as the leader exits.

What the lines mean, and whom to tell of the ending, is the adapter's.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec

from sayso.core.frames import LineTooLong
from sayso.core.refusal import Misuse, PeerUnreachable, Refused
from sayso.net.pipes import Cause, Ending, Patience, Pipes
from sayso.net.unbroken import unbroken

__all__ = ("Cause", "Child", "Ending", "Patience", "Program", "spawn", "start")

_LINE_LIMIT = 16 * 1024 * 1024
_TAIL_LIMIT = 16 * 1024


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What to start, and within which bounds. Its `repr` shows neither arguments nor environment: either may be secret.

    `environment` is all that the child sees (`net.environment` makes it); the program is looked up on our own PATH.
    `line_limit` bounds a line in bytes, either way; `tail_limit` what is kept of stderr.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    called: str | None = None
    cwd: Path | None = None
    line_limit: int = _LINE_LIMIT
    tail_limit: int = _TAIL_LIMIT
    patience: Patience = Patience()

    @property
    def name(self) -> str:
        """What people call it."""
        return self.called or Path(self.command[0]).name

    def __repr__(self) -> str:
        return f"Program({self.name})"


@asynccontextmanager
async def spawn(program: Program) -> AsyncIterator[Child]:
    """`start` for the length of a block."""
    child = await start(program)
    try:
        yield child
    finally:
        await child.close()


async def start(program: Program) -> Child:
    """Starts a program; whoever calls this must `close` what it gives. Refused `cannot_start`."""
    process = _fork(program, _find(program))
    pipes = Pipes(process, program.line_limit, program.tail_limit, program.patience)
    child = Child(program.name, pipes)
    try:
        # Whole or not at all: cut in the middle, event loops disagree about who closes a pipe.
        await unbroken(asyncio.ensure_future(pipes.connect()))
    except BaseException:
        await child.close()
        raise
    return child


def _fork(program: Program, path: str) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - starting a configured program is what this module is for
            [path, *program.command[1:]],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=program.cwd,
            env=dict(program.environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _not_started(program, getattr(error, "strerror", None) or "its arguments cannot be passed") from error


def _find(program: Program) -> str:
    """The program's full path, found from where we are, whatever the child's working directory will be."""
    found = shutil.which(program.command[0], path=os.environ.get("PATH", os.defpath))
    if found is None:
        raise _not_started(program, "there is no such program")
    return str(Path(found).absolute())


def _not_started(program: Program, why: str) -> Refused:
    return Refused.because(
        "cannot_start",
        f"{program.name} could not be started: {why}",
        place=program.command[0],
        help="Install it, or correct its command in the settings.",
    )


class Child:
    """A started program. One reader at a time; writers may overlap, a line is written whole."""

    def __init__(self, name: str, pipes: Pipes) -> None:
        self.name = name
        self.pid = pipes.process.pid
        self._pipes = pipes
        self._end: asyncio.Future[Ending] | None = None

    @property
    def ending(self) -> Ending | None:
        """How it ended, once it has; lines that came before may still be unread."""
        return self._pipes.ending

    @property
    def stderr_tail(self) -> str:
        """The last of what it wrote to stderr. May hold secrets."""
        return self._pipes.tail.text()

    async def read_line(self) -> bytes | None:
        """The next line without its LF, None when there is none any more (`ending` then says why)."""
        return await self._pipes.read_line()

    async def lines(self) -> AsyncIterator[bytes]:
        while (line := await self.read_line()) is not None:
            yield line

    async def ended(self) -> Ending:
        """Waits for the ending. Somebody must read the lines meanwhile: a full pipe ends nothing."""
        return await self._pipes.ended()

    async def write_line(self, line: bytes) -> None:
        """Writes one line and waits while the child is slow to read.

        Refused `line_too_long` over the bound, with nothing written; PeerUnreachable when the child has ended. Misuse:
        a line end inside the line.
        """
        if b"\n" in line:
            raise Misuse("a line holds no line end")
        if len(line) > self._pipes.line_limit:
            raise LineTooLong(len(line), self._pipes.line_limit, is_whole=True, lines=[])
        if not await self._pipes.write(line + b"\n"):
            raise PeerUnreachable(self.name, str(self.ending or "it closed its input"))

    def close_input(self) -> None:
        """Tells the child that nothing more comes."""
        self._pipes.close_input()

    async def close(self) -> Ending:
        """Ends the child and its whole group, within the bounds of its patience; calling it again changes nothing."""
        if self._end is None:
            self._end = asyncio.ensure_future(self._close())
        return await unbroken(self._end)

    async def _close(self) -> Ending:
        pipes = self._pipes
        pipes.is_closing = True
        pipes.close_input()
        await self._end_group()
        with anyio.move_on_after(pipes.patience.kill):
            await pipes.exited.wait()
        # What it said last lies in the pipe yet.
        with anyio.move_on_after(pipes.patience.drain):
            await pipes.output_over.wait()
        pipes.close()
        return pipes.settle(Cause.CLOSED_BY_US)

    async def _end_group(self) -> None:
        group, patience = self._pipes.group, self._pipes.patience
        # Without its leader a group gets no time to go by itself.
        if self._pipes.exit_code is None and await group.gone(patience.eof):
            return
        group.send(signal.SIGTERM)
        if await group.gone(patience.term):
            return
        group.send(signal.SIGKILL)
        await group.gone(patience.kill)
