"""The chain: each record names the hash of the one before it, and all of them are the leaves of one Merkle tree.

A `Tip` is all that the next append needs: how many records there are, the hash of the last, and the right edge of the
RFC 9162 tree whose leaves are the records' canonical bytes. Appending costs O(log n) hashes at worst and so does a
checkpoint. The hash that links records has a prefix of its own (`record.HASH_PREFIX`) and is not the leaf hash.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from sayso.core.refusal import Corrupt
from sayso.ledger.rules.record import Draft, Record, write_record
from sayso.proof.merkle import Frontier, leaf_hash

__all__ = ("GENESIS", "START", "Tip", "extend", "read_tip")

GENESIS = bytes(32)
"""What the first record of every log names as the hash before it."""


class Tip(msgspec.Struct, frozen=True):
    """Where a log stands: `size` records, the last with hash `head`."""

    size: int
    head: bytes
    frontier: Frontier


START = Tip(0, GENESIS, Frontier())


def extend(tip: Tip, draft: Draft, *, log: str, at: datetime) -> tuple[Record, Tip]:
    """The record that follows, and the tip with it. Refused: `malformed_receipt`, naming the member that is wrong."""
    # Invariant L-02: every record names the hash of the record before it.
    record = write_record(draft, log=log, at=at, seq=tip.size, prev=tip.head)
    return record, Tip(tip.size + 1, record.hash, tip.frontier.append(leaf_hash(record.data)))


def read_tip(size: int, head: bytes, frontier: bytes, *, log: str) -> Tip:
    """A tip as it was stored. Raises `Corrupt` where its parts contradict one another."""
    edge = Frontier.from_bytes(frontier)
    if edge.size != size or len(head) != len(GENESIS):
        raise Corrupt("the head of the receipt log contradicts itself", log)
    return Tip(size, head, edge)
