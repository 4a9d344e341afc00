"""Where each block stands: heights, the line each begins at, and which heights are only guessed so far."""

from __future__ import annotations

from bisect import bisect_right

__all__ = ("Heights",)


class Heights:
    """Lines of every block. A guess stands in for a block that was not drawn at this width yet."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._is_known: list[bool] = []
        self._tops: list[int] = [0]
        """Where each block begins, and last where they all end; right up to `_right`."""
        self._right = 0

    def __len__(self) -> int:
        return len(self._heights)

    @property
    def total(self) -> int:
        """Lines of all blocks."""
        return self.top(len(self._heights))

    def add(self, guess: int) -> None:
        """One more block, of which the height is guessed."""
        self._heights.append(guess)
        self._is_known.append(False)
        self._tops.append(0)

    def put(self, index: int, height: int) -> None:
        """The true height of a block."""
        if self._heights[index] != height:
            self._right = min(self._right, index)
        self._heights[index], self._is_known[index] = height, True

    def is_known(self, index: int) -> bool:
        """Whether the height is no guess."""
        return self._is_known[index]

    def doubt(self) -> None:
        """The width changed: what is known becomes a guess."""
        self._is_known = [False] * len(self._heights)

    def doubt_one(self, index: int) -> None:
        """The block changed out of sight."""
        self._is_known[index] = False

    def height(self, index: int) -> int:
        """The block's lines."""
        return self._heights[index]

    def top(self, index: int) -> int:
        """The line the block begins at."""
        while self._right < index:
            self._tops[self._right + 1] = self._tops[self._right] + self._heights[self._right]
            self._right += 1
        return self._tops[index]

    def at(self, line: int) -> int:
        """The block that has this line; the last one for lines beyond the end, -1 where there is none."""
        self.top(len(self._heights))
        return min(bisect_right(self._tops, max(line, 0)) - 1, len(self._heights) - 1)
