"""Reading a log: its receipts and the proofs about them, of one consistent view.

Proofs are built over the leaves that the size in question covers, all read in the same view as the size itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from sqlalchemy import bindparam, select

from sayso.core.refusal import Refused
from sayso.ledger import heads
from sayso.ledger.rules.record import Disclosure, Record, read_disclosure, read_record
from sayso.proof.merkle import consistency_proof, inclusion_proof, leaf_hash
from sayso.store.statements import statement
from sayso.store.tables.ledger import ledger_batch, ledger_head, ledger_leaf, ledger_record
from sayso.store.unit import Reading

__all__ = (
    "PAGE",
    "DisclosureProof",
    "RecordProof",
    "disclosure_data",
    "list_logs",
    "prove_consistency",
    "prove_disclosure",
    "prove_record",
    "read_disclosures",
    "read_records",
    "record_data",
)

NO_SUCH_RECEIPT = "no_such_receipt"
PAGE = 1000

_r, _l, _b = ledger_record.c, ledger_leaf.c, ledger_batch.c
_LOGS = statement(select(ledger_head.c.log).order_by(ledger_head.c.log))
_RECORDS = statement(
    select(_r.seq, _r.data)
    .where(_r.log == bindparam("log"), _r.seq >= bindparam("first"), _r.seq < bindparam("end"))
    .order_by(_r.seq)
)
_LEAVES = statement(
    select(_l.data)
    .where(_l.log == bindparam("log"), _l.number >= bindparam("first"), _l.number < bindparam("end"))
    .order_by(_l.number)
)
_BATCH_OF = statement(
    select(_b.first, _b.size, _b.seq)
    .where(_b.log == bindparam("log"), _b.first <= bindparam("number"))
    .order_by(_b.first.desc())
    .limit(1)
)


def list_logs(view: Reading) -> list[str]:
    """The names of the logs in this database."""
    return [row[0] for row in view.all(_LOGS)]


def record_data(view: Reading, log: str, first: int, end: int) -> list[tuple[int, bytes]]:
    """Place and stored bytes of records `first` up to before `end`, in order."""
    return [(seq, bytes(data)) for seq, data in view.all(_RECORDS, {"log": log, "first": first, "end": end})]


def disclosure_data(view: Reading, log: str, first: int, end: int) -> list[bytes]:
    """The stored bytes of disclosures `first` up to before `end`, in order, sealed or not."""
    return [bytes(row[0]) for row in view.all(_LEAVES, {"log": log, "first": first, "end": end})]


def read_records(view: Reading, log: str, first: int, end: int) -> list[Record]:
    """The records, read from their bytes. Refused: `malformed_receipt` where stored bytes are damaged."""
    return [read_record(data) for _, data in record_data(view, log, first, end)]


def read_disclosures(view: Reading, log: str, first: int, end: int) -> list[Disclosure]:
    """The disclosures, read from their bytes. Refused: `malformed_receipt` where stored bytes are damaged."""
    return [read_disclosure(data) for data in disclosure_data(view, log, first, end)]


class RecordProof(msgspec.Struct, frozen=True, kw_only=True):
    """Shows a record in the log: `path` leads from leaf `seq` of `size` to the root that a checkpoint there states."""

    seq: int
    size: int
    path: list[bytes]


def prove_record(view: Reading, log: str, seq: int, size: int | None = None) -> RecordProof:
    """A record's inclusion in the tree of `size` records, all of them unless said. Refused: `no_such_receipt`."""
    there = heads.read_head(view, log).tip.size
    size = there if size is None else size
    # Judged before anything is read: a size that the log never had costs nothing to refuse.
    if not 0 <= seq < size <= there:
        raise _no_such(f"there is no record {seq} among {size}")
    return RecordProof(seq=seq, size=size, path=inclusion_proof(seq, _leaf_hashes(view, log, size)))


def prove_consistency(view: Reading, log: str, first: int, second: int) -> list[bytes]:
    """An RFC 9162 proof that the first `first` records begin the first `second`. Refused: `no_such_receipt`."""
    if not 0 < first <= second <= heads.read_head(view, log).tip.size:
        raise _no_such(f"a log of {first} records is no start of one of {second}")
    return consistency_proof(first, _leaf_hashes(view, log, second))


class DisclosureProof(msgspec.Struct, frozen=True, kw_only=True):
    """Shows a disclosure in its batch: `path` leads from leaf `index` of `size` to the root in record `sealed_by`."""

    sealed_by: int
    index: int
    size: int
    path: list[bytes]


def prove_disclosure(view: Reading, log: str, number: int) -> DisclosureProof:
    """A disclosure's inclusion in its batch. Refused: `no_such_receipt`, also while it is not sealed."""
    row = view.one(_BATCH_OF, {"log": log, "number": number})
    if row is None or number >= row[0] + row[1]:
        raise _no_such(f"there is no sealed disclosure {number}")
    first, size, seq = row
    leaves = [leaf_hash(data) for data in disclosure_data(view, log, first, first + size)]
    index = number - first
    return DisclosureProof(sealed_by=seq, index=index, size=size, path=inclusion_proof(index, leaves))


def _leaf_hashes(view: Reading, log: str, size: int) -> Sequence[bytes]:
    found: list[bytes] = []
    for start in range(0, size, PAGE):
        found += [leaf_hash(data) for _, data in record_data(view, log, start, min(start + PAGE, size))]
    if len(found) != size:
        raise _no_such(f"there are {len(found)} records, not {size}")
    return found


def _no_such(what: str) -> Refused:
    return Refused.because(NO_SUCH_RECEIPT, f"No such receipt: {what}")
