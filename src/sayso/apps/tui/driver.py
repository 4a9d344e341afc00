"""Textual's driver over a terminal that was taken before Textual was imported.

It draws on that terminal and not on standard error, which belongs to a log by now; the screen that stands is drawn over
and not cleared first; what was typed meanwhile comes first; and many lines that arrive at once without a bracket
around them are a paste, not that many presses of Enter.
"""

from __future__ import annotations

import io
import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Iterable
from typing import Any, ClassVar

from textual import events
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from sayso.apps.tui.terminal import Terminal

__all__ = ("TypedChunks", "driver_over", "pasted")

_ALTERNATE = "\x1b[?1049h"
_CHUNK = 4096
_TICK_SECONDS = 0.05


class TakenTerminal(LinuxDriver):
    """Draws on `terminal`; `early` is what was typed before it starts."""

    terminal: ClassVar[Terminal]
    early: ClassVar[str]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # The descriptor is closed by the launcher, after everything else has ended.
        drawing = open(self.terminal.descriptor, "wb", buffering=65536, closefd=False)  # noqa: SIM115
        self._file = io.TextIOWrapper(drawing, "utf-8", "replace")
        self._ends, self._end = os.pipe()

    def _get_terminal_size(self) -> tuple[int, int]:
        return self.terminal.size()

    def write(self, data: str) -> None:
        if data != _ALTERNATE:
            super().write(data)

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except Exception as error:  # noqa: BLE001 - it ends the application, which tells of it
            self._app.call_later(self._app._handle_exception, error)

    def run_input_thread(self) -> None:
        chunks = TypedChunks(XTermParser(self._debug))
        self._hear(chunks.read(self.early))
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(self._ends, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                ready = {key.fd for key, _ in selector.select(_TICK_SECONDS)}
                if self._ends in ready:
                    return
                if self.fileno in ready:
                    data = os.read(self.fileno, _CHUNK)
                    if not data:
                        return
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
