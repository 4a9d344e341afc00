"""Blocks as strips of a given width, kept while they are near; a text that is still written keeps the lines it has."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from rich.segment import Segment
from textual.content import Content
from textual.strip import Strip
from textual.style import Style

from sayso.apps.tui.view.blocks import Block, TextBlock
from sayso.apps.tui.view.drawing import draw, is_close, is_empty
from sayso.apps.tui.view.markdown import Growing

__all__ = ("Strips",)

_KEPT = 256


class Strips:
    """The drawn blocks of one story at one width and in one theme."""

    def __init__(self, blocks: Sequence[Block], width: int, base: Style, parse: Callable[[str], Style]) -> None:
        self.width = width
        self._blocks = blocks
        self._base = base
        self._parse = parse
        self._styles: dict[str | Style, Style] = {}
        self._drawn: OrderedDict[int, list[Strip]] = OrderedDict()
        self._growing: dict[int, tuple[Growing, int]] = {}
        """Texts still written, each with how many of its strips, gap included, can no longer change."""
        self._kept: dict[int, list[Strip]] = {}

    def forget(self, index: int) -> None:
        """The block changed: what is drawn of it is stale, but for the settled lines of a text still written."""
        strips = self._drawn.pop(index, None)
        if strips is not None and index in self._growing:
            self._kept[index] = strips

    def of(self, index: int, level: int) -> list[Strip]:
        """The block's lines."""
        strips = self._drawn.get(index)
        if strips is None:
            strips = self._draw(index, level)
        self._drawn.move_to_end(index)
        return strips

    def _draw(self, index: int, level: int) -> list[Strip]:
        block = self._blocks[index]
        if isinstance(block, TextBlock) and not block.done:
            strips = self._grow(index, block)
        else:
            self._growing.pop(index, None)
            lines = draw(block, self.width, level)
            strips = [self._strip(line) for line in [*self._gap(index, bool(lines)), *lines]]
        self._drawn[index] = strips
        while len(self._drawn) > _KEPT:
            old, _ = self._drawn.popitem(last=False)
            self._growing.pop(old, None)
        return strips

    def _grow(self, index: int, block: TextBlock) -> list[Strip]:
        growing, settled = self._growing.get(index) or (Growing(self.width), 0)
        before = self._kept.pop(index, [])[:settled]
        lines, certain = growing.lines(block.text)
        gap = self._gap(index, bool(lines))
        strips = [*before, *(self._strip(line) for line in [*gap, *lines][len(before) :])]
        self._growing[index] = (growing, len(gap) + certain if certain else 0)
        return strips

    def _gap(self, index: int, is_drawn: bool) -> list[Content]:  # noqa: FBT001 - one question, always named
        """The empty line between two blocks; blocks that draw nothing stand between none."""
        before = index - 1
        while before >= 0 and is_empty(self._blocks[before]):
            before -= 1
        is_apart = is_drawn and before >= 0 and not is_close(self._blocks[before], self._blocks[index])
        return [Content("")] if is_apart else []

    def _strip(self, line: Content) -> Strip:
        parts = line.render(self._base, end="", parse_style=self._style)
        segments = [Segment(text, style.rich_style) for text, style in parts]
        return Strip(segments).adjust_cell_length(self.width, self._base.rich_style)

    def _style(self, style: str | Style) -> Style:
        if (known := self._styles.get(style)) is None:
            known = self._styles[style] = style if isinstance(style, Style) else self._parse(style)
        return known
