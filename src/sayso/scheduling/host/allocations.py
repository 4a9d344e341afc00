"""The allocations table: the one place that says what time is taken (SCH-010, SCH-120, SCH-127).

Rows are written and removed only with the hold, booking or change they belong to, in the same unit of work. A row with
an expiry counts for nothing from that instant on, whether or not anything has removed it (SCH-123).
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import bindparam, delete, or_, select, update

from sayso.scheduling.rules.allocate import Granted
from sayso.scheduling.rules.hold import TimeKept
from sayso.scheduling.rules.picture import Busy, Picture
from sayso.scheduling.rules.premises import Premises
from sayso.scheduling.rules.spans import DAY, Span, micros, pieces
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_allocation
from sayso.store.unit import Reading, Unit

__all__ = ("follow", "free", "read_picture", "take", "units_of")

_a = host_allocation.c
_of_owner = (_a.host == bindparam("of_host"), _a.owner == bindparam("of_owner"))

# Invariant I-07: no seat is taken twice. The picture holds every live row that touches the span: no row is longer than
# a day, so none that starts earlier than a day before it can reach into it.
_PICTURE = statement(
    select(_a.seat, _a.start_us, _a.end_us, _a.family).where(
        _a.host == bindparam("of_host"),
        _a.start_us > bindparam("a_day_before"),
        _a.start_us < bindparam("to"),
        _a.end_us > bindparam("since"),
        or_(_a.expires_us.is_(None), _a.expires_us > bindparam("now")),
    )
)
_TAKE = statement(insert(host_allocation))
_KEEP = statement(update(host_allocation).where(*_of_owner).values(expires_us=None))
_FREE = statement(delete(host_allocation).where(*_of_owner))
_SEATS = statement(select(_a.seat).where(*_of_owner).distinct().order_by(_a.seat))


def read_picture(view: Reading, host: str, premises: Premises, span: Span) -> Picture:
    """Everything taken within a span, as of the unit's now."""
    rows = view.all(
        _PICTURE,
        {
            "of_host": host,
            "a_day_before": span.start - DAY,
            "since": span.start,
            "to": span.end,
            "now": micros(view.now),
        },
    )
    return Picture(premises, span, tuple(map(Busy._make, rows)))


def take(unit: Unit, host: str, granted: Granted, *, owner: str, family: str, expires_at: datetime) -> None:
    """Occupies the granted seats until `expires_at`; being passed on lifts that."""
    expires_us = micros(expires_at)
    unit.many(
        _TAKE,
        [
            {
                "host": host,
                "owner": owner,
                "family": family,
                "seat": seat.id,
                "start_us": piece.start,
                "end_us": piece.end,
                "expires_us": expires_us,
            }
            for seat in granted.seats
            for piece in pieces(Span(granted.start, granted.occupied_until))
        ],
    )


def follow(unit: Unit, host: str, owner: str, kept: TimeKept) -> None:
    """Does to an owner's time what its machine's `COUPLED` says of the state it is in now."""
    if kept is TimeKept.PASSED_ON:
        unit.execute(_KEEP, {"of_host": host, "of_owner": owner})
    elif kept is TimeKept.FREED:
        free(unit, host, owner)


def free(unit: Unit, host: str, owner: str) -> None:
    """The time is nobody's again."""
    unit.execute(_FREE, {"of_host": host, "of_owner": owner})


def units_of(view: Reading, host: str, owner: str) -> tuple[str, ...]:
    """The units an owner's rows stand on."""
    rows = view.all(_SEATS, {"of_host": host, "of_owner": owner})
    return tuple(dict.fromkeys(seat.partition("/")[0] for (seat,) in rows))
