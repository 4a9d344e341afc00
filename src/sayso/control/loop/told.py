"""One run's events on their way out: numbered, stamped, kept for replay, read once.

What a reader has dealt with is counted, because the order of two runs, and of an answer and what it points at, is the
order in which they were read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import anyio

from sayso.control.adapters.stream import RunStream
from sayso.control.protocol.closing import Telling
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ActionCallCancelled, ActionCallCompleted, ActionCallFailed
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.signals import TERMINALS
from sayso.core.clock import Clock
from sayso.core.ids import Ids

__all__ = ("Pen", "RunTold", "Settled")


@dataclass(frozen=True, slots=True)
class Pen:
    """What every event of a session is written with. `keep` gets each one as it is told."""

    session_id: str
    clock: Clock
    ids: Ids
    keep: Callable[[Envelope[Wire]], None]


@dataclass(frozen=True, slots=True)
class Settled:
    """How a call that was handed to the client ended: the event that said so."""

    tool_call_id: str
    envelope_id: str
    sequence: int


class RunTold:
    """The events of one run. `ended` is called with the run's id when its terminal is told."""

    def __init__(self, run_id: str, pen: Pen, ended: Callable[[str], None]) -> None:
        self.run_id = run_id
        self.sequence = 0
        self.ending: str | None = None
        self.settled: dict[str, Settled] = {}
        self._pen = pen
        self._stream = RunStream()
        self._ended = ended
        self._dealt = 0
        self._is_read = False
        self._moved: anyio.Event | None = None

    def tell(self, telling: Telling) -> None:
        """Tells an event."""
        self.sequence += 1
        envelope = Envelope(
            type=telling.type,
            id=self._pen.ids.new("ev"),
            payload=telling.payload,
            sequence=self.sequence,
            timestamp_ms=int(self._pen.clock.now().timestamp() * 1000),
            session_id=self._pen.session_id,
            run_id=self.run_id,
            tool_call_id=telling.tool_call_id or UNSET,
            extensions=telling.extensions,
        )
        self._note(envelope)
        self._pen.keep(envelope)
        self._stream.tell(envelope)
        if telling.type in TERMINALS:
            self.ending = telling.type
            self._stream.end()
            self._ended(self.run_id)

    def _note(self, envelope: Envelope[Wire]) -> None:
        payload = envelope.payload
        if not isinstance(payload, ActionCallCompleted | ActionCallFailed | ActionCallCancelled):
            return
        if payload.interaction_id is not UNSET:
            self.settled[payload.interaction_id] = Settled(payload.tool_call_id, envelope.id, self.sequence)

    async def read(self) -> AsyncIterator[Envelope[Wire]]:
        """All events, then the end. May be called once."""
        self._is_read = True
        try:
            async for envelope in self._stream.read():
                try:
                    yield envelope
                finally:
                    self._dealt = int(envelope.sequence or 0)
                    self._wake()
        finally:
            self._is_read = False
            self._wake()

    @property
    def is_behind(self) -> bool:
        """Whether somebody reads, and has not dealt with everything that was told."""
        return self._is_read and self._dealt < self.sequence

    async def dealt_with(self, sequence: int) -> None:
        """Until whoever reads has dealt with this event; at once where nobody does."""
        while self._is_read and self._dealt < sequence:
            self._moved = self._moved or anyio.Event()  # made by whoever waits: most events find nobody waiting
            await self._moved.wait()

    def _wake(self) -> None:
        moved, self._moved = self._moved, None
        if moved is not None:
            moved.set()
