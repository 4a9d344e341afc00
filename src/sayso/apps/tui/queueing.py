"""What waits for its turn, above the composer: counted, and edited by keys once it was gone up into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import Static

from sayso.apps.tui.view.clean import clean_name

if TYPE_CHECKING:
    from sayso.apps.tui.talk import Waiting

__all__ = ("QueueStrip",)

_SHOWN = 5


class QueueStrip(Static, can_focus=True):
    """Hidden while nothing waits."""

    class Dropped(Message):
        """One that is not to be said."""

        def __init__(self, waits: Waiting, *, to_edit: bool) -> None:
            super().__init__()
            self.waits = waits
            self.to_edit = to_edit

    class Left(Message):
        """Back to the composer."""

    def __init__(self) -> None:
        super().__init__(id="queue")
        self._waiting: Sequence[Waiting] = ()
        self._chosen = 0
        self.display = False

    def show(self, waiting: Sequence[Waiting]) -> None:
        """Draws what waits."""
        was = self._waiting[self._chosen] if self._chosen < len(self._waiting) else None
        self._waiting = waiting
        # The same one stays chosen when another one's turn came.
        found = next((at for at, each in enumerate(waiting) if was is not None and _is_same(each, was)), None)
        self._chosen = min(self._chosen, max(0, len(waiting) - 1)) if found is None else found
        self.display = bool(waiting)
        if not waiting and self.has_focus:
            self.post_message(self.Left())
        self.update(self._lines())

    def enter(self) -> bool:
        """Goes up into it, to the last; False where nothing waits."""
        if not self._waiting:
            return False
        self._chosen = len(self._waiting) - 1
        self.focus()
        return True

    def on_focus(self) -> None:
        self.update(self._lines())

    def on_blur(self) -> None:
        self.update(self._lines())

    def on_key(self, event: events.Key) -> None:
        """Up, down; Enter or `e` takes one back to edit, `d` takes it out; anything else leaves."""
        event.stop()
        event.prevent_default()
        last = len(self._waiting) - 1
        if event.key == "up":
            self._chosen = max(0, self._chosen - 1)
        elif event.key == "down" and self._chosen < last:
            self._chosen += 1
        elif event.key in ("enter", "e") and self._waiting:
            self.post_message(self.Dropped(self._waiting[self._chosen], to_edit=True))
        elif event.key in ("d", "delete", "backspace") and self._waiting:
            self.post_message(self.Dropped(self._waiting[self._chosen], to_edit=False))
        else:
            self.post_message(self.Left())
        self.update(self._lines())

    def _lines(self) -> Text:
        count = len(self._waiting)
        keys = "  ↑↓ · e edit · d take out · Esc back" if self.has_focus else "  ↑ to change"
        lines = Text(f"{count} waiting", style="bold", end="")
        lines.append(keys, style="not bold dim")
        first = max(0, min(self._chosen - _SHOWN // 2, count - _SHOWN))
        for number, each in enumerate(self._waiting[first : first + _SHOWN], first):
            is_chosen = self.has_focus and number == self._chosen
            line = f"\n{number + 1} {clean_name(each.text)}"
            lines.append(line, style="not bold reverse" if is_chosen else "not bold dim")
        if count > first + _SHOWN:
            lines.append(f"\n… and {count - first - _SHOWN} more", style="not bold dim")
        return lines


def _is_same(one: Waiting, other: Waiting) -> bool:
    return one is other or (one.run_id is not None and one.run_id == other.run_id)
