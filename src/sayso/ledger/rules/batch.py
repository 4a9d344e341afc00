"""Batches: disclosures sealed together under one RFC 9162 root, which a single record puts into the chain (GTW-051).

A disclosure is a row of its own before anybody is answered; it is numbered but not chained. A seal takes every
disclosure that waits, in the order of their numbers, and states the first number, how many there are and the root over
their canonical bytes. Numbers run on from batch to batch without a gap, so a disclosure can be neither dropped nor
slipped in between two seals. When to seal is decided here, who looks at the clock in `ledger.sealing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from sayso.core import b64u
from sayso.core.refusal import Misuse, Refused
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.ledger.rules.wire import Hash, Wire, malformed
from sayso.proof.merkle import leaf_hash, root

__all__ = ("BATCH_SEALED", "MAX_BATCH", "SEAL_AFTER", "Seal", "is_due", "read_seal", "seal_draft", "verify_batch")

BATCH_SEALED = declare("batch.sealed", "Disclosures were sealed: their first number, how many, and the root over them.")
MAX_BATCH = 256
SEAL_AFTER = timedelta(seconds=1)
SEALER = "ledger"


class Seal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `batch.sealed` record, members in canonical order."""

    first: int
    root: Hash
    size: int


def is_due(waiting: int, since: datetime | None, now: datetime) -> bool:
    """Whether the waiting disclosures are to be sealed: 256 of them, or the oldest is a second old."""
    return waiting >= MAX_BATCH or (since is not None and now - since >= SEAL_AFTER)


def seal_draft(first: int, leaves: Sequence[bytes]) -> Draft:
    """The record that seals these disclosures' canonical bytes; `first` is the number of the first of them."""
    if not 0 < len(leaves) <= MAX_BATCH:
        raise Misuse(f"a batch holds 1 to {MAX_BATCH} disclosures, not {len(leaves)}")
    sealed = root([leaf_hash(leaf) for leaf in leaves])
    return Draft(
        kind=BATCH_SEALED,
        actor=SEALER,
        body={"first": first, "root": b64u.encode(sealed), "size": len(leaves)},
    )


def read_seal(wire: Wire) -> Seal:
    """What a `batch.sealed` record states. Refused: `malformed_receipt` at `$.body`."""
    try:
        return msgspec.json.Decoder(Seal).decode(wire.body)
    except msgspec.MsgspecError as wrong:
        raise malformed(str(wrong), "$.body") from None


def verify_batch(seal: Seal, first: int, leaf_hashes: Sequence[bytes]) -> Seal:
    """The seal, if it states exactly these disclosures; `first` is the number that comes next in the log.

    Refused: `batch_broken` with reason `first`, `size` or `root`.
    """
    if seal.first != first:
        raise _broken("first", f"the seal begins at disclosure {seal.first} where {first} comes next")
    if seal.size != len(leaf_hashes) or not leaf_hashes:
        raise _broken("size", f"the seal counts {seal.size} disclosures and {len(leaf_hashes)} are here")
    if b64u.encode(root(leaf_hashes)) != seal.root:
        last = first + seal.size - 1
        raise _broken("root", f"disclosures {first} to {last} do not have the sealed root: one of them was changed")
    return seal


def _broken(reason: str, message: str) -> Refused:
    return Refused.because("batch_broken", message, reason=reason)
