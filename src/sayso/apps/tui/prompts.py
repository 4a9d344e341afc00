"""One line asked for in front of everything else: a passphrase or a key, never shown, or a choice by one key."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

__all__ = ("Asked", "Told")


class Asked(ModalScreen[str | None]):
    """Asks for one line; None when they will not say. What is `masked` is neither shown nor kept."""

    def __init__(self, question: str, *, masked: bool = False, why: str = "") -> None:
        super().__init__()
        self._question = question
        self._masked = masked
        self._why = why

    def compose(self) -> ComposeResult:
        with Vertical(id="asked"):
            yield Static(Text(self._question, style="bold"))
            yield Input(password=self._masked, id="asked-line")
            yield Static(Text(self._why or "Enter to go on, Esc to leave it", style="dim"))

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter gives it."""
        event.stop()
        self.dismiss(event.value or None)

    def on_key(self, event: events.Key) -> None:
        """Escape does not."""
        if event.key in ("escape", "ctrl+c"):
            event.stop()
            self.dismiss(None)


class Told(ModalScreen[None]):
    """Tells something that goes on elsewhere (an address to open, a code to type) until Esc stops it or it is over."""

    def __init__(self, title: str, text: str = "") -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical(id="told"):
            yield Static(Text(self._title, style="bold"))
            yield Static(id="told-text")
            yield Static(Text("Esc stops", style="dim"))

    def tell(self, text: str) -> None:
        """Another text."""
        self._text = text
        if self.is_mounted:
            self.on_mount()

    def on_mount(self) -> None:
        # Also what was told between the making of the screen and now; none is left where it was over as soon as begun.
        for words in self.query("#told-text").results(Static):
            words.update(Text(self._text, overflow="fold"))

    def on_key(self, event: events.Key) -> None:
        """Escape stops it."""
        if event.key in ("escape", "ctrl+c"):
            event.stop()
            self.dismiss(None)
