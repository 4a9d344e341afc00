"""A table as lines: columns as wide as their words where there is room, else narrower, else one line a cell."""

from __future__ import annotations

from collections.abc import Container, Sequence

from textual.content import Content

__all__ = ("table_lines",)

_GAP = " │ "
_NARROWEST = 4
_MUTED = "$text 60%"


def table_lines(rows: Sequence[Sequence[Content]], width: int, ends: Container[int] = ()) -> list[Content]:
    """The first row is the head; columns in `ends` (from 0) are even at their right."""
    columns = max((len(row) for row in rows), default=0)
    if not rows or not columns:
        return []
    filled = [[*row, *[Content("")] * (columns - len(row))] for row in rows]
    room = width - len(_GAP) * (columns - 1)
    if room < _NARROWEST * columns:
        return _as_list(filled, width)
    widths = _fitted([max(_natural(row[at]) for row in filled) for at in range(columns)], room)
    head, *body = filled
    rule = Content.styled("─┼─".join("─" * each for each in widths), _MUTED)
    lines = [*_row([cell.stylize("bold") for cell in head], widths, ends), rule]
    return [*lines, *(line for row in body for line in _row(row, widths, ends))]


def _natural(cell: Content) -> int:
    return max((line.cell_length for line in cell.split("\n", allow_blank=True)), default=0) or 1


def _fitted(wanted: list[int], room: int) -> list[int]:
    """The widest column gives first."""
    widths = list(wanted)
    while (over := sum(widths) - room) > 0:
        widest = max(range(len(widths)), key=widths.__getitem__)
        second = max((each for at, each in enumerate(widths) if at != widest), default=0)
        step = max(1, min(over, widths[widest] - second))
        widths[widest] = max(_NARROWEST, widths[widest] - step)
    return widths


def _row(cells: Sequence[Content], widths: Sequence[int], ends: Container[int]) -> list[Content]:
    columns = [cell.wrap(width) if cell.plain else [] for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for at in range(max(1, *map(len, columns))):
        parts = [
            _padded(column[at] if at < len(column) else Content(""), w, is_end=number in ends)
            for number, (column, w) in enumerate(zip(columns, widths, strict=True))
        ]
        lines.append(Content.styled(_GAP, _MUTED).join(parts))
    return lines


def _padded(line: Content, width: int, *, is_end: bool) -> Content:
    room = max(0, width - line.cell_length)
    return line.pad_left(room) if is_end else line.pad_right(room)


def _as_list(rows: Sequence[Sequence[Content]], width: int) -> list[Content]:
    head, *body = rows
    lines: list[Content] = []
    for row in body:
        for name, cell in zip(head, row, strict=True):
            lines += (name.stylize("bold") + Content(": ") + cell).wrap(width)
        lines.append(Content.styled("─" * width, _MUTED))
    return lines
