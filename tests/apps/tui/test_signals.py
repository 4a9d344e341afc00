"""Killed, hung up, suspended: at any moment the terminal is given back and what was typed is kept."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.apps.tui.test_tmux import ROOT

_LOOKS = 100
_STUCK = (
    "import importlib, time; from sayso.apps.tui.launch import launch\n"
    "importlib.import_module = lambda name: time.sleep(600); raise SystemExit(launch())\n"
)


class Line:
    """A program at the end of a line, which can be hung up."""

    def __init__(self, *arguments: str) -> None:
        self.seen = b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(ROOT)
            os.environ.update({"TERM": "xterm-256color", "SSH_TTY": "none"})
            os.execv(sys.executable, [sys.executable, *arguments])

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def until(self, *texts: str) -> None:
        """Until all these came; what came before is forgotten."""
        for _ in range(_LOOKS):  # its cursor blinks for ever
            if all(text.encode() in self.seen for text in texts):
                break
            assert select.select([self.terminal], [], [], 60)[0], self.seen
            self.seen += os.read(self.terminal, 65536)
        else:
            raise AssertionError(f"{texts} never came: {self.seen!r}")
        self.seen = b""

    def ends(self) -> int:
        """Its exit code; all it drew until then is in `seen`."""
        while True:
            assert select.select([self.terminal], [], [], 60)[0], self.seen
            try:
                more = os.read(self.terminal, 65536)
            except OSError:
                break
            if not more:
                break
            self.seen += more
        return self.exit_code()

    def exit_code(self) -> int:
        pid, self.pid = self.pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def is_given_back(self) -> bool:
        """Whether letters are echoed again, line by line, outside the alternate screen."""
        local = termios.tcgetattr(self.terminal)[3]
        return bool(local & termios.ECHO and local & termios.ICANON) and self.seen.rfind(
            b"\x1b[?1049l"
        ) > self.seen.rfind(b"\x1b[?1049h")

    def hang_up(self) -> None:
        os.close(self.terminal)
        self.terminal = -1

    def end(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        if self.terminal >= 0:
            os.close(self.terminal)


@contextmanager
def line(*arguments: str) -> Iterator[Line]:
    found = Line(*arguments)
    try:
        yield found
    finally:
        found.end()


@contextmanager
def talking(home: Path) -> Iterator[Line]:
    """The terminal UI over the reference adapter, ready, with something typed."""
    with line("-m", "tests.apps.tui.worker", "memory", str(home)) as found:
        found.until("starting")
        found.type("half a thought")
        found.until("half a thought", "idle")
        yield found


@pytest.mark.req("OAP-211")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_kill_before_the_screen_stands_gives_the_terminal_back(number: signal.Signals) -> None:
    """While everything slow is still being read: exit 1, and the shell as it was."""
    with line("-c", _STUCK) as found:
        while b"starting" not in found.seen:
            found.seen += os.read(found.terminal, 65536)
        os.kill(found.pid, number)
        assert (found.ends(), found.is_given_back()) == (1, True)
        assert b"Stopped." in found.seen


@pytest.mark.req("OAP-211", "OAP-213")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_kill_is_as_good_as_leaving(tmp_path: Path, number: signal.Signals) -> None:
    """Exit 0, and what was typed is kept."""
    with talking(tmp_path / "home") as found:
        os.kill(found.pid, number)
        assert (found.ends(), found.is_given_back()) == (0, True)
        assert b"What you had typed is kept" in found.seen
    assert (tmp_path / "home" / "tui" / "draft.txt").read_text() == "half a thought"


@pytest.mark.req("OAP-211", "OAP-213")
def test_a_line_that_is_hung_up_ends_it_in_order(tmp_path: Path) -> None:
    """Nobody reads what is said any more, and that is no failure."""
    with talking(tmp_path / "home") as found:
        found.hang_up()
        assert found.exit_code() == 0
    assert (tmp_path / "home" / "tui" / "draft.txt").read_text() == "half a thought"


@pytest.mark.req("OAP-211")
@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
def test_it_goes_on_after_it_was_stopped(tmp_path: Path, number: signal.Signals) -> None:
    """All is drawn anew on the alternate screen, keys are taken, and nothing is typed twice."""
    with talking(tmp_path / "home") as found:
        os.kill(found.pid, number)
        _, status = os.waitpid(found.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        if number == signal.SIGTSTP:
            assert termios.tcgetattr(found.terminal)[3] & termios.ECHO
        os.kill(found.pid, signal.SIGCONT)
        found.until("\x1b[?1049h", "half a thought", "idle")
        found.type(" and more")
        found.until("more")
        os.kill(found.pid, signal.SIGTERM)
        assert (found.ends(), found.is_given_back()) == (0, True)
    assert (tmp_path / "home" / "tui" / "draft.txt").read_text() == "half a thought and more"
