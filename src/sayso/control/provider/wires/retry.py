"""When a failed attempt is repeated, and after what wait (B24).

A vendor's Retry-After is a floor under our own doubling wait, never a ceiling: 0 does not mean never, a negative number
and any other nonsense are no number, and nobody is waited for longer than the offering's limits say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from sayso.control.provider.wires.faults import Failure
from sayso.control.provider.wires.offering import Limits
from sayso.control.provider.wires.too_long import TOO_LONG

__all__ = ("next_wait", "read_retry_after")

_DAY = 86_400.0
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,9})?")
_WORTH_IT = frozenset((408, 409, 429, 529))


def read_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds the vendor asks for, between 0 and a day; None where it asks nothing readable.

    `retry-after-ms` comes first, as OpenAI's own clients read it; `retry-after` is seconds or an HTTP date (RFC 9110,
    10.2.3). A date that has passed is no wait.
    """
    exact = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(exact):
        return _clamp(float(exact) / 1000)
    said = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(said):
        return _clamp(float(said))
    try:
        date: datetime = parsedate_to_datetime(said)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return _clamp((date - now).total_seconds())


def next_wait(failure: Failure, attempt: int, waited: float, limits: Limits) -> float | None:
    """Seconds before attempt `attempt` + 1 (the first is 1), or None: give up. `waited` is what was waited so far."""
    if not is_worth_it(failure) or attempt >= limits.attempts:
        return None
    own = min(limits.first_wait * (1 << (attempt - 1)), limits.longest_wait)
    wait = max(own, failure.wait or 0.0)
    if wait > limits.longest_wait or waited + wait > limits.total_wait:
        return None
    return wait


def is_worth_it(failure: Failure) -> bool:
    """A connection that was not made, a limit, an overload or a server's fault. An empty account and a conversation
    that is too long are none of these.
    """
    if failure.reason == "not_connected":
        return True
    if failure.code == "resource_exhausted" or failure.reason == TOO_LONG or failure.status is None:
        return False
    return failure.status in _WORTH_IT or (failure.status >= 500 and failure.status != 501)


def _clamp(seconds: float) -> float:
    return min(max(seconds, 0.0), _DAY)
