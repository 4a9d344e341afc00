"""The last events of one session's runs, kept for `resume`: bounded, in the order they were told (OAP-161, 038, 042).

What is over the bound goes, the oldest first, whichever run it is of. A reader holds a place and no event, so it never
makes the run wait: it is woken, reads on, and is told when what it wanted next is gone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import anyio

from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.signals import TERMINALS
from sayso.core.refusal import Misuse, Refused

__all__ = ("CAPACITY", "Replay")

CAPACITY = 65_536
"""Events over all runs of a session (OAP-161)."""


@dataclass(slots=True, eq=False)
class _Kept:
    """What is kept of one run: its last events, of which the last has the number `latest`."""

    events: deque[Envelope[Wire]] = field(default_factory=deque)
    latest: int = 0
    has_ended: bool = False

    @property
    def oldest(self) -> int:
        """The number of the first kept event, or of the next to come."""
        return self.latest + 1 - len(self.events)


class Replay:
    """Keeps `capacity` events over all runs of the session; any number of readers, none of which holds anything up."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        if capacity < 1:
            raise Misuse("at least one event is kept")
        self._capacity = capacity
        self._runs: dict[str, _Kept] = {}
        self._order: deque[_Kept] = deque()
        self._more: anyio.Event | None = None
        self._is_closed = False

    def keep(self, envelope: Envelope[Wire]) -> None:
        """Adds an event, lets the oldest go when there is no room, and wakes who waits for one. Misuse when it does not
        have the number behind its run's last.
        """
        kept = self._runs.setdefault(str(envelope.run_id), _Kept())
        if envelope.sequence != kept.latest + 1:
            raise Misuse(f"event {envelope.sequence} of a run cannot stand behind its event {kept.latest}")
        if len(self._order) == self._capacity:
            self._order.popleft().events.popleft()
        self._order.append(kept)
        kept.events.append(envelope)
        kept.latest += 1
        kept.has_ended = envelope.type in TERMINALS
        self._wake()

    def close(self) -> None:
        """Nothing follows: readers finish what is kept."""
        self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        more, self._more = self._more, None
        if more is not None:
            more.set()

    async def read(self, run_id: str, after: int) -> AsyncIterator[Envelope[Wire]]:
        """The run's events behind `after`, then live ones to its terminal. Whether the session had the run is the
        caller's to say. Raises `Refused`, before the first event: `replay_cursor_future`, `replay_gap` with
        `oldest_available` and `latest_available`; later `overflow` with `run_id` and `last_sequence`.
        """
        kept = self._runs.setdefault(run_id, _Kept())
        if after > kept.latest:
            raise Refused.because("replay_cursor_future", "the run has no such event yet")
        if after + 1 < kept.oldest:
            bounds = {"oldest_available": kept.oldest, "latest_available": kept.latest}
            raise Refused.because("replay_gap", "the events after this cursor are no longer kept", details=bounds)
        last = after
        while True:
            if last + 1 < kept.oldest:
                details = {"run_id": run_id, "last_sequence": last}
                raise Refused.because("overflow", "the reader fell behind what is kept", details=details)
            if last < kept.latest:
                last += 1
                yield kept.events[last - kept.oldest]
            elif kept.has_ended or self._is_closed:
                return
            else:
                self._more = self._more or anyio.Event()  # made by whoever waits: most events find nobody waiting
                await self._more.wait()
