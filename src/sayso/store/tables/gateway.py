"""Who may knock at the doors: agents, their keys, their rates, spent signatures, violations (GTW-010 to GTW-020).

Every key and constraint holds `owner`, so that owners can be spread over several databases. A key is stored as its
SHA-256 and nothing else. What changes with every request stands in rows of its own (`gateway_rates`), so that the
rows people read are hardly ever written. Times are microseconds since 1970.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from sayso.store.tables import metadata

__all__ = ("gateway_agents", "gateway_keys", "gateway_rates", "gateway_signatures", "gateway_violations")

gateway_agents = Table(
    "gateway_agents",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("agent", Text, primary_key=True),
    Column("name", Text, nullable=False),
    # active, suspended
    Column("state", Text, nullable=False),
    # Words in order, one space between.
    Column("scopes", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    # How often it was reissued, and when last. Violations of an earlier term no longer count.
    Column("term", Integer, nullable=False),
    Column("reissued_us", BigInteger, nullable=False),
    Column("suspended_us", BigInteger),
    Column("suspended_by", Text),
    Column("suspended_for", Text),
    UniqueConstraint("owner", "name"),
)

gateway_keys = Table(
    "gateway_keys",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("key_sha256", LargeBinary, primary_key=True),
    Column("key_id", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("issued_us", BigInteger, nullable=False),
    Column("issued_by", Text, nullable=False),
    Column("revoked_us", BigInteger),
    Column("revoked_by", Text),
    UniqueConstraint("owner", "key_id"),
    Index(None, "owner", "agent"),
)

gateway_rates = Table(
    "gateway_rates",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("agent", Text, primary_key=True),
    # The theoretical arrival times of three limiters (core.gcra); 0 for one that was never charged.
    Column("coarse_us", BigInteger, nullable=False),
    Column("minute_us", BigInteger, nullable=False),
    Column("second_us", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

gateway_signatures = Table(
    "gateway_signatures",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("agent", Text, primary_key=True),
    # The request's own time, which its signature covers: rows are written and removed in its order.
    Column("stamp_us", BigInteger, primary_key=True),
    # The 32 bytes of X-OSz-Signature.
    Column("signature", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)

gateway_violations = Table(
    "gateway_violations",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("agent", Text, primary_key=True),
    # SHA-256 of the signature as it was sent: the same one seen again is the same violation.
    Column("fingerprint", LargeBinary, primary_key=True),
    Column("code", Text, nullable=False),
    Column("door", Text, nullable=False),
    Column("term", Integer, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Index(None, "owner", "at_us"),
)
