"""The way into the chain: one record, in the caller's unit of work (GTW-050, GTW-053).

A receipt is durable exactly when the change it tells of is, and nobody is answered before. A unit that writes receipts
takes its log's lock as its last, and keeps it until COMMIT.
"""

from __future__ import annotations

from sayso.core.refusal import Corrupt, Misuse
from sayso.ledger import heads
from sayso.ledger.heads import Tips
from sayso.ledger.rules.batch import BATCH_SEALED
from sayso.ledger.rules.chain import extend
from sayso.ledger.rules.record import Draft, Record
from sayso.store.statements import insert, statement
from sayso.store.tables.ledger import ledger_record
from sayso.store.unit import Unit

__all__ = ("append", "chain_record")

_INSERT = statement(insert(ledger_record))


def append(unit: Unit, log: str, draft: Draft, *, tips: Tips | None = None) -> Record:
    """Chains one record, dated `unit.now`. `tips` remembers the head between units and may be left out.

    Refused: `malformed_receipt`, naming the member that is wrong. Misuse: a kind that only the ledger writes.
    """
    if draft.kind == BATCH_SEALED:
        raise Misuse("batches are sealed by the ledger alone")
    return chain_record(unit, log, draft, tips)


def chain_record(unit: Unit, log: str, draft: Draft, tips: Tips | None) -> Record:
    """`append`, for the ledger's own records too."""
    heads.lock(unit, log)
    # What this process remembers first, then what is stored; under the lock, the second cannot be overtaken.
    for remembered in (tips.get(log) if tips is not None else None, None):
        tip = remembered or heads.read_head(unit, log).tip
        record, new = extend(tip, draft, log=log, at=unit.now)
        # Invariant L-01: the head moves only from where this record begins, so no two records take one place.
        if heads.move(unit, log, tip, new):
            break
    else:
        raise Corrupt("the head of the receipt log moved under its lock", log)
    unit.execute(_INSERT, {"log": log, "seq": record.seq, "prev": record.prev, "data": record.data})
    if tips is not None:
        tips[log] = new
    return record
