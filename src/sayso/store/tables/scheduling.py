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
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ExcludeConstraint

from sayso.store.tables import metadata

__all__ = (
    "host_allocation",
    "host_booking",
    "host_change",
    "host_contact",
    "host_freed",
    "host_guest",
    "host_hold",
    "host_link",
    "host_reputation",
    "host_rule",
    "host_shared",
    "host_waitlist",
)

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
    Column("origin", Text, nullable=False),  # `agent`, or `people` who walked in or called (SCH-146)
    PrimaryKeyConstraint("host", "owner", "seat", "start_us"),
    # A picture is read from this index alone.
    Index("ix_host_allocation_time", "host", "start_us", "end_us", "seat", "family", "expires_us", "origin"),
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

_IS_OFFERED = text("state IN ('offered', 'awaiting_host')")
_WAITS = text("answer_us IS NOT NULL")
_RUNS = text("state = 'confirmed'")
_IS_TENTATIVE = text("state = 'tentative'")
_IS_SILENT = text("reconfirm_us IS NOT NULL")


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
    Column("attester", Text),  # in whose lane a newcomer stands; null in the pool of all
    PrimaryKeyConstraint("host", "hold_id"),
    # Caps, pools and mandates count live holds only, each from an index of its own that holds nothing else.
    _live("expiry", "expires_us"),
    _live("agent", "agent", "expires_us"),
    _live("mandate", "principal", "mandate", "expires_us"),
    _live("newcomers", "expires_us", only=" AND proven = 0 AND attester IS NULL"),
    _live("lane", "attester", "expires_us", only=" AND attester IS NOT NULL"),
)

host_contact = Table(
    "host_contact",
    metadata,
    Column("host", Text, nullable=False),
    Column("principal", Text, nullable=False),
    Column("name", Text, nullable=False),  # the host's own word for them
    Column("added_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("host", "principal"),
)

host_rule = Table(
    "host_rule",
    metadata,
    Column("host", Text, nullable=False),
    Column("rule", Text, nullable=False),  # its jti: all rules of a calendar are of one signer
    Column("token", Text, nullable=False),
    Column("kept_us", BigInteger, nullable=False),
    Column("withdrawn_us", BigInteger),  # from then on nothing is answered by it
    PrimaryKeyConstraint("host", "rule"),
)

host_shared = Table(
    "host_shared",
    metadata,
    Column("host", Text, nullable=False),
    Column("hold_id", Text, nullable=False),
    Column("url", Text, nullable=False),  # where its unit of a shared limit is claimed
    Column("jwk", LargeBinary, nullable=False),  # whose answers count
    Column("mandate_sha256", Text, nullable=False),
    Column("expires", BigInteger, nullable=False),  # the mandate's exp, in seconds
    PrimaryKeyConstraint("host", "hold_id"),
)

host_link = Table(
    "host_link",
    metadata,
    Column("host", Text, nullable=False),
    Column("owner", Text, nullable=False),  # the hold or waitlist entry that came through the link
    Column("signer", Text, nullable=False),  # thumbprint of the agent that passed the mandate on
    Column("jti", Text, nullable=False),  # the link's; a name only beside its signer
    PrimaryKeyConstraint("host", "owner", "signer", "jti"),
    Index(None, "host", "signer", "jti"),
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
    Column("answer_us", BigInteger),  # until when somebody has to answer; null once nobody has to
    Column("message", Text),  # the guest's words with a cancellation: for the host's eyes, in no receipt
    Column("reconfirm_us", BigInteger),  # when the booker's silence ends it; null where it does not
    PrimaryKeyConstraint("host", "booking_id"),
    Index(None, "host", "principal", "mandate"),
    # What the clock ends: requests that nobody answered, and appointments that are over.
    Index("ix_host_booking_start", "host", "start_us"),
    Index("ix_host_booking_answer", "host", "answer_us", sqlite_where=_WAITS, postgresql_where=_WAITS),
    Index("ix_host_booking_running", "host", "until_us", sqlite_where=_RUNS, postgresql_where=_RUNS),
    # Tentative bookings count in their booker's cap and pool, as holds do (SCH-135).
    Index(
        "ix_host_booking_tentative",
        "host",
        "answer_us",
        "agent",
        sqlite_where=_IS_TENTATIVE,
        postgresql_where=_IS_TENTATIVE,
    ),
    Index("ix_host_booking_silent", "host", "reconfirm_us", sqlite_where=_IS_SILENT, postgresql_where=_IS_SILENT),
)

host_guest = Table(
    "host_guest",
    metadata,
    Column("host", Text, nullable=False),
    Column("booking_id", Text, nullable=False),
    Column("details", LargeBinary),  # name, contact and who comes, as they were sent; for the host's eyes alone
    Column("note", Text),
    Column("forget_us", BigInteger, nullable=False),  # when the retention of the contract in force is over
    PrimaryKeyConstraint("host", "booking_id"),
    Index(None, "host", "forget_us"),
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
    Column("agreed", Text),  # how the guest said yes, where the host is asked after them
    PrimaryKeyConstraint("host", "offer_id"),
    # At most one open change offer per booking (SCH-231).
    Index(
        "uq_host_change_open", "host", "booking_id", unique=True, sqlite_where=_IS_OFFERED, postgresql_where=_IS_OFFERED
    ),
    Index("ix_host_change_open_expiry", "host", "expires_us", sqlite_where=_IS_OFFERED, postgresql_where=_IS_OFFERED),
)

host_reputation = Table(
    "host_reputation",
    metadata,
    Column("host", Text, nullable=False),
    Column("subject", Text, nullable=False),  # `agent `, `principal ` or `attester `, and which
    Column("abandoned", BigInteger, nullable=False),  # both in millionths of an outcome, faded to as_of_us
    Column("outcomes", BigInteger, nullable=False),
    Column("as_of_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("host", "subject"),
    Index(None, "host", "as_of_us"),
)


def _in_line(name: str, *columns: str, state: str = "waiting") -> Index:
    """An index over the waitlist entries of one state."""
    where = text(f"state = '{state}'")
    return Index(f"ix_host_waitlist_{name}", "host", *columns, sqlite_where=where, postgresql_where=where)


host_waitlist = Table(
    "host_waitlist",
    metadata,
    Column("host", Text, nullable=False),
    Column("entry_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("agent", Text, nullable=False),
    Column("principal", Text, nullable=False),
    Column("mandate", Text, nullable=False),  # jti it counts under, and its offered hold too
    Column("token", Text, nullable=False),  # the mandate as presented: time is offered under it
    Column("request", LargeBinary, nullable=False),  # the wish, word for word
    Column("start_us", BigInteger, nullable=False),
    Column("end_us", BigInteger, nullable=False),
    Column("expires_us", BigInteger, nullable=False),  # when waiting ends by itself
    Column("joined_us", BigInteger, nullable=False),
    Column("hold_id", Text),  # the hold placed for it
    PrimaryKeyConstraint("host", "entry_id"),
    _in_line("order", "joined_us", "entry_id"),
    _in_line("window", "start_us", "end_us"),
    _in_line("expiry", "expires_us"),
    _in_line("agent", "agent"),
    _in_line("mandate", "principal", "mandate"),
    _in_line("offered", "hold_id", state="offered"),
)

host_freed = Table(
    "host_freed",
    metadata,
    Column("host", Text, nullable=False),
    Column("start_us", BigInteger, nullable=False),
    Column("end_us", BigInteger, nullable=False),
    Column("seat", Text, nullable=False),
    PrimaryKeyConstraint("host", "start_us", "end_us", "seat"),
)
