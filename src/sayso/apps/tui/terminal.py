"""The person's terminal, from the first moment to the last: told apart from a pipe, drawn on, and always given back.

Imports nothing slow, because it works before anything else does. While it is taken, what libraries and children write
on standard output and standard error goes to a file in the home, so that nothing but us draws on the screen.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios

from sayso.apps.tui.first_frame import LEAVE, QUERY, first_frame

__all__ = ("Terminal", "is_there", "read_early")

_INPUT, _OUTPUT, _ERRORS = 0, 1, 2
_LFLAG, _CC = 3, 6
_REPLY_SECONDS = 0.15
_LARGEST_LOG, _KEPT_LOG = 1024 * 1024, 256 * 1024


def is_there() -> bool:
    """Whether a person's terminal, one that can place text, is at both ends."""
    return (
        sys.stdin is not None
        and sys.stdout is not None
        and os.isatty(_INPUT)
        and os.isatty(_OUTPUT)
        and os.environ.get("TERM", "dumb") not in ("", "dumb")
    )


class Terminal:
    """`begin` draws the first frame and keeps what is typed; `give_back` may be called at any time, and again."""

    def __init__(self) -> None:
        self.descriptor = os.dup(_OUTPUT)
        """The terminal itself, for whoever draws."""
        self.is_light: bool | None = None
        """What is known of the background."""
        self.log: int | None = None
        self.before = termios.tcgetattr(_INPUT)
        """Its attributes as they were found."""
        self._saved: list[tuple[int, int]] = []
        self._asked = not (os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"))
        """Over a network an answer may come late, in the middle of what is typed: then nothing is asked."""
        self._is_taken = False

    def begin(self) -> None:
        """Draws the first frame. Keys are kept as they are from now on, each by itself; Ctrl-C still stops us."""
        self._is_taken = True
        attributes = termios.tcgetattr(_INPUT)
        attributes[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)
        attributes[_LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        attributes[_CC][termios.VMIN] = 1
        termios.tcsetattr(_INPUT, termios.TCSANOW, attributes)
        width, height = self.size()
        self.write(first_frame(width, height) + (QUERY if self._asked else ""))

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        try:
            found = os.get_terminal_size(self.descriptor)
        except OSError:
            return 80, 24
        return found.columns or 80, found.lines or 24

    def write(self, text: str) -> None:
        """Draws."""
        data = text.encode()
        while data:
            data = data[os.write(self.descriptor, data) :]

    def early(self) -> str:
        """What was typed so far, without the terminal's own answers; learns from these what is behind the text."""
        data = b""
        while select.select([_INPUT], [], [], 0 if not self._asked or _is_answered(data) else _REPLY_SECONDS)[0]:
            more = os.read(_INPUT, 65536)
            if not more:
                break
            data += more
        typed, self.is_light = read_early(data)
        if self.is_light is None:
            self.is_light = _told_by_environment(os.environ.get("COLORFGBG", ""))
        return typed

    def silence(self, path: str) -> None:
        """Sends standard output and standard error of this process and its children to a file that only they can read.

        A file that cannot be opened is as good as none: nothing is kept then.
        """
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self.log = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.fchmod(self.log, 0o600)
        self.trim()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        for number in (_OUTPUT, _ERRORS):
            self._saved.append((number, os.dup(number)))
            os.dup2(self.log, number)

    def trim(self) -> None:
        """Keeps the log small: of a large one the end stays."""
        if self.log is None:
            return
        size = os.fstat(self.log).st_size
        if size > _LARGEST_LOG:
            kept = os.pread(self.log, _KEPT_LOG, size - _KEPT_LOG)
            os.ftruncate(self.log, 0)
            os.write(self.log, kept)

    def note(self, text: str) -> None:
        """Writes into the log."""
        if self.log is not None:
            with contextlib.suppress(OSError):
                os.write(self.log, text.encode("utf-8", "replace"))

    def give_back(self) -> None:
        """The terminal as it was found, and standard output and error again where they were."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        for number, saved in self._saved:
            os.dup2(saved, number)
            os.close(saved)
        self._saved = []
        if self._is_taken:
            self._is_taken = False
            with contextlib.suppress(OSError, termios.error):
                self.write(LEAVE)
                termios.tcsetattr(_INPUT, termios.TCSANOW, self.before)


def read_early(data: bytes) -> tuple[str, bool | None]:
    """What a person typed out of what came in, and whether the background is light, where the terminal said so."""
    import re  # noqa: PLC0415 - only now is there time

    is_light = None
    colour = re.compile(
        rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})[^\x07\x1b]*(?:\x07|\x1b\\)"
    )
    if (found := colour.search(data)) is not None:
        red, green, blue = (int(each, 16) / (16 ** len(each) - 1) for each in found.groups())
        is_light = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5
    typed = re.sub(rb"\x1b\[\?[0-9;]*c", b"", colour.sub(b"", data))
    return typed.decode("utf-8", "replace"), is_light


def _is_answered(data: bytes) -> bool:
    """Whether the question that every terminal answers was answered."""
    _, began, rest = data.rpartition(b"\x1b[?")
    return bool(began) and rest.lstrip(b"0123456789;")[:1] == b"c"


def _told_by_environment(colours: str) -> bool | None:
    """`COLORFGBG` as some terminals set it: foreground and background, of sixteen colours."""
    background = colours.rpartition(";")[2]
    return int(background) in (7, 15) if background.isascii() and background.isdigit() else None
