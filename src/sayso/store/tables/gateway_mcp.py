"""MCP sessions of the legacy revisions, and what each wants to hear of. Sharded by the owner whose house it is."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text

from sayso.store.tables import metadata

__all__ = ("mcp_sessions", "mcp_subscriptions")

mcp_sessions = Table(
    "mcp_sessions",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("session", Text, primary_key=True),
    # The agent that opened it: to every other one it does not exist.
    Column("agent", Text, nullable=False),
    # The revision agreed on.
    Column("version", Text, nullable=False),
    Column("opened_us", BigInteger, nullable=False),
    Column("ends_us", BigInteger, nullable=False),
    # How many events its streams were given; the number of the next one.
    Column("events", Integer, nullable=False),
    Index(None, "owner", "agent", "opened_us"),
    Index(None, "owner", "ends_us"),
    sqlite_with_rowid=False,
)

mcp_subscriptions = Table(
    "mcp_subscriptions",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("session", Text, primary_key=True),
    Column("uri", Text, primary_key=True),
    # The proposal's moves that the client knows of, and the number of the event that told it.
    Column("told", Integer, nullable=False),
    Column("event", Integer, nullable=False),
    sqlite_with_rowid=False,
)
