"""The lines of an export, from one consistent view of the store (GTW-052).

Read in pages, so that a long log is never in memory whole; only the hashes that receipts refer to are, where evidence
is asked for. Disclosures that still wait for their seal are not in an export: nothing signed or chained holds them yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import bindparam, select

from sayso.core import b64u
from sayso.core.refusal import Corrupt, Refused
from sayso.ledger import heads
from sayso.ledger.reading import PAGE, disclosure_data, record_data
from sayso.ledger.rules import export
from sayso.ledger.rules.evidence import KEY_SET, Evidence
from sayso.ledger.rules.wire import read_wire
from sayso.store.statements import statement
from sayso.store.tables.ledger import ledger_batch, ledger_checkpoint, ledger_evidence
from sayso.store.unit import Reading

__all__ = ("export_lines",)

_b, _c, _e = ledger_batch.c, ledger_checkpoint.c, ledger_evidence.c
_BATCHES = statement(
    select(_b.seq, _b.first, _b.size).where(
        _b.log == bindparam("log"), _b.seq >= bindparam("first"), _b.seq < bindparam("end")
    )
)
_NOTES = statement(
    select(_c.size, _c.note).where(
        _c.log == bindparam("log"), _c.size > bindparam("first"), _c.size <= bindparam("end")
    )
)
_EVIDENCE = statement(
    select(_e.sha256, _e.media_type, _e.verified_by).where(_e.log == bindparam("log")).order_by(_e.sha256)
)
_DOCUMENT = statement(
    select(_e.media_type, _e.typ, _e.verified_by, _e.data).where(
        _e.log == bindparam("log"), _e.sha256 == bindparam("sha256")
    )
)


def export_lines(view: Reading, log: str, *, with_evidence: bool) -> Iterator[bytes]:
    """Every line, in the order that `rules.export` fixes.

    Rows that are damaged or missing are not looked for here: what is there is written as it is, the last line counts
    what should be there, and the verifier names the first bad place.
    """
    head = heads.read_head(view, log)
    size = head.tip.size
    links: set[str] = set()
    documents = checkpoints = 0
    yield export.write_header(log, with_evidence=with_evidence)
    for start in range(0, size, PAGE):
        for line, data in _page(view, log, start, min(start + PAGE, size)):
            checkpoints += not data
            if with_evidence:
                links.update(_links(data))
            yield line
    if with_evidence:
        for digest in _wanted(view, log, links):
            documents += 1
            yield export.write_evidence(_document(view, log, digest))
    yield export.write_end(
        export.End(checkpoints=checkpoints, disclosures=head.sealed, evidence=documents, records=size)
    )


def _page(view: Reading, log: str, start: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    """Lines of some records and what belongs around each; with every line, the receipt in it, or nothing."""
    span = {"log": log, "first": start, "end": end}
    batches = {seq: (first, size) for seq, first, size in view.all(_BATCHES, span)}
    notes = {size: bytes(note) for size, note in view.all(_NOTES, span)}
    for seq, record in record_data(view, log, start, end):
        first, size = batches.get(seq, (0, 0))
        for leaf in disclosure_data(view, log, first, first + size) if size else ():
            yield export.write_disclosure_line(leaf), leaf
        yield export.write_record_line(record), record
        if seq + 1 in notes:
            yield export.write_checkpoint_line(notes[seq + 1].decode()), b""


def _links(data: bytes) -> set[str]:
    try:
        return {link.sha256 for link in read_wire(data).links} if data else set()
    except Refused:
        # A damaged receipt is exported as it is, for the verifier to name.
        return set()


def _wanted(view: Reading, log: str, links: set[str]) -> list[bytes]:
    """Hashes of the evidence that these links refer to, and of the key sets that verify it: key sets first."""
    rows = [
        (bytes(digest), media_type, by and bytes(by)) for digest, media_type, by in view.all(_EVIDENCE, {"log": log})
    ]
    linked = {digest for digest, _, _ in rows if b64u.encode(digest) in links}
    needed = linked | {by for digest, _, by in rows if by and digest in linked}
    return [digest for digest, media_type, _ in rows if digest in needed and media_type == KEY_SET] + [
        digest for digest, media_type, _ in rows if digest in needed and media_type != KEY_SET
    ]


def _document(view: Reading, log: str, digest: bytes) -> Evidence:
    row = view.one(_DOCUMENT, {"log": log, "sha256": digest})
    if row is None:
        raise Corrupt("evidence is missing", log)
    media_type, typ, by, data = row
    return Evidence(
        data=bytes(data),
        media_type=media_type,
        sha256=b64u.encode(digest),
        typ=typ,
        verified_by=None if by is None else b64u.encode(bytes(by)),
    )
