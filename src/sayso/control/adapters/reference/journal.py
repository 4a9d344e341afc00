"""The last events of one session, kept for `resume`: bounded, in the order they were told (OAP-038, 042)."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator

import anyio

from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.signals import TERMINALS
from sayso.core.refusal import Refused

__all__ = ("Journal",)


class Journal:
    """Keeps `capacity` events over all runs of the session; readers never hold anything up."""

    def __init__(self, capacity: int) -> None:
        self._kept: deque[Envelope[Wire]] = deque(maxlen=capacity)
        self._latest: dict[str, int] = {}
        self._ended: set[str] = set()
        self._more = anyio.Event()
        self._is_closed = False

    def keep(self, envelope: Envelope[Wire]) -> None:
        """Adds an event and wakes who waits for one."""
        run_id = str(envelope.run_id)
        self._kept.append(envelope)
        self._latest[run_id] = int(envelope.sequence or 0)
        if envelope.type in TERMINALS:
            self._ended.add(run_id)
        self._wake()

    def close(self) -> None:
        """Nothing follows."""
        self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        self._more.set()
        self._more = anyio.Event()

    async def read(self, run_id: str, after: int) -> AsyncIterator[Envelope[Wire]]:
        """The run's events behind `after`, to its terminal. Raises `Refused`: `replay_cursor_future`, `replay_gap`,
        `overflow`.
        """
        if after > self._latest.get(run_id, 0):
            raise Refused.because("replay_cursor_future", "the run has no such event yet")
        oldest, latest = self._kept_of(run_id)
        if after + 1 < oldest:
            bounds = {"oldest_available": oldest, "latest_available": latest}
            raise Refused.because("replay_gap", "the events after this cursor are no longer kept", details=bounds)
        last = after
        while True:
            following = next((each for each in self._kept if each.run_id == run_id and each.sequence == last + 1), None)
            if following is not None:
                last += 1
                yield following
            elif last < self._latest.get(run_id, 0):
                details = {"run_id": run_id, "last_sequence": last}
                raise Refused.because("overflow", "the reader fell behind what is kept", details=details)
            elif run_id in self._ended or self._is_closed:
                return
            else:
                await self._more.wait()

    def _kept_of(self, run_id: str) -> tuple[int, int]:
        """The numbers of the first and the last event that are kept of a run."""
        kept = (int(each.sequence or 0) for each in self._kept if each.run_id == run_id)
        latest = self._latest.get(run_id, 0)
        return next(kept, latest + 1), latest
