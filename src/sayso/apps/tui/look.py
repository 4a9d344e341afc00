"""How the screen is laid out and coloured, and the choices above the composer. No colour is ours: themes have them."""

from __future__ import annotations

from rich.text import Text

from sayso.apps.tui.composer import Completion
from sayso.apps.tui.view.clean import clean_strict

__all__ = ("CSS", "shown_choices")

_SHOWN = 8

CSS = """
Screen { background: $background; }
#talk { height: 1fr; }
#queue { height: auto; max-height: 7; padding: 0 1; background: $surface; }
#choices { height: auto; max-height: 10; padding: 0 1; background: $surface; border-top: solid $primary; }
#composer { height: auto; max-height: 10; border: round $primary; background: $background; padding: 0 1; }
#composer:focus { border: round $accent; }
#status, #starting { height: 1; padding: 0 1; }
#starting { color: $text-muted; }
"""


def shown_choices(completion: Completion, chosen: int) -> Text:
    """The choices around the chosen one."""
    count = len(completion.choices)
    first = max(0, min(chosen - _SHOWN // 2, count - _SHOWN))
    lines = Text(no_wrap=True, overflow="ellipsis", end="")
    for number, (_, text) in enumerate(completion.choices[first : first + _SHOWN], first):
        lines.append(f"{clean_strict(text)}\n", style="reverse" if number == chosen else "dim")
    lines.right_crop(1)
    return lines
