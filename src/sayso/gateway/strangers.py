"""How often somebody without a key may read what is published (GTW-052).

Held in memory and in this process: nobody outside may cause a write, and what is read is the same for everybody.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from sayso.core.clock import Clock
from sayso.core.gcra import Limit, Wait, test
from sayso.gateway.guard.rules.addresses import network_of

__all__ = ("Reading", "Strangers")

Reading: TypeAlias = Literal["read", "export"]

_MINUTE = timedelta(minutes=1)
_READ = Limit(_MINUTE, 60)
_EXPORT = Limit(_MINUTE, 6)
_ADDRESSES = 4096


class Strangers:
    """How often an address may read, and how often it may take the whole log. Held in memory, bounded."""

    def __init__(self, clock: Clock, *, read: Limit = _READ, export: Limit = _EXPORT) -> None:
        self._clock = clock
        self._limits: dict[Reading, Limit] = {"read": read, "export": export}
        self._seen: dict[tuple[Reading, str], datetime] = {}

    def admit(self, peer: str, what: Reading) -> int | None:
        """None, or how many whole seconds to wait."""
        now, key = self._clock.now(), (what, network_of(peer))
        judged = test(self._limits[what], self._seen.get(key), now)
        if isinstance(judged, Wait):
            return max(1, -(-judged.retry_after // timedelta(seconds=1)))
        if len(self._seen) >= _ADDRESSES:
            self._forget(now)
        self._seen[key] = judged.tat
        return None

    def _forget(self, now: datetime) -> None:
        """Drops who may read again anyway; where that frees nothing, everybody begins anew."""
        self._seen = {key: tat for key, tat in self._seen.items() if tat > now}
        if len(self._seen) >= _ADDRESSES:
            self._seen.clear()
