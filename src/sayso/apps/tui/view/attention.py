"""Whether a key was typed by somebody who had the question before their eyes. Pure: times are the events' own."""

from __future__ import annotations

from typing import Protocol

__all__ = ("Attention", "Timed")


class Timed(Protocol):
    """Anything with the moment it happened at, in seconds of one clock."""

    time: float


class Attention:
    """Keys count from `grace` seconds after the question was painted, and after a pause as long as that in typing."""

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._pause = grace
        self._since: float | None = None

    def lapse(self, *, is_pause_due: bool = True) -> None:
        """Something else is on its way to the screen: nothing counts until it is there. Where the person is answering
        already, as between two questions of one form, no pause is due.
        """
        self._since, self._pause = None, self._grace if is_pause_due else 0.0

    def begin(self, painted: float) -> None:
        """What is asked is on the screen."""
        if self._since is None:
            self._since = painted + self._pause

    def hears(self, event: Timed) -> bool:
        """Whether the event counts. One that does not puts the moment off, since somebody is typing something else."""
        if self._since is None:
            return False
        if event.time >= self._since:
            return True
        self.put_off(event)
        return False

    def put_off(self, event: Timed) -> None:
        """The event was somebody typing something else: a pause is due."""
        if self._since is not None:
            self._since = max(self._since, event.time + self._pause)
