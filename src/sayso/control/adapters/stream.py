"""One run's events on their way from an adapter to its one reader: told at once, read in order, ended once.

The writer never waits: the reader is the hub's pump, which only copies into the journal, and the bounded mailboxes are
behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator

import anyio

from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.refusal import Misuse, Refusal, Refused

__all__ = ("RunStream",)


class RunStream:
    """The events of one run."""

    def __init__(self) -> None:
        self._events: deque[Envelope[Wire]] = deque()
        self._more: anyio.Event | None = None
        self._is_ended = False
        self._why: Refused | None = None
        self._is_read = False

    def tell(self, envelope: Envelope[Wire]) -> None:
        """Adds an event."""
        if self._is_ended:
            raise Misuse("a run tells nothing after its end")
        self._events.append(envelope)
        self._wake()

    def end(self) -> None:
        """Nothing follows; the reader finishes what was told."""
        self._is_ended = True
        self._wake()

    def _wake(self) -> None:
        if self._more is not None:
            self._more.set()

    def break_off(self, why: Refusal) -> None:
        """Nothing follows, not even a terminal: the reader finishes what was told and is then refused, with why."""
        self._why = Refused(why)
        self.end()

    async def read(self) -> AsyncIterator[Envelope[Wire]]:
        """All events, then the end. May be called once."""
        if self._is_read:
            raise Misuse("a run's stream has one reader")
        self._is_read = True
        while True:
            while self._events:
                yield self._events.popleft()
            if self._is_ended and self._why is not None:
                raise self._why
            if self._is_ended:
                return
            self._more = anyio.Event()
            await self._more.wait()
