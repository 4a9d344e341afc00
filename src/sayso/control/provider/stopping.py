"""Work that can be stopped from outside wherever it waits just now: an inference, a login."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

import anyio

__all__ = ("Stoppable", "Stopped")

T = TypeVar("T")


class Stopped(Exception):
    """The work was stopped while it waited; never leaves whoever does it."""


@dataclass(slots=True, eq=False, kw_only=True)
class Stoppable:
    """Whether the work is to stop, and what it waits in."""

    is_stopped: bool = False
    scope: anyio.CancelScope | None = field(default=None, repr=False)

    def stop(self) -> None:
        """Cuts short whatever is waited for, and every later wait."""
        self.is_stopped = True
        if self.scope is not None:
            self.scope.cancel()

    async def wait(self, work: Awaitable[T]) -> T:
        """Waits for `work` unless it is stopped first; raises `Stopped`. What was done in time is given all the same,
        so that whoever has to close it can: the next wait is the one that stops.
        """
        done: list[T] = []
        with anyio.CancelScope() as self.scope:
            if self.is_stopped:
                self.scope.cancel()
            done.append(await work)
        self.scope = None
        if not done:
            raise Stopped
        return done[0]
