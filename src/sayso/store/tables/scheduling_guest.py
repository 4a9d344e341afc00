"""A guest's side of scheduling: hosts it knows, mandates it was given, holds, bookings, change offers, open intents.

What the agent must remember between two calls of a tool, so that each call can be made again after a crash. Every key
holds `owner`, the thumbprint of the agent's key. Documents are kept as they were received; the columns beside them
exist for conditions. An intent is there from before a request is sent until its answer is stored: the same bytes and
the same idempotency key go out again (SCH-063).
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, PrimaryKeyConstraint, Table, Text

from sayso.store.tables import metadata

__all__ = (
    "guest_booking",
    "guest_change",
    "guest_entry",
    "guest_event",
    "guest_hold",
    "guest_host",
    "guest_intent",
    "guest_mandate",
)

guest_host = Table(
    "guest_host",
    metadata,
    Column("owner", Text, nullable=False),
    Column("domain", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("added_us", BigInteger, nullable=False),
    Column("listed", Integer, nullable=False),  # 1: it has no domain of its own, an operator lists it
    PrimaryKeyConstraint("owner", "host"),
)

guest_mandate = Table(
    "guest_mandate",
    metadata,
    Column("owner", Text, nullable=False),
    Column("jti", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("kind", Text, nullable=False),  # buying, closed, management
    Column("subject", Text, nullable=False),  # what it is for: the draft's hash, the offer's hash, the booking's id
    Column("token", Text, nullable=False),
    Column("expires_us", BigInteger, nullable=False),
    Column("taken_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("owner", "jti"),
    Index(None, "owner", "kind", "host"),
)

guest_hold = Table(
    "guest_hold",
    metadata,
    Column("owner", Text, nullable=False),
    Column("hold_id", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("state", Text, nullable=False),  # held, confirmed, released, refused
    Column("mandate", Text, nullable=False),  # jti of the buying mandate it was placed under
    Column("view", LargeBinary, nullable=False),  # the host's answer, as read
    Column("asked", LargeBinary, nullable=False),  # the tool's arguments, as asked
    Column("offer", Text, nullable=False),
    Column("offer_sha256", Text, nullable=False),
    Column("expires_us", BigInteger, nullable=False),
    Column("placed_us", BigInteger, nullable=False),
    Column("booking_id", Text),
    Column("details", LargeBinary),  # what the host may be told of the person when it is booked
    PrimaryKeyConstraint("owner", "hold_id"),
)

guest_booking = Table(
    "guest_booking",
    metadata,
    Column("owner", Text, nullable=False),
    Column("booking_id", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("hold_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("limits", Text, nullable=False),  # jti of the buying mandate
    Column("approved", Text, nullable=False),  # offer or limits
    Column("agreed", Text, nullable=False),  # jti of the mandate by which the contract in force was agreed
    Column("offer", Text, nullable=False),  # the contract in force
    Column("receipt", Text, nullable=False),  # the newest one
    Column("start_us", BigInteger, nullable=False),
    Column("managed", Text),  # receipt hash whose management question was answered, by yes or no
    PrimaryKeyConstraint("owner", "booking_id"),
    Index(None, "owner", "start_us"),
)

guest_change = Table(
    "guest_change",
    metadata,
    Column("owner", Text, nullable=False),
    Column("offer_id", Text, nullable=False),
    Column("booking_id", Text, nullable=False),
    Column("state", Text, nullable=False),  # offered, made, dropped
    Column("view", LargeBinary, nullable=False),
    Column("offer", Text, nullable=False),
    Column("offer_sha256", Text, nullable=False),
    Column("expires_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("owner", "offer_id"),
    Index(None, "owner", "booking_id"),
)

guest_intent = Table(
    "guest_intent",
    metadata,
    Column("owner", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("idempotency_key", Text, nullable=False),
    Column("started_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("owner", "subject"),
)

guest_entry = Table(
    "guest_entry",
    metadata,
    Column("owner", Text, nullable=False),
    Column("entry_id", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("state", Text, nullable=False),  # waiting, offered, taken, left, lapsed
    Column("mandate", Text, nullable=False),  # jti of the buying mandate it waits under
    Column("view", LargeBinary, nullable=False),  # the host's answer, as read
    Column("asked", LargeBinary, nullable=False),  # the tool's arguments, as asked
    Column("joined_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("owner", "entry_id"),
    Index(None, "owner", "mandate"),
)

guest_event = Table(
    "guest_event",
    metadata,
    Column("owner", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("event_id", Text, nullable=False),  # dealt with: hearing it again has no effect
    Column("heard_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("owner", "host", "event_id"),
)
