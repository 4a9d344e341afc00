"""What a request for a booking can say, as values: the result of reading one message, before anything is known of
hosts, services or bookings. What is ambiguous is kept as it is and named in `problems`; nothing here decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from enum import StrEnum

__all__ = ("DENIALS", "Intent", "Price", "Problem", "TimeWindow", "Understood")


class Intent(StrEnum):
    """What the person wants."""

    BOOK = "book"  # a new appointment
    MOVE = "move"  # an existing one to another time
    CANCEL = "cancel"  # an existing one away
    STATUS = "status"  # to know about their own bookings
    DISCOVER = "discover"  # to know what is offered, free or asked for it
    UNKNOWN = "unknown"  # none of these, or a bare fragment


class Problem(StrEnum):
    """What has to be asked or refused before anything is done."""

    AM_PM = "am_pm"  # morning or afternoon is open
    WHICH_DAY = "which_day"  # the words name two days, one of which is meant
    CONTRADICTION = "contradiction"  # the words cannot all be true
    IMPOSSIBLE = "impossible"  # no such date or time
    PAST = "past"  # behind us
    PRICE = "price"  # an amount of money that is no upper limit
    RECURRING = "recurring"  # a series, where only single bookings are made
    CALLED_OFF = "called_off"  # the words ask that nothing be done
    UNDECIDED = "undecided"  # they ask whether it should be done
    DENIED = "denied"  # they deny something, and what is left to do is open


DENIALS = frozenset((Problem.CALLED_OFF, Problem.UNDECIDED, Problem.DENIED))
"""What keeps everything from being done, however clear the rest of the words is."""


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """When something may start, local time, both ends included; `near` is preferred.

    `either_half` says that the clock times were spoken without morning or afternoon: the window stands in its likelier
    reading and is meant either so or twelve hours away.
    """

    earliest: time | None = None
    latest: time | None = None
    near: time | None = None
    either_half: bool = False


@dataclass(frozen=True, slots=True)
class Price:
    """The most it may cost. `currency` is an ISO 4217 code, `$` for dollars of an unsaid country, or None."""

    amount: Decimal
    currency: str | None = None


@dataclass(frozen=True, slots=True)
class Understood:
    """One message, read. Several days or windows are alternatives; empty means nothing was said.

    `days` and `times` tell when a new or moved booking shall be, or, for `CANCEL` and `STATUS`, which booking is meant;
    `from_days` and `from_times` tell which booking a `MOVE` means. `shift` is in minutes, later is positive. `words`
    are all content words that told neither time nor price, for matching against names that tools reveal. `not_days` are
    ruled out, whatever days are named later.
    """

    intent: Intent = Intent.UNKNOWN
    service: str | None = None
    host: str | None = None
    person: str | None = None
    days: tuple[date, ...] = ()
    times: tuple[TimeWindow, ...] = ()
    done_by: time | None = None
    soonest: bool = False
    price: Price | None = None
    shift: int | None = None
    from_days: tuple[date, ...] = ()
    from_times: tuple[TimeWindow, ...] = ()
    problems: frozenset[Problem] = frozenset()
    words: tuple[str, ...] = ()
    not_days: frozenset[date] = frozenset()
