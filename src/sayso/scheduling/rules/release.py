"""When a day opens for booking, where a host opens days at set moments (spec section 7.3; SCH-147)."""

from __future__ import annotations

from datetime import datetime, timedelta

from sayso.scheduling.rules.opening import day_span, openings
from sayso.scheduling.rules.premises import Premises
from sayso.scheduling.rules.spans import DAY, micros

__all__ = ("released_until",)

_MINUTES = 1440
_CENTURIES = 300 * 366 * DAY


def released_until(premises: Premises, now: datetime) -> int:
    """The end of the last local day that is open for booking; far away where days do not open one by one.

    At 10:00 exactly the day is open. Days are counted on the calendar, so a clock change moves nothing.
    """
    release = premises.release
    if release is None:
        return micros(now) + _CENTURIES
    today = now.astimezone(premises.zone).date()
    opens = openings(((release.minute, _MINUTES),), today, premises.zone)[0].start
    last = today + timedelta(days=release.days_ahead if micros(now) >= opens else release.days_ahead - 1)
    return day_span(last, premises.zone).end
