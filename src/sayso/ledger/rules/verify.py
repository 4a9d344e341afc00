"""Verification offline: an export and the log's public key in, one verdict out (GTW-052).

In this order, line by line, and the first failure ends it: (1) the header says which log; (2) every receipt is read
strictly from the bytes that are hashed; (3) `seq` counts from 0 without a gap; (4) `prev` is the hash of the record
before; (5) each batch has the number of disclosures and the root that its record states, and disclosures are numbered
without a gap; (6) each checkpoint is signed by the key given and has the root and head of the records before it; (7) a
kept checkpoint has the root and head of this log at its size; (8) evidence has a hash that a receipt refers to, and a
signed document holds under its key set; (9) the last line counts what was there.

What is found is named as precisely as hashes allow: a changed record shows in the link of the one after it, and where
the two disagree the record after that decides which was changed. Without a checkpoint a chain is whole in itself only:
its end may have been cut, or all of it written anew. That is stated in the verdict, and is for the reader to judge.

Not decided here: whether the key is the right one, and what receipts mean.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sayso.core.refusal import Refused
from sayso.ledger.rules import export
from sayso.ledger.rules.checkpoint import SignedCheckpoint, verify_signed_checkpoint
from sayso.ledger.rules.documents import Documents
from sayso.ledger.rules.export import RECORD_START
from sayso.ledger.rules.replay import BROKEN, Replay, broken
from sayso.proof.keys import PublicKey

__all__ = ("BROKEN", "NOT_JUDGED", "Verdict", "Verification", "verify_export")

NOT_JUDGED = "receipts_not_judged"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """An intact log. `head` is the hash of its last record, base64url; `checkpoint` is the largest signed one in the
    export, `kept` the one the caller held against it.

    `evidence` counts the documents that receipts refer to and that are there, `signed` those of them whose signature
    was verified, `absent` the hashes that receipts refer to without a document. All three are 0 where the export was
    made without evidence.
    """

    log: str
    head: str
    records: int
    disclosures: int
    checkpoint: SignedCheckpoint | None
    kept: SignedCheckpoint | None
    evidence: int
    signed: int
    absent: int

    @property
    def receipts(self) -> int:
        """All of them: chained records and sealed disclosures."""
        return self.records + self.disclosures

    @property
    def covered(self) -> int:
        """How many records the log's signature vouches for, from the first on."""
        return max(point.size if point else 0 for point in (self.checkpoint, self.kept))


def verify_export(lines: Iterable[bytes], *, key: PublicKey, kept: bytes | None = None) -> Verdict:
    """Verifies a whole export; `lines` keep their line feeds, `kept` is the signed note of an earlier checkpoint.

    Refused: `receipts_broken` with the first bad place (`details["seq"]` where a record is to blame); `not_an_export`;
    `receipts_not_judged` (no receipts, or a kept checkpoint that is not this log's). Nothing else is raised.
    """
    verification = Verification(key=key, kept=kept)
    for line in lines:
        verification.feed(line)
    return verification.finish()


class Verification:
    """The same, one line at a time."""

    def __init__(self, *, key: PublicKey, kept: bytes | None = None) -> None:
        if key.kind != "Ed25519":
            raise Refused.because(NOT_JUDGED, "Checkpoints are signed with Ed25519, and this is another kind of key")
        self._key = key
        self._note = kept
        self._kept: SignedCheckpoint | None = None
        self._checkpoint: SignedCheckpoint | None = None
        self._checkpoints = 0
        self._header: export.Header | None = None
        self._end: export.End | None = None
        self._line = 0
        self._replay = Replay("")
        self._documents: Documents | None = None

    def feed(self, line: bytes) -> None:
        """Takes the next line. Refused: see `verify_export`."""
        self._line += 1
        if self._header is None:
            self._begin(export.read_header(line))
        elif self._end is not None:
            raise self._bad_line("it stands after the last line")
        elif line.startswith(RECORD_START) and line.endswith(b"}\n"):
            # What nearly every line is, spelled out for speed.
            self._take_record(line[len(RECORD_START) : -2])
        else:
            self._take(line)

    def finish(self) -> Verdict:
        """The verdict, after the last line. Refused: see `verify_export`."""
        if self._header is None:
            raise export.not_an_export()
        size = self._replay.size
        if self._end is None:
            raise broken("cut", "The export stops in the middle: its last line is missing", seq=size)
        if self._kept is not None and self._kept.size > size:
            what = f"The checkpoint you kept covers {self._kept.size} records, and this log ends after {size}"
            raise broken("cut", what, seq=size)
        if size == 0:
            raise Refused.because(NOT_JUDGED, "There are no receipts to verify", help="Nothing was receipted yet.")
        found = self._documents
        return Verdict(
            log=self._header.log,
            head=self._replay.head,
            records=size,
            disclosures=self._replay.sealed,
            checkpoint=self._checkpoint,
            kept=self._kept,
            evidence=found.count if found else 0,
            signed=found.signed if found else 0,
            absent=found.absent if found else 0,
        )

    def _begin(self, header: export.Header) -> None:
        self._header = header
        self._replay = Replay(header.log)
        self._documents = Documents() if header.evidence else None
        if self._note is not None:
            self._kept = self._verify_kept(self._note, header.log)
            self._compare_kept(self._kept)

    def _take_record(self, data: bytes) -> None:
        if self._documents is not None and self._documents.count:
            raise self._bad_line("a record stands after the evidence")
        wire = self._replay.take_record(data)
        if wire.links and self._documents is not None:
            self._documents.refer(wire.links)
        if self._kept is not None:
            self._compare_kept(self._kept)

    def _take(self, line: bytes) -> None:
        try:
            tag, data = export.cut_line(line)
            if tag == "disclosure":
                self._take_disclosure(data)
            elif tag == "checkpoint":
                self._take_checkpoint(export.read_checkpoint_line(data).encode())
            elif tag == "evidence":
                self._take_evidence(data)
            elif tag == "end":
                self._take_end(export.read_end(data))
            else:
                raise self._bad_line("it stands where no such line belongs")
        except Refused as wrong:
            if wrong.refusal.code == BROKEN:
                raise
            reason = "evidence" if wrong.refusal.code.startswith("evidence") else "line"
            raise self._bad_line(wrong.refusal.message, reason) from None

    def _take_disclosure(self, data: bytes) -> None:
        wire = self._replay.take_disclosure(data)
        if self._documents is not None:
            self._documents.refer(wire.links)

    def _take_checkpoint(self, note: bytes) -> None:
        point = verify_signed_checkpoint(note, log=self._replay.log, key=self._key)
        if point.size != self._replay.size:
            raise self._bad_line(f"a checkpoint of size {point.size} stands after {self._replay.size} records")
        if self._checkpoint is not None and self._checkpoint.size == point.size:
            raise self._bad_line("a second checkpoint of the same size")
        # Others may sign a checkpoint that stands alone; in an export nobody could check theirs.
        if note.rpartition(b"\n\n")[2].count(b"\n") != 1:
            raise self._bad_line("a checkpoint in an export has the log's signature alone")
        self._replay.compare(point, "The checkpoint")
        self._checkpoint = point
        self._checkpoints += 1

    def _take_evidence(self, data: bytes) -> None:
        self._replay.close()
        if self._documents is None:
            raise self._bad_line("the header says that this export is without evidence")
        self._documents.take(data)

    def _take_end(self, end: export.End) -> None:
        self._replay.close()
        count = 0
        if self._documents is not None:
            self._documents.close()
            count = self._documents.count
        found = export.End(
            checkpoints=self._checkpoints,
            disclosures=self._replay.sealed,
            evidence=count,
            records=self._replay.size,
        )
        if end != found:
            raise self._bad_line(f"it counts {_counts(end)}, and here are {_counts(found)}", "cut")
        self._end = end

    def _verify_kept(self, note: bytes, log: str) -> SignedCheckpoint:
        try:
            return verify_signed_checkpoint(note, log=log, key=self._key)
        except Refused as wrong:
            raise Refused.because(
                NOT_JUDGED,
                f"The checkpoint you kept cannot be held against the log {log}: {wrong.refusal.message}",
                help="Give a checkpoint of this log, and the key that signed it.",
            ) from None

    def _compare_kept(self, kept: SignedCheckpoint) -> None:
        if kept.size == self._replay.size:
            self._replay.compare(kept, "The checkpoint you kept")

    def _bad_line(self, what: str, reason: str = "line") -> Refused:
        return broken(reason, f"Line {self._line}: {what}", place=f"line {self._line}")


def _counts(end: export.End) -> str:
    return (
        f"{end.records} records, {end.disclosures} disclosures, {end.checkpoints} checkpoints "
        f"and {end.evidence} documents"
    )
