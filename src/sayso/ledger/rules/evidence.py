"""Evidence: the documents that receipts refer to by hash, kept whole so that their signatures can be checked later.

What a document is follows from its bytes alone, and the media type stated beside it must say the same. Otherwise
changing that one word in an export would turn a signed document into text that nobody verifies.

    application/jose            a compact JWS; it names its `typ` and the key set that verifies it
    application/jwk-set+json    a JSON object with `keys`
    application/json            any other JSON object or array
    text/plain; charset=utf-8   any other text
    application/octet-stream    the rest

A verified signature says that a key of that set signed the document, and the chain says which documents were relied
on. Whose keys they are and what a document means is decided where it is used, before it is receipted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.ledger.rules.wire import Hash
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import Header, read_jws, verify_jws
from sayso.proof.keys import PublicKey

__all__ = (
    "JSON",
    "KEY_SET",
    "MAX_EVIDENCE",
    "OCTETS",
    "SIGNED",
    "TEXT",
    "Evidence",
    "KeySet",
    "describe",
    "read_key_set",
    "verify_evidence",
)

SIGNED = "application/jose"
KEY_SET = "application/jwk-set+json"
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
OCTETS = "application/octet-stream"
MAX_EVIDENCE = 262_144

KeySet = Sequence[tuple[str | None, PublicKey]]
"""The usable keys of a set, each with its `kid`."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One document. `sha256` is over `data`; `verified_by` is the hash of the key set that verifies a signed one."""

    data: bytes
    media_type: str
    sha256: Hash
    typ: str | None = None
    verified_by: Hash | None = None


def describe(data: bytes, *, verified_by: str | None = None) -> Evidence:
    """A document with everything that follows from its bytes.

    Refused: `malformed_evidence` with reason `empty`, `too_long` or `verified_by` (a signed document without a key
    set, or another with one).
    """
    if not data:
        raise _malformed("empty", "an empty document proves nothing")
    if len(data) > MAX_EVIDENCE:
        raise _malformed("too_long", f"a document is longer than {MAX_EVIDENCE} bytes")
    header = _signed_header(data)
    if (header is None) != (verified_by is None):
        raise _malformed("verified_by", "a signed document, and no other, names the key set that verifies it")
    return Evidence(
        data=data,
        media_type=SIGNED if header else _media_type(data),
        sha256=sha256_b64u(data),
        typ=header.typ if header else None,
        verified_by=verified_by,
    )


def verify_evidence(stated: Evidence, key_sets: Mapping[str, KeySet]) -> Evidence:
    """The document, if its bytes are what is stated and its signature holds; `key_sets` are those seen before it.

    Refused: `evidence_broken` with reason `changed` (the bytes are not what was stated), `key_set` (not there) or
    `signature`.
    """
    try:
        found = describe(stated.data, verified_by=stated.verified_by)
    except Refused as wrong:
        raise _broken("changed", wrong.refusal.message) from None
    if found != stated:
        raise _broken("changed", "its bytes are not what is stated beside them")
    if found.verified_by is not None:
        if found.verified_by not in key_sets:
            raise _broken("key_set", f"the key set {found.verified_by} is not there")
        _verify_signature(found, key_sets[found.verified_by])
    return found


def read_key_set(data: bytes) -> KeySet:
    """The keys of a JWK set that we can verify with; foreign kinds are passed over, as RFC 7517 section 5 asks.

    Refused: `malformed_json`, `schema_invalid`.
    """
    found: list[tuple[str | None, PublicKey]] = []
    for jwk in strictjson.decode(data, _JwkSet).keys:
        kid = jwk.get("kid")
        try:
            found.append((kid if isinstance(kid, str) else None, PublicKey.from_jwk(jwk)))
        except Refused:
            continue
    return found


class _JwkSet(msgspec.Struct):
    keys: list[dict[str, Any]]


def _is_key_set(value: strictjson.JsonValue) -> bool:
    keys = value.get("keys") if isinstance(value, dict) else None
    return isinstance(keys, list) and all(isinstance(key, dict) and "kty" in key for key in keys)


def _verify_signature(document: Evidence, keys: KeySet) -> None:
    token, typ = document.data.decode("ascii"), document.typ or ""
    header = read_jws(token).header
    # RFC 7515 4.1.4: a kid is a hint. Where it names no key of the set, the thumbprint may; without one, all are tried.
    chosen = [key for kid, key in keys if header.kid in (None, kid, key.thumbprint)]
    for key in chosen:
        try:
            verify_jws(token, typ=typ, key=key, claims=dict)
        except Refused:
            continue
        return
    raise _broken("signature", "no key of the key set it names has signed it")


def _signed_header(data: bytes) -> Header | None:
    try:
        return read_jws(data.decode("ascii")).header
    except (UnicodeDecodeError, Refused):
        return None


def _media_type(data: bytes) -> str:
    if data[:1] in (b"{", b"["):
        try:
            value = strictjson.parse(data)
        except Refused:
            pass
        else:
            return KEY_SET if _is_key_set(value) else JSON
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return OCTETS
    return TEXT


def _malformed(reason: str, message: str) -> Refused:
    return Refused.because("malformed_evidence", f"This is no evidence: {message}", reason=reason)


def _broken(reason: str, message: str) -> Refused:
    return Refused.because("evidence_broken", message, reason=reason)
