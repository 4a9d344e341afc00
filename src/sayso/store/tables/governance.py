"""The Promotion Gate's queue, and the acts that were approved and are being carried out.

Every key holds `owner`, whose house it is. A proposal's columns are what the machine and the lists look at; what
nothing selects by is kept as JSON. `acts` has a row for each approved proposal: who is at it, until when, and whether
its intent was written down. Written by `governance.gate` and `governance.execution` alone.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, PrimaryKeyConstraint, Table, Text

from sayso.store.tables import metadata

__all__ = ("acts", "proposal")

proposal = Table(
    "proposal",
    metadata,
    Column("owner", Text, nullable=False),  # whose house it is
    Column("id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("moves", Integer, nullable=False),  # transitions so far
    Column("created_us", BigInteger, nullable=False),
    Column("deadline_us", BigInteger),  # of a state that waits for somebody
    Column("expires_us", BigInteger, nullable=False),  # the last deadline it had
    Column("changed_us", BigInteger, nullable=False),
    Column("agent", Text, nullable=False),
    Column("person", Text, nullable=False),  # the person that the agent is bound to
    Column("door", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("context", Text),
    Column("scopes", Text, nullable=False),  # of the agent's key when it asked, by space
    Column("arguments", LargeBinary, nullable=False),  # canonical JSON
    Column("arguments_sha256", Text, nullable=False),
    Column("constitution", Text, nullable=False),  # version and hash it was judged under
    Column("article", Text, nullable=False),
    Column("note", LargeBinary, nullable=False),  # the door's own
    Column("receipt", BigInteger, nullable=False),  # the seq of its last receipt
    Column("decision", LargeBinary),  # JSON: who, role, yes or no, words, when
    Column("answers", LargeBinary),  # JSON: what was signed, in order
    Column("question", LargeBinary),  # JSON: what the person is asked now
    Column("outcome", LargeBinary),  # JSON: result or refusal
    PrimaryKeyConstraint("owner", "id"),
    Index("ix_proposal_created", "owner", "created_us", "id"),
    Index("ix_proposal_agent", "owner", "agent", "created_us", "id"),
    Index("ix_proposal_state", "owner", "state", "created_us", "id"),
    Index("ix_proposal_deadline", "owner", "deadline_us"),
)

acts = Table(
    "acts",
    metadata,
    Column("owner", Text, nullable=False),
    Column("id", Text, nullable=False),  # the proposal's
    Column("due_us", BigInteger),  # when it may be claimed: now, or when the lease ends; null while nobody may
    Column("attempt", Integer, nullable=False),  # claims so far; the present claim's number is its proof
    Column("worker", Text),
    Column("intent", Integer),  # the attempt that last wrote an intent and no outcome
    Column("tries", Integer, nullable=False),  # runs that ended without an outcome
    PrimaryKeyConstraint("owner", "id"),
    Index("ix_acts_due", "owner", "due_us"),
)
