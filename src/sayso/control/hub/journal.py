"""What a session's runs have told, kept for replay up to a bound (OAP-093, 094).

Entries of all runs stand in one order under one index that never restarts; within a run the sequence finds the index.
When the journal is full its oldest entry goes, and a cursor before it is a gap.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.signals import TERMINALS

__all__ = ("CAPACITY", "Entry", "Journal", "Kept")

CAPACITY = 65_536


@dataclass(frozen=True, slots=True)
class Entry:
    """One event: the envelope, and its bytes as they leave for every subscriber."""

    run_id: str
    sequence: int
    envelope: Envelope[Wire]
    data: bytes

    @property
    def is_terminal(self) -> bool:
        """The run's last event."""
        return self.envelope.type in TERMINALS


@dataclass(slots=True)
class Kept:
    """What is kept of one run: sequences `oldest` to `latest`; nothing when `oldest` is beyond `latest`."""

    oldest: int = 1
    latest: int = 0
    indexes: deque[int] = field(default_factory=deque)


class Journal:
    """The events of one session."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._entries: deque[Entry] = deque()
        self._runs: dict[str, Kept] = {}
        self.start = 0
        self.end = 0

    def append(self, entry: Entry) -> None:
        """Adds an entry, and lets the oldest go when there is no room."""
        if len(self._entries) == self._capacity:
            gone = self._entries.popleft()
            kept = self._runs[gone.run_id]
            kept.indexes.popleft()
            kept.oldest += 1
            self.start += 1
        self._entries.append(entry)
        kept = self._runs.setdefault(entry.run_id, Kept())
        kept.latest = entry.sequence
        kept.indexes.append(self.end)
        self.end += 1

    def kept(self, run_id: str) -> Kept:
        """What is kept of a run; an admitted run that has told nothing keeps nothing."""
        return self._runs.get(run_id) or Kept()

    def index_after(self, run_id: str, sequence: int) -> int:
        """Where the run's next event after `sequence` stands, or will."""
        kept = self.kept(run_id)
        offset = sequence + 1 - kept.oldest
        return kept.indexes[offset] if 0 <= offset < len(kept.indexes) else self.end

    def latest_before(self, run_id: str, index: int) -> int:
        """The number of the run's last event that stands before `index`, kept or not; 0 when there is none."""
        kept = self.kept(run_id)
        return kept.oldest - 1 + bisect_left(kept.indexes, index)

    def read(self, index: int, limit: int) -> Iterator[Entry]:
        """Up to `limit` entries from `index` on, which is not before `start`."""
        # Found by their places: whatever walks to the first of them makes every event of a long session dearer.
        first = index - self.start
        return (self._entries[place] for place in range(first, min(first + limit, len(self._entries))))
