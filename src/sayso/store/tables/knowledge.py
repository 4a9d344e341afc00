"""Semantic memory: documents, the passages observed in them, where these belong, and what was concluded from them.

`owner` is whose memory it is and shards every table. Weights and closenesses are whole thousandths, so that sums are
exact and the same on both engines. What finds passages is kept beside: `knowledge_vectors` here, and the engines' own
search objects, which the migration makes and which hold nothing that these tables do not.

Tables with a second index have row ids on SQLite: without them its planner takes the primary key by the owner alone
and reads everything.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, Table, Text

from sayso.store.tables import metadata

__all__ = (
    "knowledge_documents",
    "knowledge_evidence",
    "knowledge_hypotheses",
    "knowledge_observations",
    "knowledge_places",
    "knowledge_simulations",
    "knowledge_vectors",
)

knowledge_documents = Table(
    "knowledge_documents",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    # domain, note, artifact, proposal
    Column("source", Text, nullable=False),
    Column("by", Text, nullable=False),
    # house, person, agent
    Column("by_kind", Text, nullable=False),
    Column("run_id", Text),
    # The receipt that tells of its being taken in.
    Column("receipt", BigInteger, nullable=False),
    Column("content_sha256", Text, nullable=False),
    # How much the writer claims to be sure, in thousandths.
    Column("confidence", Integer, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    # Last, because SQLite walks through a long value to reach what stands behind it.
    Column("text", Text, nullable=False),
    sqlite_with_rowid=False,
)

knowledge_observations = Table(
    "knowledge_observations",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("document", Text, nullable=False),
    # Code points of the document's text, from `start` up to before `stop`.
    Column("start", Integer, nullable=False),
    Column("stop", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("text_sha256", Text, nullable=False),
    # The earlier observation with the very same words: this one is then neither searched nor weighed.
    Column("repeat_of", Text),
    Column("at_us", BigInteger, nullable=False),
    Index(None, "owner", "text_sha256"),
    Index(None, "owner", "document"),
)

knowledge_places = Table(
    "knowledge_places",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("domain_key", Text, primary_key=True),
    Column("observation", Text, primary_key=True),
    Column("closeness", Integer, nullable=False),
    # 1 where the writer named the domain, 0 where it was found to be near.
    Column("stated", Integer, nullable=False),
    Index(None, "owner", "observation"),
)

knowledge_vectors = Table(
    "knowledge_vectors",
    metadata,
    Column("owner", Text, primary_key=True),
    # Vectors of different models cannot be compared.
    Column("model", Text, primary_key=True),
    Column("observation", Text, primary_key=True),
    # 256 signed bytes.
    Column("vector", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

knowledge_hypotheses = Table(
    "knowledge_hypotheses",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    # intent, bridge, alignment, risk
    Column("kind", Text, nullable=False),
    Column("domain_key", Text, nullable=False),
    # The other end of a bridge.
    Column("other_key", Text),
    # Invariant I-KNOW-1: the sums of the weights in `knowledge_evidence`.
    Column("supporting", BigInteger, nullable=False),
    Column("opposing", BigInteger, nullable=False),
    Column("since_us", BigInteger, nullable=False),
    Column("changed_us", BigInteger, nullable=False),
    Index(None, "owner", "domain_key"),
    Index(None, "owner", "other_key"),
)

knowledge_evidence = Table(
    "knowledge_evidence",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("hypothesis", Text, primary_key=True),
    Column("observation", Text, primary_key=True),
    Column("weight", Integer, nullable=False),
    # 1 supports, 0 opposes.
    Column("supports", Integer, nullable=False),
    # Which rule weighed it, in words.
    Column("rule", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Index(None, "owner", "at_us"),
)

knowledge_simulations = Table(
    "knowledge_simulations",
    metadata,
    Column("owner", Text, primary_key=True),
    # The call that asked for it, so that asking again finds it.
    Column("call_id", Text, primary_key=True),
    Column("hypothesis", Text, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
