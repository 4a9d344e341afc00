"""Keeping evidence: the documents that receipts refer to by hash, by content, once a log (GTW-052)."""

from __future__ import annotations

from sqlalchemy import bindparam, select

from sayso.core import b64u
from sayso.core.refusal import Misuse
from sayso.ledger.rules.evidence import KEY_SET, describe
from sayso.store.statements import insert, statement
from sayso.store.tables.ledger import ledger_evidence
from sayso.store.unit import Unit

__all__ = ("put_evidence",)

_e = ledger_evidence.c
_TYPE = statement(select(_e.media_type).where(_e.log == bindparam("log"), _e.sha256 == bindparam("sha256")))
_INSERT = statement(insert(ledger_evidence).on_conflict_do_nothing())


def put_evidence(unit: Unit, log: str, media_type: str, data: bytes, *, verified_by: str | None = None) -> str:
    """Keeps a document that a receipt of this unit refers to; the same bytes are kept once. Returns its SHA-256.

    `verified_by` is the hash of the key set that verifies a signed document; the key set is kept before it. Whether the
    signature holds was decided by the caller: here only the shape is looked at, and `verify` looks again.
    Refused: `malformed_evidence`. Misuse: a media type other than the bytes', or a key set that is not there.
    """
    document = describe(data, verified_by=verified_by)
    if document.media_type != media_type:
        raise Misuse(f"these bytes are {document.media_type}, not {media_type}")
    key_set = None if verified_by is None else b64u.decode(verified_by)
    if key_set is not None and unit.one(_TYPE, {"log": log, "sha256": key_set}) != (KEY_SET,):
        raise Misuse("keep the key set before the document it verifies")
    unit.execute(
        _INSERT,
        {
            "log": log,
            "sha256": b64u.decode(document.sha256),
            "media_type": media_type,
            "typ": document.typ,
            "verified_by": key_set,
            "data": data,
        },
    )
    return document.sha256
