"""Checkpoints: the log's own signature over how far it goes (C2SP tlog-checkpoint, GTW-052).

Origin, size and root are as transparency-log tools read them; the origin is the log's name, and the key's name too. Two
extension lines follow, which such tools pass over:

    head <hash of the last record, base64url>
    time <when it was signed, RFC 3339 in UTC with six decimals>

The head lets somebody who only keeps the chain check it without a tree, and lets a verifier name the very last record
when that one was changed. The format advises against extension lines since monitors cannot audit them: the head they
can, the time is the signer's word, and people ask for it.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from sayso.core import b64u
from sayso.core.refusal import Refused
from sayso.ledger.rules.chain import Tip
from sayso.ledger.rules.record import read_instant, write_instant
from sayso.ledger.rules.wire import Hash, Instant
from sayso.proof.keys import PrivateKey, PublicKey
from sayso.proof.note import Checkpoint, verify_checkpoint, write_checkpoint

__all__ = ("SignedCheckpoint", "sign_checkpoint", "verify_signed_checkpoint")

_HEAD = "head "
_TIME = "time "


class SignedCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint whose signature holds: `size` records with this root, the last with hash `head`, signed `at`."""

    log: str
    size: int
    root: bytes
    head: bytes
    at: datetime


def sign_checkpoint(tip: Tip, *, log: str, at: datetime, key: PrivateKey) -> bytes:
    """The signed note for a log that stands at `tip`."""
    extensions = (f"{_HEAD}{b64u.encode(tip.head)}", f"{_TIME}{write_instant(at)}")
    return write_checkpoint(log, tip.size, tip.frontier.root(), key, extensions=extensions)


def verify_signed_checkpoint(note: bytes, *, log: str, key: PublicKey) -> SignedCheckpoint:
    """What the note says of this log, if this key signed it.

    Refused: `malformed_note`, `unsigned_note` (this key did not sign it under this log's name) or `bad_signature`.
    """
    found = verify_checkpoint(note, origin=log, key=key)
    head, at = _extensions(found)
    return SignedCheckpoint(log=log, size=found.size, root=found.root, head=head, at=at)


def _extensions(found: Checkpoint) -> tuple[bytes, datetime]:
    lines = found.extensions
    if len(lines) != 2 or not lines[0].startswith(_HEAD) or not lines[1].startswith(_TIME):
        raise Refused.because("malformed_note", "a receipt log's checkpoint has one line for head and one for time")
    try:
        head = b64u.decode(msgspec.convert(lines[0].removeprefix(_HEAD), Hash))
        return head, read_instant(msgspec.convert(lines[1].removeprefix(_TIME), Instant))
    except (msgspec.ValidationError, Refused):
        raise Refused.because("malformed_note", "the checkpoint's head or time is malformed") from None
