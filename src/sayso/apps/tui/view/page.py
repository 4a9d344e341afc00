"""The blocks of a story, and which of them changed."""

from __future__ import annotations

from typing import TypeVar

from sayso.apps.tui.view.blocks import Block

__all__ = ("Page",)

B = TypeVar("B", bound=Block)


class Page:
    """Blocks in order. `changed` holds the indexes that nobody took yet."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.changed: set[int] = set()

    def add(self, block: B) -> B:
        """Puts a block at the end; its index is set here."""
        block.index = len(self.blocks)
        self.blocks.append(block)
        self.changed.add(block.index)
        return block

    def touch(self, *blocks: Block | None) -> None:
        """Says that these changed."""
        self.changed.update(block.index for block in blocks if block is not None)
