"""Textual's driver over a terminal that was taken before Textual was imported.

It draws on that terminal and not on standard error, which belongs to a log by now; the screen that stands is drawn over
and not cleared first; what was typed meanwhile comes first; and many lines that arrive at once without a bracket
around them are a paste, not that many presses of Enter.
"""

from __future__ import annotations

import errno
import io
import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from sayso.apps.tui.terminal import Terminal

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ("TypedChunks", "driver_over", "pasted")

_ALTERNATE = "\x1b[?1049h"
_CHUNK = 4096
_TICK_SECONDS = 0.05


class _Drawing(io.RawIOBase):
    """The terminal to draw on. What is drawn on one that is gone is lost, and holds nobody up."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: Buffer) -> int:
        try:
            return os.write(self._descriptor, data)
        except OSError:
            return len(bytes(data))


class TakenTerminal(LinuxDriver):
    """Draws on `terminal`; `early` is what was typed before it starts."""

    terminal: ClassVar[Terminal]
    early: str

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # The descriptor is closed by the launcher, after everything else has ended.
        drawing = io.BufferedWriter(_Drawing(self.terminal.descriptor), 65536)
        self._file = io.TextIOWrapper(drawing, "utf-8", "replace")
        self._ends, self._end = os.pipe()
        self._is_standing = True
        """Whether the first frame stands, on the alternate screen."""

    def _get_terminal_size(self) -> tuple[int, int]:
        return self.terminal.size()

    def write(self, data: str) -> None:
        if data == _ALTERNATE and self._is_standing:
            self._is_standing = False
        else:
            super().write(data)

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        # Whoever has the terminal while we are suspended has it as it was before the first frame.
        self.attrs_before = self.terminal.before

    def _sigcont_application(self, *about: Any) -> None:
        if self._key_thread is not None and self._key_thread.is_alive():
            self.suspend_application_mode()  # stopped by SIGSTOP, so nothing was given back, and modes may be others
        super()._sigcont_application(*about)
        self._app.call_later(self._app.refresh, layout=True)

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except OSError:
            self._app.call_later(self._app.run_action, "leave")  # the terminal is gone
        except Exception as error:  # noqa: BLE001 - it ends the application, which tells of it
            self._app.call_later(self._app._handle_exception, error)

    def run_input_thread(self) -> None:
        chunks = TypedChunks(XTermParser(self._debug))
        early, self.early = self.early, ""
        self._hear(chunks.read(early))
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(self._ends, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                ready = {key.fd for key, _ in selector.select(_TICK_SECONDS)}
                if self._ends in ready:
                    os.read(self._ends, 1)  # another thread may follow, after a suspension
                    return
                if self.fileno in ready:
                    data = os.read(self.fileno, _CHUNK)
                    if not data:
                        raise OSError(errno.EIO, "the terminal has ended")
                    self._hear(chunks.read(decode(data)))
                self._hear(chunks.tick())

    def disable_input(self) -> None:
        # The thread is waited for; it need not sleep to its next look.
        os.write(self._end, b"\0")
        super().disable_input()

    def _hear(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)


def driver_over(terminal: Terminal, early: str) -> type[LinuxDriver]:
    """The driver class for one application; Textual makes the driver itself."""
    return type("TakenTerminal", (TakenTerminal,), {"terminal": terminal, "early": early})


class TypedChunks:
    """Input as it comes in, chunk by chunk, made into events."""

    def __init__(self, parser: XTermParser) -> None:
        self._parser = parser
        self._tail = ""
        self._is_bracketed = False

    def read(self, text: str) -> Iterable[Message]:
        """The events of one chunk."""
        if not text:
            return []  # the parser takes nothing for the end of everything
        was_bracketed, seen = self._is_bracketed, self._tail + text
        began, ended = seen.rfind(BRACKETED_PASTE_START), seen.rfind(BRACKETED_PASTE_END)
        if max(began, ended) >= 0:
            self._is_bracketed = began > ended
        self._tail = seen[1 - len(BRACKETED_PASTE_END) :]
        if not was_bracketed and pasted(text):
            return [events.Paste(text.replace("\r", "\n"))]
        return list(self._parser.feed(text))

    def tick(self) -> Iterable[Message]:
        """What is settled by nothing more having come: Escape, pressed alone."""
        return list(self._parser.tick())


def pasted(text: str) -> bool:
    """Whether a chunk is several lines at once, as a terminal without bracketed paste sends them."""
    return "\x1b" not in text and "\r" in text.rstrip("\r") and text.replace("\r", "").isprintable()
