"""A log made from the rules alone, without a store, whose truth a test edits: lines go in and out as lists."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sayso.core.strictjson import encode
from sayso.ledger.rules import export
from sayso.ledger.rules.batch import seal_draft
from sayso.ledger.rules.chain import START, extend
from sayso.ledger.rules.checkpoint import sign_checkpoint
from sayso.ledger.rules.evidence import Evidence, describe
from sayso.ledger.rules.record import Draft, Link, Record, write_disclosure
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey

START_AT = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)
KEY = PrivateKey.from_seed(b"l" * 32)
OTHER_KEY = PrivateKey.from_seed(b"o" * 32)
SIGNER = PrivateKey.from_seed(b"s" * 32)
LOG = "maple.example/log"

KEY_SET = describe(encode({"keys": [{**SIGNER.public.jwk(), "kid": "one"}]}))
SIGNED = describe(
    sign_jws({"limit": "100.00"}, SIGNER, typ="mandate+jwt", kid="one").encode(), verified_by=KEY_SET.sha256
)
TEXT = describe(b"Book the oil change for CAD 89.27?")


def lines_of(path: Path) -> list[bytes]:
    """An export's lines, with their line feeds."""
    return path.read_bytes().splitlines(keepends=True)


def draft(number: int = 0, *links: Link) -> Draft:
    """One plausible receipt."""
    return Draft(
        kind="act.done",
        actor="agent:planner",
        article="II",
        inputs_sha256=TEXT.sha256,
        links=links,
        body={"act": "hold_slot", "call": f"c_{number}"},
    )


class PureLog:
    """Keeps the lines of an export as it grows."""

    def __init__(self, log: str = LOG, key: PrivateKey = KEY, *, evidence: bool = True) -> None:
        self.log, self.key, self.evidence = log, key, evidence
        self.tip = START
        self.records: list[Record] = []
        self.sealed = 0
        self.notes: list[bytes] = []
        self.documents: list[bytes] = []
        self.body: list[bytes] = []

    @property
    def now(self) -> datetime:
        return START_AT + timedelta(seconds=self.tip.size)

    def append(self, *drafts: Draft) -> None:
        for each in drafts:
            record, self.tip = extend(self.tip, each, log=self.log, at=self.now)
            self.records.append(record)
            self.body.append(export.write_record_line(record.data))

    def batch(self, drafts: Iterable[Draft]) -> None:
        leaves = [
            write_disclosure(each, log=self.log, at=self.now, number=self.sealed + index).data
            for index, each in enumerate(drafts)
        ]
        self.body += map(export.write_disclosure_line, leaves)
        self.append(seal_draft(self.sealed, leaves))
        self.sealed += len(leaves)

    def checkpoint(self) -> bytes:
        self.notes.append(sign_checkpoint(self.tip, log=self.log, at=self.now, key=self.key))
        self.body.append(export.write_checkpoint_line(self.notes[-1].decode()))
        return self.notes[-1]

    def keep(self, *documents: Evidence) -> None:
        self.documents += map(export.write_evidence, documents)

    def lines(self) -> list[bytes]:
        end = export.End(
            checkpoints=len(self.notes),
            disclosures=self.sealed,
            evidence=len(self.documents),
            records=self.tip.size,
        )
        head = export.write_header(self.log, with_evidence=self.evidence)
        return [head, *self.body, *self.documents, export.write_end(end)]


def full_log() -> PureLog:
    """Twelve records, two batches of disclosures, two checkpoints (one at the end) and evidence."""
    log = PureLog()
    log.append(*(draft(number) for number in range(3)))
    log.batch(draft(number) for number in range(100, 105))
    log.append(draft(3, Link("mandate", SIGNED.sha256), Link("text", TEXT.sha256)))
    log.checkpoint()
    log.append(*(draft(number) for number in range(4, 8)))
    log.batch(draft(number) for number in range(105, 108))
    log.append(draft(8), draft(9))
    log.checkpoint()
    log.keep(KEY_SET, SIGNED, TEXT)
    return log
