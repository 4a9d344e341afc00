"""One list to pick from, by keys alone: type to filter, up and down, Enter, Escape. Quick at thousands of entries.

Only the lines that are seen are drawn, whatever stands behind them, and all in one widget: each that has to be styled,
laid out and drawn before the list stands takes a millisecond or more, and a line of Textual's to type in takes five.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget

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


class PickerRows(Widget):
    """What was typed, and below it the lines that are seen, around the chosen one."""

    def __init__(self, title: str) -> None:
        super().__init__(id="picker")
        self.border_title = Content(title)
        self._typed = ""
        self._entries: Sequence[Entry] = ()
        self._chosen = 0

    def show(self, typed: str, entries: Sequence[Entry], chosen: int) -> None:
        """Draws these."""
        self._typed, self._entries, self._chosen = typed, entries, chosen
        self.refresh()

    @property
    def rows(self) -> int:
        """How many entries there is room for."""
        return max(1, self.size.height - 1)

    def render(self) -> Text:
        """As many lines as there is room for."""
        width, height = max(10, self.size.width), self.rows
        lines = _filter_line(self._typed, width)
        if not self._entries:
            return lines.append("\nNothing matches.", style="dim")
        first = max(0, min(self._chosen - height // 2, len(self._entries) - height))
        for number, entry in enumerate(self._entries[first : first + height], first):
            lines.append("\n")
            lines.append_text(_line(entry, width, is_chosen=number == self._chosen))
        return lines


def _filter_line(typed: str, width: int) -> Text:
    """The end of what was typed, with the place where the next letter goes."""
    while cell_len(typed) >= width:
        typed = typed[1:]
    line = Text(typed, no_wrap=True, overflow="ellipsis", end="")
    line.append(" ", style="reverse")
    return line if typed else line.append("type to filter", style="dim")


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
        yield PickerRows(self._title)

    def on_mount(self) -> None:
        self._filter(self._typed)

    def on_key(self, event: events.Key) -> None:
        """Moving, picking, leaving; any other letter filters."""
        event.stop()
        event.prevent_default()
        if event.key in ("escape", "ctrl+c"):
            self.dismiss(None)
        elif event.key == "enter":
            self.dismiss(self._found[self._chosen].value if self._found else None)
        elif event.key in ("pageup", "pagedown"):
            page = self.query_one(PickerRows).rows
            self._move(page if event.key == "pagedown" else -page)
        elif event.key in self._STEPS:
            self._move(self._STEPS[event.key])
        elif event.key in ("backspace", "ctrl+u"):
            self._filter(self._typed[:-1] if event.key == "backspace" else "")
        elif event.is_printable and event.character is not None:
            self._filter(self._typed + event.character)

    def on_paste(self, event: events.Paste) -> None:
        """Filters by it."""
        event.stop()
        self._filter(self._typed + clean_name(event.text))

    def _filter(self, typed: str) -> None:
        self._typed = typed
        self._found = rank(typed, self._all, lambda entry: entry.searched)
        self._chosen = 0
        self._show()

    def _move(self, step: int) -> None:
        self._chosen = max(0, min(len(self._found) - 1, self._chosen + step))
        self._show()

    def _show(self) -> None:
        self.query_one(PickerRows).show(self._typed, self._found, self._chosen)
