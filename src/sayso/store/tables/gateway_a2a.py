"""What the A2A door keeps: the messages that became tasks, the results of disclosures, and where to push.

A task that is a proposal has no `result`: how it stands is the Gate's. A disclosure is over when it is kept, and its
result goes after a day. Every key holds `owner`, whose house it is, and every lookup `agent` as well. `token` and
`credentials` are an agent's secrets for its own server; nothing reads them but the sender.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, PrimaryKeyConstraint, Table, Text

from sayso.store.tables import metadata

__all__ = ("gateway_a2a_push", "gateway_a2a_task")

gateway_a2a_task = Table(
    "gateway_a2a_task",
    metadata,
    Column("owner", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("context", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("message", LargeBinary, nullable=False),  # JSON: what was sent
    Column("result", LargeBinary),  # JSON: what a disclosure answered
    Column("state", Text, nullable=False),  # of a disclosure; empty for a proposal
    Column("created_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("owner", "id"),
    Index("ix_gateway_a2a_task_agent", "owner", "agent", "created_us"),
)

gateway_a2a_push = Table(
    "gateway_a2a_push",
    metadata,
    Column("owner", Text, nullable=False),
    Column("task", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("version", Text, nullable=False),  # of A2A, in which it was asked for
    Column("url", Text, nullable=False),
    Column("token", Text),
    Column("scheme", Text),
    Column("credentials", Text),
    Column("moves", Integer, nullable=False),  # of the proposal, as last told
    Column("created_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("owner", "task", "id"),
)
