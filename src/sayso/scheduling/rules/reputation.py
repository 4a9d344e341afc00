"""What an agent and its person have done with the time they were given here (spec section 8.6; SCH-140 to SCH-145).

One number decides: the share of holds that were abandoned, that is, ran out or were given back when it was nearly too
late. Counts fade with a half-life of seven days and are never divided by fewer than five outcomes, so a suspension
fades too: after five straight expiries the share is 0.906 a day later, 0.743 after three days and 0.500 after a week,
and the cut-offs of `STEPS` turn those into 60-second holds, 120-second holds and full length (SCH-142, SCH-152).

Kept for the agent's key, for the principal and for the attester in whose lane a newcomer stood, each by itself and per
host; the least of what they allow is granted. Kept appointments are another matter and never fade (`host.holds`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil, log2
from typing import Final

from sayso.scheduling.rules.spans import SECOND, length, micros
from sayso.scheduling.terms.codes import refused

__all__ = ("HALF_LIFE", "MIN_SAMPLE", "STEPS", "Tally", "allowance", "check_standing", "is_abandoned", "noted", "share")

HALF_LIFE: Final = timedelta(days=7)
MIN_SAMPLE: Final = 5
STEPS: Final = ((0.91, timedelta(0)), (0.75, timedelta(seconds=60)), (0.51, timedelta(seconds=120)))
"""Above which share how much is granted at most; up to the last one, the host's own ceiling."""

_WHOLE = 1_000_000
_LAST_PART = 5


@dataclass(frozen=True, slots=True)
class Tally:
    """Faded counts in millionths of an outcome, as they were at `as_of` (microseconds since the epoch)."""

    abandoned: int
    outcomes: int
    as_of: int


def _faded(count: int, elapsed: int) -> float:
    return float(count * 0.5 ** (elapsed / length(HALF_LIFE)))


def noted(tally: Tally | None, *, abandoned: bool, at: datetime) -> Tally:
    """The tally with one more outcome. One that is heard of late counts as much as if it had been heard in time."""
    moment = micros(at)
    before = tally or Tally(0, 0, moment)
    as_of = max(moment, before.as_of)
    fresh = _faded(_WHOLE, as_of - moment)
    elapsed = as_of - before.as_of
    return Tally(
        abandoned=round(_faded(before.abandoned, elapsed) + (fresh if abandoned else 0)),
        outcomes=round(_faded(before.outcomes, elapsed) + fresh),
        as_of=as_of,
    )


def share(tally: Tally, now: datetime) -> float:
    """The abandoned share, from 0 to 1, over at least `MIN_SAMPLE` outcomes."""
    elapsed = max(0, micros(now) - tally.as_of)
    return _faded(tally.abandoned, elapsed) / max(_faded(tally.outcomes, elapsed), MIN_SAMPLE * _WHOLE)


def allowance(tally: Tally | None, now: datetime) -> timedelta | None:
    """The longest hold this tally allows: none at all (zero), 60 or 120 seconds, or None for no limit of its own."""
    if tally is None:
        return None
    found = share(tally, now)
    return next((step for cut_off, step in STEPS if found > cut_off), None)


def check_standing(tallies: Iterable[Tally | None], now: datetime) -> timedelta | None:
    """The least of what the tallies allow. Refused: suspended, with the seconds until every one of them allows some."""
    allowed, wait = [], 0
    for tally in tallies:
        step = allowance(tally, now)
        if tally is not None and step == timedelta(0):
            wait = max(wait, _until_allowed(tally, now))
        elif step is not None:
            allowed.append(step)
    if wait:
        raise refused("suspended", details={"retry_after": wait})
    return min(allowed, default=None)


def _until_allowed(tally: Tally, now: datetime) -> int:
    """Whole seconds until the share has fallen to the first cut-off, if nothing else happens."""
    least = MIN_SAMPLE * _WHOLE * STEPS[0][0]
    after = length(HALF_LIFE) * log2(tally.abandoned / least)
    return max(1, ceil((tally.as_of + after - micros(now)) / SECOND))


def is_abandoned(placed_at: datetime, expires_at: datetime, released_at: datetime) -> bool:
    """Whether giving a hold back came in the last fifth of its time, when hardly anybody could use it (SCH-143)."""
    return released_at >= expires_at - (expires_at - placed_at) / _LAST_PART
