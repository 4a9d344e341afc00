"""Receipt logs: heads, chained records, disclosures, batches, checkpoints and evidence.

Every key and constraint holds `log`, so that logs can be spread over several databases. A record's bytes are the
truth; the columns beside them exist for constraints only. Rows are inserted and never changed, except the head.
Written by `ledger.append` and `ledger.seal` alone.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, LargeBinary, PrimaryKeyConstraint, Table, Text, UniqueConstraint

from sayso.store.tables import metadata

__all__ = (
    "ledger_batch",
    "ledger_checkpoint",
    "ledger_evidence",
    "ledger_head",
    "ledger_leaf",
    "ledger_record",
)

ledger_head = Table(
    "ledger_head",
    metadata,
    Column("log", Text, nullable=False),
    Column("size", BigInteger, nullable=False),  # records in the chain; the next one's seq
    Column("head", LargeBinary, nullable=False),  # hash of the last record
    Column("frontier", LargeBinary, nullable=False),  # roots of the full subtrees, 32 bytes each, largest first
    Column("leaves", BigInteger, nullable=False),  # disclosures so far; the next one's number
    Column("sealed", BigInteger, nullable=False),  # how many of them are in a batch
    Column("waiting_since", BigInteger),  # microseconds: when the oldest unsealed disclosure was made
    PrimaryKeyConstraint("log"),
)

ledger_record = Table(
    "ledger_record",
    metadata,
    Column("log", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("prev", LargeBinary, nullable=False),
    Column("data", LargeBinary, nullable=False),  # canonical bytes, exactly as hashed
    PrimaryKeyConstraint("log", "seq"),
    UniqueConstraint("log", "prev"),
)

ledger_leaf = Table(
    "ledger_leaf",
    metadata,
    Column("log", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),  # canonical bytes, exactly as hashed
    PrimaryKeyConstraint("log", "number"),
)

ledger_batch = Table(
    "ledger_batch",
    metadata,
    Column("log", Text, nullable=False),
    Column("first", BigInteger, nullable=False),  # number of its first disclosure
    Column("size", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),  # the record that seals it
    PrimaryKeyConstraint("log", "first"),
    UniqueConstraint("log", "seq"),
)

ledger_checkpoint = Table(
    "ledger_checkpoint",
    metadata,
    Column("log", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("note", LargeBinary, nullable=False),  # the signed note, UTF-8
    PrimaryKeyConstraint("log", "size"),
)

ledger_evidence = Table(
    "ledger_evidence",
    metadata,
    Column("log", Text, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("typ", Text),  # of a signed document
    Column("verified_by", LargeBinary),  # SHA-256 of the key set, itself evidence, that verifies it
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("log", "sha256"),
)
