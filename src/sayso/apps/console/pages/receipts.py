"""Receipts: records and disclosures page by page, each in full with its proof, and the log verified on request."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from sayso.apps.console.visit import Visit
from sayso.core import b64u
from sayso.core.refusal import Corrupt, Refusal, Refused
from sayso.ledger.ledger import Ledger
from sayso.ledger.reading import DisclosureProof, RecordProof
from sayso.ledger.rules.kinds import KINDS
from sayso.ledger.rules.record import Disclosure, Record
from sayso.ledger.rules.verify import BROKEN
from sayso.proof.merkle import leaf_hash

__all__ = ("show_disclosure", "show_disclosures", "show_record", "show_records", "verify")

_PAGE = 25
_SCANNED = 1000
_LONGEST_SCAN = 20_000
"""How many records a search for one kind looks through at a time, and at most for one page."""


async def show_records(visit: Visit) -> Response:
    """Chained records, newest first; `kind` narrows to those whose kind begins so."""
    ledger = visit.desk.ledger
    standing = await ledger.standing()
    end = min(visit.number("before", otherwise=standing.records), standing.records)
    kind = visit.query("kind", longest=64)
    rows, older = await _newest(ledger, end, kind)
    values: dict[str, Any] = {
        "rows": rows,
        "older": older,
        "standing": standing,
        "kind": kind,
        "kinds": KINDS,
        "what": "records",
    }
    return visit.show("receipts_rows.html" if visit.is_part else "receipts.html", **values)


async def _newest(ledger: Ledger, end: int, kind: str) -> tuple[Sequence[Record], int]:
    """Up to a page of records below `end`, newest first, and where the next page ends; 0 where nothing is older."""
    found: list[Record] = []
    size = _SCANNED if kind else _PAGE
    least = max(0, end - _LONGEST_SCAN)
    while end > least:
        first = max(least, end - size)
        for record in reversed(await ledger.records(first, end)):
            if record.kind.startswith(kind):
                found.append(record)
                if len(found) == _PAGE:
                    return found, record.seq
        end = first
    return found, end


async def show_disclosures(visit: Visit) -> Response:
    """Disclosures, newest first, sealed or still waiting for their batch."""
    ledger = visit.desk.ledger
    standing = await ledger.standing()
    count = standing.sealed + standing.waiting
    end = min(visit.number("before", otherwise=count), count)
    first = max(0, end - _PAGE)
    rows = list(reversed(await ledger.disclosures(first, end)))
    values: dict[str, Any] = {
        "rows": rows,
        "older": first,
        "standing": standing,
        "kind": "",
        "kinds": KINDS,
        "what": "disclosures",
    }
    return visit.show("receipts_rows.html" if visit.is_part else "receipts.html", **values)


async def show_record(visit: Visit) -> Response:
    """One record in full, with its place in the tree of all."""
    number = _number(visit)
    found = await visit.desk.ledger.records(number, number + 1)
    if not found:
        raise _no_such(number)
    proof = await visit.desk.ledger.prove_record(number)
    return visit.show("receipt.html", receipt=found[0], facts=_facts(found[0]), proof=_proof(found[0], proof))


async def show_disclosure(visit: Visit) -> Response:
    """One disclosure in full, with its place in its batch once that is sealed."""
    number = _number(visit)
    found = await visit.desk.ledger.disclosures(number, number + 1)
    if not found:
        raise _no_such(number)
    proof: DisclosureProof | None = None
    try:
        proof = await visit.desk.ledger.prove_disclosure(number)
    except Refused as waiting:
        if waiting.refusal.code != "no_such_receipt":
            raise
    return visit.show(
        "receipt.html",
        receipt=found[0],
        facts=_facts(found[0]),
        proof=None if proof is None else _proof(found[0], proof),
    )


async def verify(visit: Visit) -> Response:
    """Every hash, link, batch and signature of the log recomputed now, with the published key alone."""
    desk = visit.desk
    try:
        verdict, broken = await desk.ledger.verify(desk.ledger_key), None
    except Refused as failed:
        verdict, broken = None, failed.refusal
    except Corrupt as failed:
        verdict, broken = None, Refusal(code=BROKEN, message=f"{failed}")
    values: dict[str, Any] = {
        "verdict": verdict,
        "broken": broken,
        "is_broken": broken is not None and broken.code == BROKEN,
    }
    return visit.show("receipts_verdict.html" if visit.is_part else "receipts_verify.html", **values)


def _facts(receipt: Record | Disclosure) -> Sequence[tuple[str, str]]:
    """Name and value of each member a person may look up; the meaning of the kind stands first."""
    facts = [("Means", KINDS.get(receipt.kind, "A kind that this version does not know"))]
    for name, value in (
        ("Article", receipt.article),
        ("Received, SHA-256", receipt.inputs_sha256),
        ("Sent, SHA-256", receipt.output_sha256),
    ):
        if value is not None:
            facts.append((name, value))
    facts += [(f"Rests on: {link.role.replace('_', ' ')}", link.sha256) for link in receipt.links]
    facts += [(name.replace("_", " "), f"{value}") for name, value in receipt.body.items()]
    if isinstance(receipt, Record):
        facts += [("Hash of the record before", b64u.encode(receipt.prev)), ("Hash", b64u.encode(receipt.hash))]
    return facts


def _proof(receipt: Record | Disclosure, proof: RecordProof | DisclosureProof) -> Mapping[str, object]:
    place = proof.seq if isinstance(proof, RecordProof) else proof.index
    return {
        "leaf": leaf_hash(receipt.data).hex(),
        "place": place,
        "size": proof.size,
        "path": [step.hex() for step in proof.path],
        "sealed_by": proof.sealed_by if isinstance(proof, DisclosureProof) else None,
    }


def _number(visit: Visit) -> int:
    """Which receipt. Refused: `no_such_receipt` for what no log counts up to, and for what is no number."""
    typed = visit.passed("number")
    if not re.fullmatch(r"[0-9]{1,15}", typed):
        raise _no_such(typed[:20])
    return int(typed)


def _no_such(number: int | str) -> Refused:
    return Refused.because("no_such_receipt", f"There is no receipt {number}", help="Look in the list.")
