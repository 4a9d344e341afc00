"""The first thing a person sees, before anything slow is imported: the same places the real screen will fill. Pure."""

from __future__ import annotations

__all__ = ("LEAVE", "QUERY", "first_frame")

_MODES = (2004, 2048, 1000, 1003, 1006, 1015, 1016, 1004)
"""Pastes in brackets, sizes told, the mouse in all its ways, focus."""
LEAVE = "\x1b[<u" + "".join(f"\x1b[?{mode}l" for mode in _MODES) + "\x1b[?7h\x1b[0m\x1b[?1049l\x1b[?25h"
"""What gives the terminal back, whatever was asked of it."""
QUERY = "\x1b]11;?\x07\x1b[c"
"""Which colour is behind the text; the second question is one that every terminal answers, so nobody waits in vain."""
_ENTER = "\x1b[?1049h\x1b[2J\x1b[H"
_NARROW, _LOW = 20, 6


def first_frame(width: int, height: int, *, title: str = "sayso", doing: str = "starting…") -> str:
    """The frame for a terminal of this size: what is typed next goes where its cursor is left."""
    if width < _NARROW or height < _LOW:
        return f"{_ENTER}{title} {doing}\r\n> "
    top, bottom = f"╭{'─' * (width - 2)}╮", f"╰{'─' * (width - 2)}╯"
    return "".join(
        (
            _ENTER,
            f"\x1b[1m{title}\x1b[0m",
            _at(height - 3, 1),
            top,
            _at(height - 2, 1),
            "│",
            _at(height - 2, width),
            "│",
            _at(height - 1, 1),
            bottom,
            _at(height, 2),
            f"\x1b[2m{doing}\x1b[0m",
            _at(height - 2, 3),
        )
    )


def _at(row: int, column: int) -> str:
    return f"\x1b[{row};{column}H"
