"""Where an agent stands: its key, whether it is suspended, its rates, and how near to suspension it is (GTW-013).

    active     --five countable violations, or the owner-->  suspended
    suspended  --the owner reissues its key-->               active

Only violations since the last reissue (of its `term`) and within the window count; the same signature seen again is one
violation.
Instants are microseconds since 1970, as they are stored.
"""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from sayso.core.gcra import Limit
from sayso.gateway.guard.rules.limits import Limits

__all__ = ("ACTIVE", "NOBODY", "SCOPES", "SUSPENDED", "Charged", "Standing", "counting_since", "is_coarse_spent",
           "judge_rates", "read_scopes", "write_scopes")  # fmt: skip

ACTIVE = "active"
SUSPENDED = "suspended"
SCOPES = frozenset({"mcp", "a2a", "acp", "tasks", "disclose", "propose"})
"""The doors a key may open, and the two things it may ask for behind them."""

_SECOND = 1_000_000
_TICK = timedelta(microseconds=1)


class Standing(NamedTuple):
    """One row, as the guard reads it: who the key belongs to and everything its request is judged by.

    `revoked_us` is set for a key that was revoked, and for one that nobody has. The three rates are the arrival times
    of their limiters. `spent_us` is set where the request's signature was used before.
    """

    agent: str
    name: str
    state: str
    scopes: str
    term: int
    key_id: str
    revoked_us: int | None
    coarse_us: int
    minute_us: int
    second_us: int
    spent_us: int | None


NOBODY = Standing("", "", ACTIVE, "", 0, "", 0, 0, 0, 0, None)
"""Who an unknown key belongs to."""


class Charged(NamedTuple):
    """The arrival times to store once a request is let through."""

    coarse_us: int
    minute_us: int
    second_us: int


def judge_rates(limits: Limits, standing: Standing, now_us: int, charges: int) -> Charged | int:
    """What to store, or how many whole seconds to wait, at least 1: a retry after exactly that passes.

    `charges` is how many calls of the class rate the request is, at most a burst; the coarse rate takes one for any
    request. All three are tested before any is charged (GTW-020a), and the longest wait is told, so that nobody is told
    to come back for another refusal.
    """
    coarse_us, waits = _take(limits.coarse, standing.coarse_us, now_us, 1)
    minute_us, second_us = standing.minute_us, standing.second_us
    if charges:
        minute_us, for_minute = _take(limits.minute, minute_us, now_us, charges)
        second_us, for_second = _take(limits.second, second_us, now_us, charges)
        waits = max(waits, for_minute, for_second)
    if waits > 0:
        return -(-waits // _SECOND)
    return Charged(coarse_us, minute_us, second_us)


def is_coarse_spent(limits: Limits, standing: Standing, now_us: int) -> bool:
    """Whether not even an uncharged request of the agent passes now."""
    return _take(limits.coarse, standing.coarse_us, now_us, 1)[1] > 0


def counting_since(limits: Limits, now_us: int) -> int:
    """Violations of the agent's term after this instant count."""
    return now_us - limits.violation_window // _TICK


@lru_cache(maxsize=256)
def read_scopes(text: str) -> frozenset[str]:
    """Scopes as they are stored."""
    return frozenset(text.split())


def write_scopes(scopes: frozenset[str]) -> str:
    """Scopes in their one spelling."""
    return " ".join(sorted(scopes))


def _take(limit: Limit, tat_us: int, now_us: int, calls: int) -> tuple[int, int]:
    """GCRA (core.gcra) for several calls at once: the arrival time after them, and the wait where they come too early.

    Of more calls than a burst holds the first burst is judged only: they could never pass together.
    """
    interval, tolerance = _spacing(limit)
    due = max(tat_us, now_us)
    early = due + (min(calls, limit.burst) - 1) * interval - tolerance - now_us
    return due + calls * interval, max(0, early)


@lru_cache(maxsize=64)
def _spacing(limit: Limit) -> tuple[int, int]:
    return limit.interval // _TICK, limit.tolerance // _TICK
