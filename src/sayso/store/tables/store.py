"""The store's own tables: nonces, replay slots, rate buckets, the outbox.

Each is keyed by one text that also shards it: every key and unique constraint contains `scope`, `key` or `topic`.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, Table, Text

from sayso.store.tables import metadata

__all__ = ("buckets", "nonce_scopes", "nonces", "outbox", "replay_slots")

nonces = Table(
    "nonces",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("nonce", Text, primary_key=True),
    Column("keep_until", BigInteger, nullable=False),
    Index(None, "scope", "keep_until"),
    Index(None, "keep_until"),
    sqlite_with_rowid=False,
)

nonce_scopes = Table(
    "nonce_scopes",
    metadata,
    Column("scope", Text, primary_key=True),
    # Invariant I-STORE-1: the number of rows of the scope in `nonces`.
    Column("kept", Integer, nullable=False),
    sqlite_with_rowid=False,
)

replay_slots = Table(
    "replay_slots",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("keep_until", BigInteger, nullable=False),
    # Both null until the answer is kept.
    Column("status", Integer),
    Column("body", LargeBinary),
    Index(None, "keep_until"),
)

buckets = Table(
    "buckets",
    metadata,
    Column("key", Text, primary_key=True),
    # The theoretical arrival time of GCRA; a bucket whose time has passed equals one that does not exist.
    Column("tat", BigInteger, nullable=False),
    Index(None, "tat"),
    sqlite_with_rowid=False,
)

outbox = Table(
    "outbox",
    metadata,
    Column("topic", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("payload", LargeBinary, nullable=False),
    # due, done, given_up
    Column("state", Text, nullable=False),
    # When it may next be claimed: the caller's instant, the end of a lease, or the end of a back-off.
    Column("due", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("worker", Text),
    Column("settled_at", BigInteger),
    Column("error", Text),
    Index(None, "topic", "state", "due"),
    Index(None, "settled_at"),
)
