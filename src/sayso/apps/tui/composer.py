"""Where a person types: several lines, what they sent before, files by `@`, commands by `/`.

Enter sends. A line is broken by Shift+Enter where the terminal tells it from Enter, and everywhere by Ctrl+J, Alt+Enter
or a backslash before Enter. What is pasted comes in as text, whatever it holds, and sends nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from sayso.apps.tui.commands import COMMANDS
from sayso.apps.tui.fuzzy import rank

__all__ = ("Completion", "Composer", "complete")

_SHOWN = 8
_BREAKS = ("shift+enter", "ctrl+j", "alt+enter")


@dataclass(frozen=True, slots=True)
class Completion:
    """What the letters before the cursor may become: `choices` as (put in, shown), in place of `length` letters."""

    length: int
    choices: tuple[tuple[str, str], ...]


def complete(before: str, files: Sequence[str]) -> Completion | None:
    """The completion for a text that ends at the cursor; None where there is nothing to complete."""
    if before.startswith("/") and not any(each.isspace() for each in before):
        found = rank(before[1:], COMMANDS, lambda command: command.name)
        choices = tuple((f"/{each.name} ", f"/{each.name} {each.takes}".ljust(26) + each.help) for each in found)
        return Completion(len(before), choices) if choices else None
    word = _last_word(before)
    if not word.startswith("@"):
        return None
    names = rank(word[1:], files, lambda name: name)[:_SHOWN]
    return Completion(len(word), tuple((f"{name} ", name) for name in names)) if names else None


def _last_word(before: str) -> str:
    return before[max(before.rfind(each) for each in " \n\t") + 1 :]


class Composer(TextArea):
    """The text under way. What it says it says by messages; who shows the choices is the application."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+u", "delete_to_start_of_line", "Delete to the start", show=False),
        Binding("alt+left", "cursor_word_left", show=False),
        Binding("alt+right", "cursor_word_right", show=False),
    ]

    class Sent(Message):
        """Enter on a text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Recalled(Message):
        """Up on the first line, or down on the last."""

        def __init__(self, direction: Literal["earlier", "later"]) -> None:
            super().__init__()
            self.direction = direction

    class Completing(Message):
        """The choices changed, or which of them is meant; None when there are none any more."""

        def __init__(self, completion: Completion | None, chosen: int) -> None:
            super().__init__()
            self.completion = completion
            self.chosen = chosen

    class WantsFiles(Message):
        """An `@` was typed: the list of files is needed."""

    class Leaving(Message):
        """Ctrl-D on an empty line."""

    def __init__(self, text: str = "") -> None:
        super().__init__(
            text,
            soft_wrap=True,
            tab_behavior="focus",
            show_line_numbers=False,
            highlight_cursor_line=False,
            id="composer",
        )
        self.files: Sequence[str] = ()
        self._completion: Completion | None = None
        self._chosen = 0
        self._was_put = False
        self._is_naming = False
        """Whether a file is being named, by a word that begins with `@`."""

    def on_mount(self) -> None:
        self.move_cursor(self.document.end)

    @property
    def is_completing(self) -> bool:
        """Whether choices are shown."""
        return self._completion is not None

    def put(self, text: str) -> None:
        """Another text, with the cursor at its end."""
        self._was_put = text != self.text
        self.load_text(text)
        self.move_cursor(self.document.end)
        self.stop_completing()

    def stop_completing(self) -> None:
        """No choices, until the text changes."""
        if self._completion is not None:
            self._completion = None
            self.post_message(self.Completing(None, 0))

    # --- keys ---

    async def _on_key(self, event: events.Key) -> None:
        if self._take(event):
            event.stop()
            event.prevent_default()

    def _take(self, event: events.Key) -> bool:
        """Whether this key was ours."""
        key = event.key
        if key in _BREAKS:
            self.insert("\n")
        elif key == "enter":
            self._enter()
        elif key == "ctrl+d" and not self.text:
            self.post_message(self.Leaving())
        elif self._completion is not None and key in ("up", "down", "tab", "escape"):
            self._choose(key)
        elif key == "up" and self.cursor_at_first_line:
            self.post_message(self.Recalled("earlier"))
        elif key == "down" and self.cursor_at_last_line:
            self.post_message(self.Recalled("later"))
        elif key == "tab":
            self.insert("    ")
        else:
            return False
        return True

    def _choose(self, key: str) -> None:
        if self._completion is None:
            return
        if key == "tab":
            self._accept()
        elif key == "escape":
            self.stop_completing()
        else:
            step = 1 if key == "down" else -1
            self._chosen = (self._chosen + step) % len(self._completion.choices)
            self.post_message(self.Completing(self._completion, self._chosen))

    def _enter(self) -> None:
        row, column = self.cursor_location
        if column and self.document[row][column - 1] == "\\":
            self.replace("\n", (row, column - 1), (row, column))
        elif self._completion is not None and not self._is_whole_command():
            self._accept()
        elif self.text.strip():
            self.stop_completing()
            self.post_message(self.Sent(self.text))

    def _is_whole_command(self) -> bool:
        """A command typed to its end is sent by Enter, and not completed first."""
        return any(self.text == f"/{command.name}" for command in COMMANDS)

    def _accept(self) -> None:
        if self._completion is None:
            return
        put, _ = self._completion.choices[self._chosen]
        row, column = self.cursor_location
        start, length = (row, column - self._completion.length), self._completion.length
        self._completion = None
        self.replace(put, start, (row, start[1] + length), maintain_selection_offset=False)
        self.move_cursor((row, start[1] + len(put)))
        self.post_message(self.Completing(None, 0))

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        lines = event.text.replace("\r\n", "\n").replace("\r", "\n")
        self.replace("".join(each for each in lines if each.isprintable() or each in "\n\t"), *self.selection)

    # --- completions ---

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """The choices follow what stands before the cursor, not what was put there whole."""
        if self._was_put:
            self._was_put = False
            return
        row, column = self.cursor_location
        before = "\n".join((*(self.document[each] for each in range(row)), self.document[row][:column]))
        was_naming, self._is_naming = self._is_naming, _last_word(before).startswith("@")
        if self._is_naming and not was_naming:
            self.post_message(self.WantsFiles())
        self.refresh_completion(before)

    def refresh_completion(self, before: str | None = None) -> None:
        """Looks again, also when the list of files has come."""
        if before is None:
            row, column = self.cursor_location
            before = self.text if row == 0 and column == len(self.text) else self.document[row][:column]
        found = complete(before, self.files)
        if found is not None or self._completion is not None:
            self._completion, self._chosen = found, 0
            self.post_message(self.Completing(found, 0))
