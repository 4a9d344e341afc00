"""The generic cell rate algorithm: how a rate limit decides, as arithmetic alone.

A limit of `burst` per `period` lets `burst` calls through at once and then one every `period / burst`. The only state
is the theoretical arrival time: when the bucket would be empty again. Nothing is stored here and no clock is read; rows
and the choice between several limits (test all, then charge all) are in `store.buckets`.

Times are whole microseconds, and the interval between calls is rounded up to one, so that a limit is never exceeded and
both sides of a comparison are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sayso.core.refusal import Misuse

__all__ = ("Limit", "Pass", "Wait", "test")

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `burst` calls at once, earned back evenly over `period`: `Limit(timedelta(minutes=1), 20)`."""

    period: timedelta
    burst: int

    def __post_init__(self) -> None:
        if self.burst < 1 or self.period < _TICK:
            raise Misuse("a limit lets at least one call through, over at least a microsecond")

    @property
    def interval(self) -> timedelta:
        """How long one call takes to be earned back, rounded up to a microsecond."""
        return -(-(self.period // _TICK) // self.burst) * _TICK

    @property
    def tolerance(self) -> timedelta:
        """How far ahead of `now` the arrival time may stand for a call to pass still."""
        return self.interval * (self.burst - 1)


@dataclass(frozen=True, slots=True)
class Pass:
    """The call may go ahead; `tat` is the arrival time to store once all limits have passed."""

    tat: datetime


@dataclass(frozen=True, slots=True)
class Wait:
    """Too early. A call exactly `retry_after` from now passes, if none is let through in between."""

    retry_after: timedelta


def test(limit: Limit, tat: datetime | None, now: datetime) -> Pass | Wait:
    """Judges one call; `tat` is what the last `Pass` said, None for a caller never seen."""
    due = now if tat is None else max(tat, now)
    early = due - limit.tolerance - now
    if early > timedelta(0):
        return Wait(early)
    return Pass(due + limit.interval)
