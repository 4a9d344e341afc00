"""Work that an owner assigned to an outside agent, and what came back (GTW-005, GTW-006).

Every key holds `owner`. An assignment's result is in the same row as its state, so that the two cannot disagree.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, PrimaryKeyConstraint, Table, Text

from sayso.store.tables import metadata

__all__ = ("gateway_artifact", "gateway_assignment")

gateway_assignment = Table(
    "gateway_assignment",
    metadata,
    Column("owner", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("task_type", Text, nullable=False),
    Column("input", LargeBinary, nullable=False),  # canonical JSON
    Column("budget_cents", Integer, nullable=False),
    Column("domain_key", Text),
    Column("reason", Text, nullable=False),
    Column("approved_by", Text, nullable=False),
    Column("approved_at_us", BigInteger, nullable=False),
    Column("state", Text, nullable=False),  # assigned, executed, withdrawn
    Column("settled_at_us", BigInteger),
    # Both null until it is executed.
    Column("artifact_type", Text),
    Column("artifact_sha256", LargeBinary),
    PrimaryKeyConstraint("owner", "id"),
    Index(None, "owner", "agent", "state", "approved_at_us"),
)

gateway_artifact = Table(
    "gateway_artifact",
    metadata,
    Column("owner", Text, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
    Column("data", LargeBinary, nullable=False),  # the body in canonical JSON, whose hash the key is
    Column("stored_at_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("owner", "sha256"),
)
