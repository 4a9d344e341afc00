"""How the screen is laid out and coloured, and the choices above the composer. No colour is ours: themes have them."""

from __future__ import annotations

import contextlib
from collections.abc import Container
from pathlib import Path

from rich.text import Text

from sayso.apps.tui.composer import Completion
from sayso.apps.tui.typed import write_private
from sayso.apps.tui.view.clean import clean_strict

__all__ = ("CSS", "DARK", "LIGHT", "choose_theme", "keep_theme", "shown_choices")

DARK, LIGHT = "textual-dark", "textual-light"

_SHOWN = 8

CSS = """
Screen { background: $background; }
#talk { height: 1fr; }
#queue { height: auto; max-height: 7; padding: 0 1; background: $surface; }
#queue.-aside { max-height: 1; }
#choices { height: auto; max-height: 10; padding: 0 1; background: $surface; border-top: solid $primary; }
#composer { height: auto; max-height: 10; border: round $primary; background: $background; padding: 0 1; }
#composer:focus { border: round $accent; }
#status, #starting { height: 1; padding: 0 1; }
#starting { color: $text-muted; }
Picker { align: center middle; }
#picker { width: 90%; max-width: 100; height: 80%; max-height: 24; padding: 0 1; border: round $primary; }
#picker { background: $surface; border-title-style: bold; }
Asked { align: center middle; }
#asked { width: 80%; max-width: 76; height: auto; border: round $primary; background: $surface; padding: 0 1; }
#asked Static { height: auto; }
#asked Input { border: none; height: 1; padding: 0; }
#asked Input:focus { border: none; }
Told { align: center middle; }
#told { width: 90%; height: auto; max-height: 80%; border: round $primary; background: $surface; padding: 0 1; }
#told Static { height: auto; }
"""
"""The rules of the screens that come before it stand here too: each of its own would have every rule read anew when its
screen comes for the first time, which takes longer than all else it does.
"""


def choose_theme(folder: Path, asked: str | None, known: Container[str], *, is_light: bool) -> str:
    """The theme that was asked for, else the one that was chosen last time, else the terminal's own side."""
    for name in (asked, _kept_theme(folder)):
        if name is not None and name in known:
            return name
    return LIGHT if is_light else DARK


def keep_theme(folder: Path, name: str | None) -> None:
    """Keeps a choice for the next time, or forgets it; a folder that cannot be written keeps none."""
    with contextlib.suppress(OSError):
        if name is None:
            (folder / "theme").unlink(missing_ok=True)
        else:
            write_private(folder / "theme", name.encode())


def _kept_theme(folder: Path) -> str | None:
    try:
        return (folder / "theme").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError):
        return None


def shown_choices(completion: Completion, chosen: int) -> Text:
    """The choices around the chosen one."""
    count = len(completion.choices)
    first = max(0, min(chosen - _SHOWN // 2, count - _SHOWN))
    lines = Text(no_wrap=True, overflow="ellipsis", end="")
    for number, (_, text) in enumerate(completion.choices[first : first + _SHOWN], first):
        lines.append(f"{clean_strict(text)}\n", style="reverse" if number == chosen else "dim")
    lines.right_crop(1)
    return lines
