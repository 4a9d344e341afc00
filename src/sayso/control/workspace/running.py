"""A program that is started, heard to its end within bounds, and gone afterwards with everything it started (B09).

It gets no input and no descriptor of ours but those it is handed; both its outputs are one stream, of which both ends
are kept. It leads a session of its own. Its end is the leader's exit, the time limit, or `stop`, whichever comes first;
then its whole group is killed, and whatever else carries the call's mark in its environment: a grandchild that made
itself a session of its own, or that holds the pipe open, ends with the call. Nothing goes on in the background.

`run` blocks and belongs in a thread; `stop` may be called from any other, at any time.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sayso.control.workspace.denial import cannot
from sayso.core.clock import Clock
from sayso.core.ids import SystemIds

__all__ = ("MARK", "Bounds", "Outcome", "Running")

MARK = "SAYSO_CALL"
"""The environment variable by which what a call started is found again."""

_CHUNK = 64 * 1024
_PAUSE_SECONDS = 0.05
"""Between two looks at a leader whose end no descriptor tells of."""
_DRAIN_SECONDS = 5.0
"""How long a killed program has to be gone."""
_SWEEPS = 20
_PROC = Path("/proc")

Ending = Literal["exited", "late", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long a program may run, and how many bytes of each end of its output are kept."""

    seconds: float
    head: int
    tail: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of it. `status` is negative for a signal, None when it was killed before it ended."""

    ending: Ending
    status: int | None
    head: bytes
    tail: bytes
    cut: int


@dataclass(slots=True)
class _Kept:
    """Both ends of a stream, in bounded space."""

    bounds: Bounds
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    cut: int = 0

    def add(self, data: bytes) -> None:
        room = self.bounds.head - len(self.head)
        self.head += data[:room]
        self.tail += data[room:]
        over = len(self.tail) - self.bounds.tail
        if over > 0:
            del self.tail[:over]
            self.cut += over


class Running:
    """One program, run once."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        bounds: Bounds,
        clock: Clock,
        handed: Sequence[int] = (),
    ) -> None:
        self._command = command
        self._mark = SystemIds().token()
        self._environment = {**environment, MARK: self._mark}
        self._folder = folder
        self._bounds = bounds
        self._clock = clock
        self._handed = handed
        self._kept = _Kept(bounds)
        self._lock = threading.Lock()
        self._woken, self._waker = os.pipe()
        self._is_over = False

    def stop(self) -> None:
        """Ends it at once; before it was started, it never is."""
        with self._lock:
            if not self._is_over:
                os.write(self._waker, b"x")

    def run(self) -> Outcome:
        """Runs it to its end. Refused `tool_failed`: `cannot_start`."""
        try:
            if _ready((self._woken,), 0):
                return self._outcome("stopped", None)
            process = self._start()
            try:
                ending = self._listen(process)
            finally:
                self._end(process)
            return self._outcome(ending, process.returncode)
        finally:
            self._close()

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603 - what a person or the session's mode allowed
                self._command,
                bufsize=0,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env=self._environment,
                start_new_session=True,
                pass_fds=self._handed,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it cannot be passed to the system"
            raise cannot("cannot_start", f"The command could not be started: {why}", place="$") from error

    def _listen(self, process: subprocess.Popen[bytes]) -> Ending:
        """Reads until the leader has exited, time is up or somebody wants it stopped."""
        output = _descriptor(process)
        deadline = self._clock.monotonic() + self._bounds.seconds
        leader = _watch(process.pid)
        waiting = [self._woken, output, *([] if leader is None else [leader])]
        try:
            while (left := deadline - self._clock.monotonic()) > 0:
                ready = _ready(waiting, left if leader is not None else min(left, _PAUSE_SECONDS))
                if self._woken in ready:
                    return "stopped"
                if output in ready and not self._read(output):
                    waiting.remove(output)
                if process.poll() is not None:
                    return "exited"
        finally:
            if leader is not None:
                os.close(leader)
        return "late"

    def _read(self, output: int) -> bool:
        """Takes what there is; False at the end of the stream."""
        data = os.read(output, _CHUNK)
        self._kept.add(data)
        return bool(data)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Kills the group and all that carries the mark, and takes what they had written."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for _ in range(_SWEEPS):
            if not _kill_marked(self._mark):
                break
        # A leader that became another user's (sudo) cannot be killed by us; it is not waited for without end.
        with suppress(subprocess.TimeoutExpired):
            process.wait(_DRAIN_SECONDS)
        self._drain(_descriptor(process))
        if process.stdout is not None:
            process.stdout.close()

    def _drain(self, output: int) -> None:
        deadline = self._clock.monotonic() + _DRAIN_SECONDS
        while (left := deadline - self._clock.monotonic()) > 0:
            if not _ready((output,), left) or not self._read(output):
                return

    def _outcome(self, ending: Ending, status: int | None) -> Outcome:
        kept = self._kept
        return Outcome(
            ending=ending,
            status=status if ending == "exited" else None,
            head=bytes(kept.head),
            tail=bytes(kept.tail),
            cut=kept.cut,
        )

    def _close(self) -> None:
        with self._lock:
            self._is_over = True
            os.close(self._woken)
            os.close(self._waker)


def _descriptor(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    return process.stdout.fileno()


def _ready(descriptors: Sequence[int], seconds: float) -> set[int]:
    """Those that have something to read, or have ended; `select` itself takes no descriptor above 1023."""
    poll = select.poll()
    for each in descriptors:
        poll.register(each, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(max(seconds, 0) * 1000)}


def _watch(pid: int) -> int | None:
    """A descriptor that is ready once the process has exited, where the system has such."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _kill_marked(mark: str) -> bool:
    """Kills every process with the mark that may be looked at; whether there was one that still ran."""
    wanted = f"{MARK}={mark}".encode()
    is_any = False
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if not entry.name.isdigit():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
                is_any = True
        except OSError:
            continue
    return is_any
