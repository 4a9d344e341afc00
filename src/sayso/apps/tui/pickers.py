"""One list to pick from, by keys alone: type to filter, up and down, Enter, Escape. Quick at thousands of entries.

Only the lines that are seen are drawn, whatever stands behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from sayso.apps.tui.fuzzy import rank
from sayso.apps.tui.view.clean import clean_name

__all__ = ("Entry", "Picker")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: `value` is what picking it gives, `text` what is searched and shown, `detail` what stands beside it."""

    value: str
    text: str
    detail: str = ""

    @property
    def searched(self) -> str:
        return f"{self.text} {self.detail}"


class PickerRows(Static):
    """The lines that are seen, around the chosen one."""

    def __init__(self) -> None:
        super().__init__(id="picker-rows")
        self._entries: Sequence[Entry] = ()
        self._chosen = 0

    def show(self, entries: Sequence[Entry], chosen: int) -> None:
        """Draws these."""
        self._entries, self._chosen = entries, chosen
        self.refresh()

    def render(self) -> Text:
        """As many lines as there is room for."""
        width, height = max(10, self.size.width), max(1, self.size.height)
        if not self._entries:
            return Text("Nothing matches.", style="dim")
        first = max(0, min(self._chosen - height // 2, len(self._entries) - height))
        lines = Text(no_wrap=True, overflow="ellipsis", end="")
        for number, entry in enumerate(self._entries[first : first + height], first):
            lines.append_text(_line(entry, width, is_chosen=number == self._chosen))
            lines.append("\n")
        lines.right_crop(1)
        return lines


def _line(entry: Entry, width: int, *, is_chosen: bool) -> Text:
    line = Text(f"{'›' if is_chosen else ' '} {clean_name(entry.text)}", no_wrap=True)
    if entry.detail:
        line.append(f"  {clean_name(entry.detail)}", style="dim")
    line.truncate(width, overflow="ellipsis", pad=True)
    if is_chosen:
        line.stylize("reverse")
    return line


class Picker(ModalScreen[str | None]):
    """Gives back the value of what was picked, or None."""

    _STEPS: ClassVar[dict[str, int]] = {"up": -1, "ctrl+p": -1, "down": 1, "ctrl+n": 1}

    def __init__(self, title: str, entries: Sequence[Entry], *, typed: str = "") -> None:
        super().__init__()
        self._title = title
        self._all = tuple(entries)
        self._typed = typed
        self._found: Sequence[Entry] = self._all
        self._chosen = 0

    def compose(self) -> ComposeResult:
        with Vertical(id="picker"):
            yield Static(Text(self._title), id="picker-title")
            yield Input(self._typed, placeholder="type to filter", id="picker-filter", select_on_focus=False)
            yield PickerRows()

    def on_mount(self) -> None:
        self._filter(self._typed)
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Each letter filters."""
        event.stop()
        self._filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter picks."""
        event.stop()
        self.dismiss(self._found[self._chosen].value if self._found else None)

    def on_key(self, event: events.Key) -> None:
        """Moving, and leaving."""
        if event.key in ("escape", "ctrl+c"):
            event.stop()
            self.dismiss(None)
        elif event.key in ("pageup", "pagedown"):
            event.stop()
            rows = max(1, self.query_one(PickerRows).size.height - 1)
            self._move(rows if event.key == "pagedown" else -rows)
        elif event.key in self._STEPS:
            event.stop()
            self._move(self._STEPS[event.key])

    def _filter(self, typed: str) -> None:
        self._found = rank(typed, self._all, lambda entry: entry.searched)
        self._chosen = 0
        self._show()

    def _move(self, step: int) -> None:
        self._chosen = max(0, min(len(self._found) - 1, self._chosen + step))
        self._show()

    def _show(self) -> None:
        self.query_one(PickerRows).show(self._found, self._chosen)
