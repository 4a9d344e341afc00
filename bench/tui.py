"""The terminal UI in a pseudo-terminal: until its first frame, until it takes keys, from a key to the screen, and out.

Each is a whole process of its own, started one after another beside its floor: a bare interpreter that prints a word,
and a Textual application of two widgets. A figure is from the start of the process, or from the key, until the bytes
that show it have come out of the terminal. The agent behind it is the reference adapter, so no model takes part.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measure import compare, report, table

_PATIENCE = 30.0
_KEYS = "abcdefghijklmnopqrstuvwxyz"
_BARE = "print('starting')"
_TWO_WIDGETS = """
from textual.app import App
from textual.widgets import Input, Static
class Two(App):
    def compose(self):
        yield Static("idle")
        yield Input()
    def on_mount(self):
        self.query_one(Input).focus()
Two().run()
"""
_OURS = """
import sys
from pathlib import Path
from sayso.apps.tui.launch import Launch, launch
raise SystemExit(launch(Launch(home=Path(sys.argv[1]), backend="memory", workspace=Path(sys.argv[1]))))
"""


class Screen:
    """A program in a pseudo-terminal of 80 by 24, and what came out of it."""

    def __init__(self, code: str, *arguments: str) -> None:
        self.began = time.perf_counter()
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            os.environ.update({"TERM": "xterm-256color", "SSH_TTY": "none"})
            os.execv(sys.executable, [sys.executable, "-c", code, *arguments])
        self.came = b""

    def until(self, shown: str) -> float:
        """When this came out; what came before it is forgotten."""
        wanted = shown.encode()
        while wanted not in self.came:
            if not select.select([self._terminal], [], [], _PATIENCE)[0]:
                raise AssertionError(f"{shown!r} never came; last: {self.came[-300:]!r}")
            try:
                self.came += os.read(self._terminal, 65536)
            except OSError:
                raise AssertionError(f"it ended before {shown!r} came: {self.came[-300:]!r}") from None
        self.came = self.came.partition(wanted)[2]
        return time.perf_counter()

    def settle(self) -> None:
        """Until nothing more comes for a moment."""
        while select.select([self._terminal], [], [], 0.15)[0]:
            os.read(self._terminal, 65536)
        self.came = b""

    def press(self, keys: str, shown: str) -> float:
        """Milliseconds from these keys until this is shown."""
        began = time.perf_counter()
        os.write(self._terminal, keys.encode())
        return 1000 * (self.until(shown) - began)

    def leave(self, keys: str) -> float:
        """Milliseconds from these keys until the process has ended."""
        began = time.perf_counter()
        os.write(self._terminal, keys.encode())
        while True:
            try:
                if not select.select([self._terminal], [], [], _PATIENCE)[0] or not os.read(self._terminal, 65536):
                    break
            except OSError:
                break
        os.waitpid(self.pid, 0)
        self.pid = 0
        return 1000 * (time.perf_counter() - began)

    def end(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._terminal)


@contextmanager
def _screen(code: str) -> Iterator[Screen]:
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o700)
        screen = Screen(code, home)
        try:
            yield screen
        finally:
            screen.end()


def _first(code: str) -> Callable[[], float]:
    def run() -> float:
        with _screen(code) as screen:
            return 1000 * (screen.until("starting") - screen.began)

    return run


def _takes_keys(code: str, shown: str) -> Callable[[], float]:
    def run() -> float:
        with _screen(code) as screen:
            screen.until(shown)
            screen.press("Z", "Z")
            return 1000 * (time.perf_counter() - screen.began)

    return run


def _keys(code: str, shown: str, rounds: int) -> Callable[[], float]:
    def run() -> float:
        with _screen(code) as screen:
            screen.until(shown)
            screen.settle()
            return statistics.median(screen.press(key, key) for key in (_KEYS * rounds)[: 10 * rounds])

    return run


def _picker() -> float:
    with _screen(_OURS) as screen:
        screen.until("idle")
        screen.settle()
        screen.press("/model", "model")
        screen.settle()
        return screen.press("\r", "memory-large")


def _reply() -> float:
    with _screen(_OURS) as screen:
        screen.until("idle")
        screen.settle()
        screen.press("script: plain hi", "hi")
        screen.settle()
        return screen.press("\r", "Done:")


def _quit() -> float:
    with _screen(_OURS) as screen:
        screen.until("idle")
        screen.settle()
        return screen.leave("\x04")


def measure(*, quick: bool = False) -> list[dict[str, object]]:
    """Four tables; less is better everywhere."""
    rounds = 3 if quick else 5
    found = []

    def tell(title: str, cases: dict[str, Callable[[], float]], floor: str | None) -> None:
        rows = compare(cases, rounds=rounds, unit="ms")
        print(table(title, rows, floor=floor), "\n")
        found.append(report(title, rows, floor=floor))

    bare, two = "python -c print", "two widgets"
    tell("terminal UI, until the first frame", {"sayso": _first(_OURS), bare: _first(_BARE)}, bare)
    tell(
        "terminal UI, until a key is on the screen",
        {"sayso": _takes_keys(_OURS, "starting"), two: _takes_keys(_TWO_WIDGETS, "idle")},
        two,
    )
    tell(
        "terminal UI, from a key to the screen, median",
        {"sayso": _keys(_OURS, "idle", 2 if quick else 4), two: _keys(_TWO_WIDGETS, "idle", 2 if quick else 4)},
        two,
    )
    tell("terminal UI, from the last key", {"model picker": _picker, "a reply told": _reply, "out": _quit}, None)
    return found


if __name__ == "__main__":
    measure(quick="--quick" in sys.argv)
