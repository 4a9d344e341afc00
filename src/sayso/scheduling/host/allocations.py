"""The allocations table: the one place that says what time is taken (SCH-010, SCH-120, SCH-127).

Rows are written and removed only with the hold, booking or change they belong to, in the same unit of work. A row with
an expiry counts for nothing from that instant on, whether or not anything has removed it (SCH-123).
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from sqlalchemy import bindparam, delete, exists, literal_column, or_, select, update

from sayso.scheduling.rules.allocate import Granted
from sayso.scheduling.rules.hold import TimeKept
from sayso.scheduling.rules.picture import Busy, Picture
from sayso.scheduling.rules.premises import Premises
from sayso.scheduling.rules.spans import DAY, Span, micros, pieces
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_allocation, host_freed, host_waitlist
from sayso.store.unit import Reading, Unit

__all__ = ("cut", "follow", "free", "keep", "keep_until", "read_picture", "take", "units_of")

_a = host_allocation.c
_of_owner = (_a.host == bindparam("of_host"), _a.owner == bindparam("of_owner"))

# Invariant I-07: no seat is taken twice. The picture holds every live row that touches the span: no row is longer than
# a day, so none that starts earlier than a day before it can reach into it.
_PICTURE = statement(
    select(_a.seat, _a.start_us, _a.end_us, _a.family, _a.origin).where(
        _a.host == bindparam("of_host"),
        _a.start_us > bindparam("a_day_before"),
        _a.start_us < bindparam("to"),
        _a.end_us > bindparam("since"),
        or_(_a.expires_us.is_(None), _a.expires_us > bindparam("now")),
    )
)
_TAKE = statement(insert(host_allocation))
_KEEP = statement(update(host_allocation).where(*_of_owner).values(expires_us=None))
_UNTIL = statement(update(host_allocation).where(*_of_owner), "expires_us")
_FREE_LATER = statement(delete(host_allocation).where(*_of_owner, _a.start_us >= bindparam("at")))
_SHORTEN = statement(update(host_allocation).where(*_of_owner, _a.end_us > bindparam("at")), "end_us")
_FREE = statement(delete(host_allocation).where(*_of_owner))
# What a waitlist may be served from; nothing is noted of time that nobody waits for (SCH-239).
_NOTE_FREED = statement(
    insert(host_freed)
    .from_select(
        ["host", "start_us", "end_us", "seat"],
        select(_a.host, _a.start_us, _a.end_us, _a.seat).where(
            *_of_owner,
            exists().where(
                host_waitlist.c.host == _a.host,
                host_waitlist.c.state == literal_column("'waiting'"),
                host_waitlist.c.start_us < _a.end_us,
                host_waitlist.c.end_us > _a.start_us,
            ),
        ),
    )
    .on_conflict_do_nothing()
)
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


def take(
    unit: Unit,
    host: str,
    granted: Granted,
    *,
    owner: str,
    family: str,
    expires_at: datetime | None,
    origin: Literal["agent", "people"] = "agent",
) -> None:
    """Occupies the granted seats until `expires_at`, or for good; being passed on lifts that."""
    expires_us = None if expires_at is None else micros(expires_at)
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
                "origin": origin,
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


def keep(unit: Unit, host: str, owner: str) -> None:
    """The time is kept for good: somebody who had to answer has said yes."""
    unit.execute(_KEEP, {"of_host": host, "of_owner": owner})


def keep_until(unit: Unit, host: str, owner: str, expires_at: datetime) -> None:
    """Keeps an owner's time until somebody has to have answered, and not at that instant (SCH-177, SCH-225)."""
    unit.execute(_UNTIL, {"of_host": host, "of_owner": owner, "expires_us": micros(expires_at)})


def cut(unit: Unit, host: str, owner: str, at: datetime) -> None:
    """Frees an owner's time from an instant on: what was set aside and is not needed (SCH-256)."""
    at_us = micros(at)
    unit.execute(_NOTE_FREED, {"of_host": host, "of_owner": owner})
    unit.execute(_FREE_LATER, {"of_host": host, "of_owner": owner, "at": at_us})
    unit.execute(_SHORTEN, {"of_host": host, "of_owner": owner, "at": at_us, "end_us": at_us})


def free(unit: Unit, host: str, owner: str) -> None:
    """The time is nobody's again; whoever waits is looked for before the unit ends (`waiting.serve`)."""
    unit.execute(_NOTE_FREED, {"of_host": host, "of_owner": owner})
    unit.execute(_FREE, {"of_host": host, "of_owner": owner})


def units_of(view: Reading, host: str, owner: str) -> tuple[str, ...]:
    """The units an owner's rows stand on."""
    rows = view.all(_SEATS, {"of_host": host, "of_owner": owner})
    return tuple(dict.fromkeys(seat.partition("/")[0] for (seat,) in rows))
