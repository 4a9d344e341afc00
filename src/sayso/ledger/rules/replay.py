"""The chain, walked again from its stored bytes: order, links, batches, and what a checkpoint says of them.

A changed record shows in the link of the one after it. Where a link does not fit, either side may be the changed one,
and the record after next decides: if that one still names the second record by its hash, the first was changed. So a
misfit is held back for one line before it is named.
"""

from __future__ import annotations

from hashlib import sha256

from sayso.core import b64u
from sayso.core.refusal import Refused
from sayso.ledger.rules.batch import BATCH_SEALED, MAX_BATCH, read_seal, verify_batch
from sayso.ledger.rules.chain import GENESIS
from sayso.ledger.rules.checkpoint import SignedCheckpoint
from sayso.ledger.rules.record import hash_record, read_instant
from sayso.ledger.rules.wire import Wire, read_wire
from sayso.proof.merkle import Frontier

__all__ = ("BROKEN", "Replay", "broken")

BROKEN = "receipts_broken"
_FLUSH = 2048


def broken(reason: str, message: str, *, seq: int | None = None, place: str | None = None) -> Refused:
    """The refusal that names a bad place.

    `reason` is one of malformed, log, missing, order, changed, batch, checkpoint, cut, evidence and line.
    """
    details = {} if seq is None else {"seq": seq}
    return Refused.because(BROKEN, message, reason=reason, place=place or f"record {seq}", details=details)


class Replay:
    """The records and disclosures of one log, taken in order."""

    def __init__(self, log: str) -> None:
        self.log = log
        self.size = 0
        self.sealed = 0
        self.vouched = 0
        """How many records the last fitting checkpoint covers."""
        self._prev = b64u.encode(GENESIS)
        self._misfit = False
        self._frontier = Frontier()
        # Leaf hashes wait in a list: the tree takes many at once more cheaply.
        self._fresh: list[bytes] = []
        self._waiting: list[bytes] = []

    @property
    def head(self) -> str:
        """The hash of the last record, base64url."""
        return self._prev

    def take_record(self, data: bytes) -> Wire:
        """The next record. Refused: `receipts_broken`."""
        seq = self.size
        if self._misfit:
            raise self._name_misfit(_prev_of(data))
        wire = self._read(data, "record", seq)
        if wire.seq is None or wire.prev is None or wire.leaf is not None:
            raise broken("malformed", f"Record {seq} is not a chained record", seq=seq)
        # Invariant L-01: seq counts from 0 without a gap.
        if wire.seq != seq:
            raise _misplaced(seq, wire.seq)
        # Invariant L-02: every record names the hash of the record before it.
        if wire.prev != self._prev:
            if seq == 0:
                raise broken("changed", "Record 0 does not begin this log: it names a record before it", seq=0)
            self._misfit = True
        if wire.kind == BATCH_SEALED or self._waiting:
            self._take_seal(wire, seq)
        self._prev = b64u.encode(hash_record(data))
        self._fresh.append(sha256(b"\x00" + data).digest())
        if len(self._fresh) == _FLUSH:
            self._grow()
        self.size = seq + 1
        return wire

    def take_disclosure(self, data: bytes) -> Wire:
        """The next disclosure of the batch that the next record seals. Refused: `receipts_broken`."""
        number = self.sealed + len(self._waiting)
        place = f"disclosure {number}"
        wire = self._read(data, "disclosure", number)
        if wire.leaf is None or wire.seq is not None or wire.prev is not None:
            raise broken("malformed", f"Disclosure {number} is not one", seq=self.size, place=place)
        # Invariant L-03: disclosures are numbered from 0 without a gap, from batch to batch.
        if wire.leaf != number:
            what = f"Disclosure {number} is missing or out of order: disclosure {wire.leaf} stands in its place"
            raise broken("missing" if wire.leaf > number else "order", what, seq=self.size, place=place)
        if len(self._waiting) == MAX_BATCH:
            raise broken(
                "batch", f"There are more than {MAX_BATCH} disclosures in one batch", seq=self.size, place=place
            )
        self._waiting.append(sha256(b"\x00" + data).digest())
        return wire

    def compare(self, point: SignedCheckpoint, whose: str) -> None:
        """Holds a checkpoint of exactly this size against the records so far. Refused: `receipts_broken`."""
        head = b64u.encode(point.head)
        if self._misfit:
            raise self._name_misfit(head)
        self._grow()
        # Invariant L-04: a signed checkpoint has the root and the head of the records before it.
        if head != self._prev or point.root != self._frontier.root():
            first, last = self.vouched, max(self.size - 1, 0)
            message = f"{whose} of size {point.size} was signed over other records: record {last} was changed" + (
                f", or one from record {first} on was, and all after it written anew" if first < last else ""
            )
            raise broken("checkpoint", message, seq=last)
        self.vouched = self.size

    def close(self) -> None:
        """After the last record. Refused: `receipts_broken`."""
        if self._misfit:
            raise self._name_misfit(None)
        if self._waiting:
            raise broken("batch", f"The record {self.size} that seals the last disclosures is missing", seq=self.size)

    def _read(self, data: bytes, what: str, number: int) -> Wire:
        try:
            wire = read_wire(data)
            read_instant(wire.at)
        except Refused as wrong:
            at = f" at {wrong.refusal.place}" if wrong.refusal.place else ""
            message = f"{what.capitalize()} {number} cannot be read. {wrong.refusal.message}{at}"
            raise broken("malformed", message, seq=self.size, place=f"{what} {number}") from None
        if wire.log != self.log:
            message = f"{what.capitalize()} {number} is of another log: {wire.log}"
            raise broken("log", message, seq=self.size, place=f"{what} {number}")
        return wire

    def _take_seal(self, wire: Wire, seq: int) -> None:
        # Invariant L-05: a seal states exactly the disclosures since the seal before it.
        try:
            if wire.kind != BATCH_SEALED:
                raise Refused.because("batch_broken", "it does not seal the disclosures before it")
            seal = verify_batch(read_seal(wire), self.sealed, self._waiting)
        except Refused as wrong:
            raise broken("batch", f"Record {seq}: {wrong.refusal.message}", seq=seq) from None
        self.sealed += seal.size
        self._waiting = []

    def _name_misfit(self, next_prev: str | None) -> Refused:
        """`next_prev` is what the following record, or a checkpoint, says the hash of the last record is."""
        last = self.size - 1
        if next_prev in (None, self._prev):
            message = f"Record {last - 1} was changed: record {last} names another hash for it"
            return broken("changed", message, seq=last - 1)
        return broken("changed", f"Record {last} was changed: it does not follow record {last - 1}", seq=last)

    def _grow(self) -> None:
        self._frontier = self._frontier.extend(self._fresh)
        self._fresh = []


def _misplaced(expected: int, found: int) -> Refused:
    if found > expected:
        what = f"Record {expected} is missing or out of order: record {found} stands in its place"
        return broken("missing", what, seq=expected)
    return broken(
        "order", f"Record {found} occurs twice, or out of order: record {expected} belongs here", seq=expected
    )


def _prev_of(data: bytes) -> str | None:
    try:
        return read_wire(data).prev
    except Refused:
        return None
