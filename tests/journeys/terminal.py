"""A person at a real terminal: the command runs on a pseudo-terminal, so that it can ask for a passphrase."""

from __future__ import annotations

import fcntl
import os
import pty
import subprocess
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.journeys.house import SAYSO, environment

__all__ = ("Terminal", "at_terminal")


class Terminal:
    """What stands on the screen so far, and the keyboard."""

    def __init__(self, screen: int) -> None:
        self._screen = screen
        self.text = ""

    def wait_for(self, words: str) -> None:
        """Reads until `words` appear; an ended program without them fails the test."""
        start = len(self.text)
        while words not in self.text[start:]:
            try:
                seen = os.read(self._screen, 65_536)
            except OSError:
                seen = b""
            if not seen:
                raise AssertionError(f"{words!r} never came:\n{self.text}")
            self.text += seen.decode()

    def type(self, line: str) -> None:
        os.write(self._screen, f"{line}\n".encode())

    def press_ctrl_c(self) -> None:
        """The terminal turns it into an interrupt for the program, as for a person."""
        os.write(self._screen, b"\x03")

    def rest(self) -> str:
        """Everything until the program ends."""
        while True:
            try:
                seen = os.read(self._screen, 65_536)
            except OSError:
                return self.text
            if not seen:
                return self.text
            self.text += seen.decode()


@contextmanager
def at_terminal(arguments: Sequence[str], **more: str) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    """Runs `sayso` with a controlling terminal; ended by its pid whatever happens. `more` are variables it sees."""
    screen, line = pty.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    child = subprocess.Popen(
        [*SAYSO, *arguments],
        stdin=line,
        stdout=line,
        stderr=line,
        start_new_session=True,
        preexec_fn=take_terminal,
        env=environment(**more),
    )
    os.close(line)
    try:
        yield Terminal(screen), child
    finally:
        child.kill()
        child.wait()
        os.close(screen)
