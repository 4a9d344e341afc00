"""Times as an assistant writes and reads them: with an offset, or as the host's own local time (spec section 16.1)."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sayso.core.instants import parse_instant
from sayso.core.refusal import Refused
from sayso.core.zones import at_local
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.spoken import spoken_clock, spoken_day, spoken_zone

__all__ = ("from_now", "read_moment", "said_until")

_HAS_OFFSET = ("Z", "z")


def read_moment(text: str, zone: ZoneInfo, name: str) -> datetime:
    """The instant meant. A local time that happens twice is the first; one that never happens is refused.

    Refused: outside_request, naming the argument.
    """
    try:
        if text.endswith(_HAS_OFFSET) or "+" in text or text[10:].count("-"):
            return parse_instant(text if text.count(":") > 2 or _has_seconds(text) else _with_seconds(text))
        local = datetime.fromisoformat(text)
        return at_local(local.date(), local.time(), zone)
    except (Refused, ValueError) as error:
        said = error.refusal.message if isinstance(error, Refused) else "there is no such date or time"
        raise refused("outside_request", f"{name}: {said}.", place=f"$.{name}") from None


def _has_seconds(text: str) -> bool:
    return len(text) > 18 and text[16] == ":"


def _with_seconds(text: str) -> str:
    return f"{text[:16]}:00{text[16:]}"


def from_now(instant: datetime, now: datetime) -> str:
    """`about 5 minutes from now`, the way people say how long is left (SCH-348)."""
    left = instant - now
    if left <= timedelta(0):
        return "over already"
    if left < timedelta(minutes=2):
        return f"about {max(1, round(left.total_seconds()))} seconds from now"
    if left < timedelta(hours=2):
        return f"about {round(left / timedelta(minutes=1))} minutes from now"
    if left < timedelta(days=2):
        return f"about {round(left / timedelta(hours=1))} hours from now"
    return f"about {round(left / timedelta(days=1))} days from now"


def said_until(instant: datetime, zone: ZoneInfo, now: datetime) -> str:
    """`Tuesday 13 October 2026 at 9:05 a.m. Eastern time, about 5 minutes from now`."""
    at = f"{spoken_day(instant, zone)} at {spoken_clock(instant, zone)} {spoken_zone(zone.key)}"
    return f"{at}, {from_now(instant, now)}"
