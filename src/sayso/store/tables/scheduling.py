"""A host's side of scheduling: holds, bookings, change offers, and the allocations all of them stand on.

One allocations table carries everything that occupies time (SCH-010, SCH-120); a row is there exactly as long as it
does, so that freeing time is deleting rows. What was agreed stands in the signed offer of a hold, booking or change;
the columns beside it exist for conditions, counts and constraints. Every key and constraint holds `host`, so that
hosts can be spread over several databases.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ExcludeConstraint

from sayso.store.tables import metadata

__all__ = ("host_allocation", "host_booking", "host_change", "host_hold")

host_allocation = Table(
    "host_allocation",
    metadata,
    Column("host", Text, nullable=False),
    Column("start_us", BigInteger, nullable=False),
    Column("seat", Text, nullable=False),
    Column("owner", Text, nullable=False),  # the hold, or the change offer, whose grant this row is
    Column("family", Text, nullable=False),  # the first hold of the booking: its own change may overlap it (SCH-126)
    Column("end_us", BigInteger, nullable=False),  # at most a day after start_us: longer grants are several rows
    Column("expires_us", BigInteger),  # null where the time is booked; from that instant on the row counts for nothing
    PrimaryKeyConstraint("host", "owner", "seat", "start_us"),
    # A picture is read from this index alone.
    Index("ix_host_allocation_time", "host", "start_us", "end_us", "seat", "family", "expires_us"),
    CheckConstraint("end_us > start_us", name="not_empty"),
    # The second line of I-07: no two families on one seat at once, whatever the allocator believed. SQLite has one
    # writer and no exclusion constraints.
    ExcludeConstraint(
        ("host", "="),
        ("seat", "="),
        (func.int8range(text("start_us"), text("end_us")), "&&"),
        ("family", "<>"),
        using="gist",
        name="ex_host_allocation_seat",
    ).ddl_if(dialect="postgresql"),
    sqlite_with_rowid=False,
)

_IS_OFFERED = text("state = 'offered'")


def _live(name: str, *columns: str, only: str = "") -> Index:
    """An index over the holds that are still held."""
    where = text(f"state = 'held'{only}")
    return Index(f"ix_host_hold_live_{name}", "host", *columns, sqlite_where=where, postgresql_where=where)


host_hold = Table(
    "host_hold",
    metadata,
    Column("host", Text, nullable=False),
    Column("hold_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("service_id", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("principal", Text, nullable=False),
    Column("mandate", Text, nullable=False),  # jti of the root mandate it counts under; a name only beside principal
    Column("proven", Integer, nullable=False),  # 1 where the principal had kept an appointment here before
    Column("expires_us", BigInteger, nullable=False),
    Column("until_us", BigInteger, nullable=False),  # end of the service, or of the time set aside
    Column("offer", Text, nullable=False),  # the token, byte for byte
    Column("offer_sha256", Text, nullable=False),
    Column("callback_url", Text),
    Column("booking_id", Text),
    PrimaryKeyConstraint("host", "hold_id"),
    # Caps, pools and mandates count live holds only, each from an index of its own that holds nothing else.
    _live("expiry", "expires_us"),
    _live("agent", "agent", "expires_us"),
    _live("mandate", "principal", "mandate", "expires_us"),
    _live("newcomers", "expires_us", only=" AND proven = 0"),
)

host_booking = Table(
    "host_booking",
    metadata,
    Column("host", Text, nullable=False),
    Column("booking_id", Text, nullable=False),
    Column("hold_id", Text, nullable=False),  # the family of its allocations
    Column("state", Text, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("agent", Text, nullable=False),
    Column("principal", Text, nullable=False),
    Column("mandate", Text, nullable=False),  # the hold's: what max_bookings counts
    Column("start_us", BigInteger, nullable=False),
    Column("until_us", BigInteger, nullable=False),
    Column("open_end", Integer, nullable=False),  # 1 where no end was agreed
    Column("owner", Text, nullable=False),  # whose allocation rows it stands on now
    Column("offer", Text, nullable=False),  # the contract in force
    Column("offer_sha256", Text, nullable=False),
    Column("receipt", Text, nullable=False),  # the newest one
    Column("message", Text),  # the guest's words with a cancellation: for the host's eyes, in no receipt
    PrimaryKeyConstraint("host", "booking_id"),
    Index(None, "host", "principal", "mandate"),
)

host_change = Table(
    "host_change",
    metadata,
    Column("host", Text, nullable=False),
    Column("offer_id", Text, nullable=False),
    Column("booking_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("expires_us", BigInteger, nullable=False),
    Column("until_us", BigInteger, nullable=False),
    Column("offer", Text, nullable=False),
    Column("offer_sha256", Text, nullable=False),
    PrimaryKeyConstraint("host", "offer_id"),
    # At most one open change offer per booking (SCH-231).
    Index(
        "uq_host_change_open", "host", "booking_id", unique=True, sqlite_where=_IS_OFFERED, postgresql_where=_IS_OFFERED
    ),
    Index("ix_host_change_open_expiry", "host", "expires_us", sqlite_where=_IS_OFFERED, postgresql_where=_IS_OFFERED),
)
