"""Which events of a run were heard: replays and repeats are told from what is new, and from what was missed."""

from __future__ import annotations

from enum import Enum

__all__ = ("Hearing", "News")

_MOST_GAPS = 64


class News(Enum):
    """What an event is to somebody who listens."""

    NEXT = "next"
    """The next one."""
    AFTER_GAP = "after a gap"
    """New, but some before it never came."""
    LATE = "late"
    """One that was missed, come after all."""
    REPEATED = "repeated"
    """Heard before."""


class Hearing:
    """The numbers of one run. Hearing begins anywhere: whoever joins late missed nothing, yet may hear it later."""

    __slots__ = ("_gaps", "latest")

    def __init__(self) -> None:
        self.latest = 0
        self._gaps: list[tuple[int, int]] = []

    def hear(self, number: int) -> News:
        """What the event with this number is; it counts as heard from now on."""
        if number > self.latest:
            joined, missed = self.latest == 0, number > self.latest + 1
            if missed:
                self._gaps = [*self._gaps, (self.latest + 1, number - 1)][-_MOST_GAPS:]
            self.latest = number
            return News.AFTER_GAP if missed and not joined else News.NEXT
        for at, (first, last) in enumerate(self._gaps):
            if first <= number <= last:
                around = [(first, number - 1), (number + 1, last)]
                self._gaps[at : at + 1] = [each for each in around if each[0] <= each[1]]
                return News.LATE
        return News.REPEATED
