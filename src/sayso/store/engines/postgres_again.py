"""How often, and after what pauses, a body runs again that lost to another transaction or to its connection.

Two that met once and start over at once meet again, so each waits a little longer than before and by chance a little
differently: up to 2 ms after the first loss, twice that after the next, never more than 100 ms, and half a second in
all before the loss surfaces. What counts as lost is `postgres`'s to say.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from sayso.core.ids import SystemIds
from sayso.store.engines.postgres_library import Again

__all__ = ("ATTEMPTS", "LONGEST_PAUSE", "Pause", "repeat")

T = TypeVar("T")
Pause = Callable[[float], None]
"""Waits for so many seconds; the thread of a unit has nothing else to do."""

ATTEMPTS = 10
LONGEST_PAUSE = 0.1
_FIRST_PAUSE = 0.002
_CHANCE_BYTES = 2


def repeat(attempt: Callable[[], T], pause: Pause = time.sleep) -> T:
    """The value of the first attempt that is not lost. Raises what an attempt raises, and `Again` of the last one."""
    most = _FIRST_PAUSE
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except Again:
            pause(most * _chance())
            most = min(2 * most, LONGEST_PAUSE)
    return attempt()


def _chance() -> float:
    """From just above 0 up to 1."""
    return (1 + int.from_bytes(SystemIds().random(_CHANCE_BYTES))) / (1 << 8 * _CHANCE_BYTES)
