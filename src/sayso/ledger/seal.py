"""Disclosures and their seals, and checkpoints: what the log says of itself (GTW-051, GTW-052, GTW-053).

A disclosure is a durable row before anybody is answered. A seal puts the root over those that wait into the chain, and
from then on they are as fixed as any record. A checkpoint is the log's signature over its size and root; it is kept, so
that an export can carry it.
"""

from __future__ import annotations

from sqlalchemy import bindparam, select

from sayso.core.refusal import Corrupt, Misuse, Refused
from sayso.ledger import heads
from sayso.ledger.append import chain_record
from sayso.ledger.heads import Tips
from sayso.ledger.rules.batch import BATCH_SEALED, MAX_BATCH, is_due, seal_draft
from sayso.ledger.rules.checkpoint import sign_checkpoint, verify_signed_checkpoint
from sayso.ledger.rules.record import Disclosure, Draft, Record, write_disclosure
from sayso.proof.keys import PrivateKey
from sayso.store.statements import insert, statement
from sayso.store.tables.ledger import ledger_batch, ledger_checkpoint, ledger_leaf
from sayso.store.unit import Unit

__all__ = ("checkpoint", "disclose", "seal", "seal_due")

NOTHING_TO_SIGN = "nothing_to_sign"
OTHER_KEY = "other_log_key"

_l = ledger_leaf.c
_LEAVES = statement(
    select(_l.data)
    .where(_l.log == bindparam("log"), _l.number >= bindparam("first"))
    .order_by(_l.number)
    .limit(MAX_BATCH)
)
_LEAF = statement(insert(ledger_leaf))
_BATCH = statement(insert(ledger_batch))
_c = ledger_checkpoint.c
_LAST_NOTE = statement(select(_c.note).where(_c.log == bindparam("log")).order_by(_c.size.desc()).limit(1))
_NOTE = statement(insert(ledger_checkpoint))


def disclose(unit: Unit, log: str, draft: Draft, *, tips: Tips | None = None) -> Disclosure:
    """Keeps one disclosure, dated `unit.now`; the 256th that waits seals the batch in the same unit.

    Refused: `malformed_receipt`, naming the member that is wrong. Misuse: a kind that only the ledger writes.
    """
    if draft.kind == BATCH_SEALED:
        raise Misuse("batches are sealed by the ledger alone")
    heads.lock(unit, log)
    # Invariant L-03: a disclosure's number is taken from the head in the unit that keeps it.
    number, waiting = heads.count_disclosure(unit, log)
    disclosure = write_disclosure(draft, log=log, at=unit.now, number=number)
    unit.execute(_LEAF, {"log": log, "number": number, "data": disclosure.data})
    if waiting == 1:
        unit.wake(heads.channel(log))
    if waiting >= MAX_BATCH:
        seal(unit, log, tips=tips)
    return disclosure


def seal(unit: Unit, log: str, *, tips: Tips | None = None) -> list[Record]:
    """Seals every disclosure that waits, 256 to a batch; the records that do so, none if nothing waits."""
    heads.lock(unit, log)
    head = heads.read_head(unit, log)
    sealed = head.sealed
    records: list[Record] = []
    while sealed < head.leaves:
        # Invariant L-05: a batch begins where the one before it ended.
        leaves = [bytes(row[0]) for row in unit.all(_LEAVES, {"log": log, "first": sealed})]
        if not leaves:
            raise Corrupt(f"disclosure {sealed} was counted and is not there", log)
        record = chain_record(unit, log, seal_draft(sealed, leaves), tips)
        unit.execute(_BATCH, {"log": log, "first": sealed, "size": len(leaves), "seq": record.seq})
        heads.mark_sealed(unit, log, sealed, sealed + len(leaves))
        sealed += len(leaves)
        records.append(record)
    if records:
        unit.wake(heads.channel(log))
    return records


def seal_due(unit: Unit, log: str, *, tips: Tips | None = None) -> list[Record]:
    """Seals what waits if there are 256 of them or the oldest is a second old."""
    head = heads.read_head(unit, log)
    return seal(unit, log, tips=tips) if is_due(head.waiting, head.since, unit.now) else []


def checkpoint(unit: Unit, log: str, key: PrivateKey) -> bytes:
    """The signed note over all records so far; signed once for each size, dated `unit.now`.

    Refused: `nothing_to_sign` where the log has no record, `other_log_key` where another key signed it before: a log
    keeps its key, or nobody could verify the whole of it with one.
    """
    heads.lock(unit, log)
    tip = heads.read_head(unit, log).tip
    if tip.size == 0:
        raise Refused.because(NOTHING_TO_SIGN, "There are no receipts to sign a checkpoint over")
    row = unit.one(_LAST_NOTE, {"log": log})
    if row is not None and _size_signed(bytes(row[0]), log, key) == tip.size:
        return bytes(row[0])
    note = sign_checkpoint(tip, log=log, at=unit.now, key=key)
    unit.execute(_NOTE, {"log": log, "size": tip.size, "note": note})
    return note


def _size_signed(note: bytes, log: str, key: PrivateKey) -> int:
    try:
        return verify_signed_checkpoint(note, log=log, key=key.public).size
    except Refused:
        raise Refused.because(
            OTHER_KEY, f"The checkpoints of {log} are signed by another key", help="Sign with the key of this log."
        ) from None
