"""The runs and sessions that agents started at the door of the Agent Communication Protocol (GTW-004).

Every key holds `owner`, by which tables are spread, and `agent`: two agents may name a session alike and never meet.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, LargeBinary, PrimaryKeyConstraint, Table, Text

from sayso.store.tables import metadata

__all__ = ("gateway_acp_run", "gateway_acp_session")

gateway_acp_run = Table(
    "gateway_acp_run",
    metadata,
    Column("owner", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("agent_name", Text, nullable=False),  # the label it was asked under
    Column("act", Text, nullable=False),
    # Exactly one of the two: what a disclosure answered, or the proposal that an execution waits for.
    Column("outcome", LargeBinary),
    Column("proposal", Text),
    Column("created_at_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("owner", "agent", "run_id"),
    Index(None, "owner", "created_at_us"),
)

gateway_acp_session = Table(
    "gateway_acp_session",
    metadata,
    Column("owner", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("used_at_us", BigInteger, nullable=False),  # when its last run was started
    PrimaryKeyConstraint("owner", "agent", "session_id"),
    Index(None, "owner", "used_at_us"),
)
