"""Text selected by mouse in lines that are drawn: which characters, and how they look."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip

__all__ = ("highlighted", "selected_text")


def highlighted(strip: Strip, span: tuple[int, int], style: Style) -> Strip:
    """The line with the characters from `span[0]` up to `span[1]` (-1: to its end) in another style."""
    text = strip.text
    start = cell_len(text[: span[0]])
    end = strip.cell_length if span[1] == -1 else cell_len(text[: span[1]])
    if start >= end:
        return strip
    within = strip.crop(start, end)
    return Strip.join([strip.crop(0, start), within.apply_style(style), strip.crop(end, strip.cell_length)])


def selected_text(selection: Selection, total: int, line: Callable[[int], Strip]) -> str:
    """What is selected, line by line, without the blanks that fill a line up."""
    first = 0 if selection.start is None else selection.start.y
    last = total - 1 if selection.end is None else min(selection.end.y, total - 1)
    lines = []
    for y in range(first, last + 1):
        text = line(y).text
        start, end = selection.get_span(y) or (0, -1)
        lines.append((text[start:] if end == -1 else text[start:end]).rstrip())
    return "\n".join(lines)
