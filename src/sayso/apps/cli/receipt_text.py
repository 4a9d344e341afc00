"""Receipts and verdicts in words, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from sayso.core import b64u
from sayso.core.refusal import Refusal
from sayso.core.strictjson import JsonValue
from sayso.ledger.reading import DisclosureProof, RecordProof
from sayso.ledger.rules.checkpoint import SignedCheckpoint
from sayso.ledger.rules.record import Disclosure, Record, write_instant
from sayso.ledger.rules.verify import Verdict

__all__ = (
    "proof_facts",
    "receipt_line",
    "receipt_text",
    "refusal_facts",
    "refusal_text",
    "verdict_facts",
    "verdict_text",
)

LAST_LINE = "receipts: {count} verified, chain intact"


def receipt_line(record: Record) -> str:
    """One receipt in a list."""
    facts = " ".join(f"{name}={value}" for name, value in record.body.items() if isinstance(value, str | int))
    return f"{record.seq:>6}  {_when(record.at)}  {record.kind:<20} {record.actor}  {facts}".rstrip()


def receipt_text(receipt: Record | Disclosure) -> str:
    """One receipt in full."""
    what = f"record {receipt.seq}" if isinstance(receipt, Record) else f"disclosure {receipt.number}"
    return "\n".join((f"{what} of {receipt.log}", *(f"  {name:<9} {value}" for name, value in _members(receipt))))


def verdict_text(verdict: Verdict) -> str:
    """What was verified and what that rests on; the last line is the one that scripts look for."""
    lines = [
        f"log         {verdict.log}",
        f"records     {verdict.records}, and {verdict.disclosures} sealed disclosures",
    ]
    lines += [f"checkpoint  {_checkpoint(verdict)}"]
    if verdict.kept is not None:
        lines.append(f"kept        {_point(verdict.kept)}; this log is consistent with it")
    if verdict.evidence or verdict.absent:
        lines.append(
            f"evidence    {verdict.evidence} documents, the signatures of {verdict.signed} verified; "
            f"{verdict.absent} more are referred to by hash only"
        )
    return "\n".join((*lines, LAST_LINE.format(count=verdict.receipts)))


def verdict_facts(verdict: Verdict) -> dict[str, JsonValue]:
    """The same for programs."""
    return {
        "intact": True,
        "receipts": verdict.receipts,
        "log": verdict.log,
        "records": verdict.records,
        "disclosures": verdict.disclosures,
        "head": verdict.head,
        "covered": verdict.covered,
        "checkpoint": _point_facts(verdict.checkpoint),
        "kept": _point_facts(verdict.kept),
        "evidence": {"documents": verdict.evidence, "signed": verdict.signed, "absent": verdict.absent},
    }


def refusal_text(refusal: Refusal, *, is_broken: bool) -> str:
    """The first bad place, or why nothing could be judged."""
    if is_broken:
        return f"receipts: NOT intact, {refusal.place}: {refusal.message}"
    hint = f" {refusal.help}" if refusal.help else ""
    return f"receipts: not judged. {refusal.message}.{hint}"


def refusal_facts(refusal: Refusal, *, is_broken: bool) -> dict[str, JsonValue]:
    """The same for programs; `intact` is null where nothing could be judged."""
    return {
        "intact": False if is_broken else None,
        "code": refusal.code,
        "reason": refusal.reason,
        "place": refusal.place,
        "seq": refusal.details.get("seq"),
        "message": refusal.message,
    }


def proof_facts(proof: DisclosureProof | RecordProof) -> Mapping[str, JsonValue]:
    """An inclusion proof, hashes in hexadecimal."""
    path = [step.hex() for step in proof.path]
    if isinstance(proof, DisclosureProof):
        return {"sealed_by": proof.sealed_by, "index": proof.index, "size": proof.size, "path": path}
    return {"seq": proof.seq, "size": proof.size, "path": path}


def _members(receipt: Record | Disclosure) -> Iterator[tuple[str, object]]:
    yield "kind", receipt.kind
    yield "at", write_instant(receipt.at)
    yield "actor", receipt.actor
    for name, value in (
        ("article", receipt.article),
        ("inputs", receipt.inputs_sha256),
        ("output", receipt.output_sha256),
    ):
        if value is not None:
            yield name, value
    for link in receipt.links:
        yield "link", f"{link.role} {link.sha256}"
    for key, fact in receipt.body.items():
        yield "fact", f"{key} = {fact}"
    if isinstance(receipt, Record):
        yield "prev", b64u.encode(receipt.prev)
        yield "hash", b64u.encode(receipt.hash)


def _checkpoint(verdict: Verdict) -> str:
    if verdict.checkpoint is None:
        return "none: the chain is whole in itself, but no signature shows where it ends or that it was not rewritten"
    after = verdict.records - verdict.checkpoint.size
    return f"{_point(verdict.checkpoint)}; {after or 'no'} record{'' if after == 1 else 's'} came after it"


def _point(point: SignedCheckpoint) -> str:
    return f"size {point.size}, signed {_when(point.at)}"


def _point_facts(point: SignedCheckpoint | None) -> dict[str, JsonValue] | None:
    return None if point is None else {"size": point.size, "at": write_instant(point.at), "root": point.root.hex()}


def _when(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}Z"
