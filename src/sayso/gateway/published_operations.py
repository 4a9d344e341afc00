"""The published addresses as the house's description lists them (GTW-052)."""

from __future__ import annotations

from typing import Any

from sayso.gateway.operation import Operation, Parameter, Shape
from sayso.gateway.pages import PublicFailure
from sayso.gateway.published import BASE, LINES, NOTE, ConsistencyProof, DisclosureProof, RecordProof

__all__ = ("OPERATIONS",)

_DENIALS = (400, 403, 404, 413, 429)
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 999_999_999_999_999}


def _get(id_: str, path: str, summary: str, answer: Shape, *parameters: Parameter) -> Operation:
    return Operation(
        id=id_,
        method="GET",
        path=BASE + path,
        summary=summary,
        answers={200: (answer,)},
        failure=PublicFailure,
        denials=_DENIALS,
        parameters=parameters,
        needs_key=False,
    )


def _count(name: str, where: Any, description: str, *, required: bool = True) -> Parameter:
    return Parameter(name=name, where=where, schema=_COUNT, description=description, required=required)


OPERATIONS = (
    _get("receiptKey", "/key", "The log's public key", NOTE),
    _get("receiptCheckpoint", "/checkpoint", "The newest signed checkpoint", NOTE),
    _get("receiptExport", "/export", "The whole log, to be verified by anybody", LINES),
    _get(
        "receiptProof",
        "/records/{seq}/proof",
        "A record and its inclusion",
        RecordProof,
        _count("seq", "path", "The record's place"),
        _count("size", "query", "Among so many records", required=False),
    ),
    _get(
        "receiptDisclosure",
        "/disclosures/{number}/proof",
        "A disclosure and its inclusion in its batch",
        DisclosureProof,
        _count("number", "path", "The disclosure's number"),
    ),
    _get(
        "receiptConsistency",
        "/consistency",
        "That the log of one size begins that of another",
        ConsistencyProof,
        _count("from", "query", "The smaller size"),
        _count("to", "query", "The larger size"),
    ),
)
"""Every published operation."""
