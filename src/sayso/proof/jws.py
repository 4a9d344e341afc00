"""Signed documents: compact JWS in one narrow profile (SCH-022, SCH-023, SCH-024, SCH-170).

The token's bytes are the contract, so there is one spelling: three parts of canonical base64url, no padding. The header
is closed to `alg`, `typ` and `kid`; with that, `crit`, `b64`, `jwk`, `jku`, `x5u`, `x5c` and every extension are
refused before anything else is looked at. `alg` never chooses: it must be the one of the key that the caller trusts,
`EdDSA` for Ed25519 and `ES256` for P-256. `typ` keeps a receipt from standing in for an offer. The payload is read only
after the signature holds, strictly, into a closed Struct.

Not checked here: whose key it is, times, audience and what the claims mean; that is each document's own business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Generic, TypeVar

import msgspec

from sayso.core import b64u, strictjson
from sayso.core.refusal import Misuse, Refused
from sayso.proof.hashes import sha256_b64u
from sayso.proof.keys import PrivateKey, PublicKey

__all__ = (
    "MAX_TOKEN",
    "Header",
    "Unverified",
    "Verified",
    "read_jws",
    "sign_jws",
    "verify_jws",
    "verify_payload",
)

T = TypeVar("T")

MAX_TOKEN = 64 * 1024
"""Characters in the longest token that is looked at."""

_SHAPE = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_HEADER_DEPTH = 4
_MEDIA_PREFIX = "application/"


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The whole header: nothing else may stand in it."""

    alg: str
    typ: str
    kid: str | None = None


@dataclass(frozen=True, slots=True)
class Unverified:
    """A token of the right shape. Nobody has vouched for a word of it."""

    header: Header
    payload: bytes
    signature: bytes
    signed: bytes
    """What the signature covers: the first two parts and their dot, in ASCII."""


@dataclass(frozen=True)
class Verified(Generic[T]):
    """A token that `verify_jws` accepted, with its claims read."""

    header: Header
    claims: T
    token: str

    @cached_property
    def sha256(self) -> str:
        """Base64url of SHA-256 over the token's ASCII bytes: the name others agree to it by."""
        return sha256_b64u(self.token)


def sign_jws(
    claims: bytes | msgspec.Struct | Mapping[str, object], key: PrivateKey, *, typ: str, kid: str | None = None
) -> str:
    """The compact token; bytes are signed as they are, anything else in its compact JSON."""
    payload = claims if isinstance(claims, bytes) else strictjson.encode(claims)
    signed = f"{_write_header(key.public.algorithm, typ, kid)}.{b64u.encode(payload)}"
    token = f"{signed}.{b64u.encode(key.sign(signed.encode('ascii')))}"
    if len(token) > MAX_TOKEN:
        raise Misuse("a document is too long to be read by anyone")
    return token


def read_jws(token: str) -> Unverified:
    """Looks at the shape only, to learn which key and which kind of document a token claims.

    Raises `Refused("malformed_token")` with reason too_long, shape, base64url, header_json (not strict JSON) or
    header_member (one that is missing, of the wrong type or beyond alg, typ and kid).
    """
    if len(token) > MAX_TOKEN:
        raise _malformed("too_long", f"a token has at most {MAX_TOKEN} characters")
    parts = _SHAPE.fullmatch(token)
    if parts is None:
        raise _malformed("shape", "a token is three parts of base64url joined by dots")
    try:
        head, payload, signature = (b64u.decode(part) for part in parts.groups())
    except Refused:
        raise _malformed("base64url", "a part of the token is not canonical base64url") from None
    return Unverified(_read_header(head), payload, signature, token[: parts.end(2)].encode("ascii"))


def verify_jws(token: str, *, typ: str, key: PublicKey | Callable[[Header], PublicKey], claims: type[T]) -> Verified[T]:
    """Verifies a token and reads its claims.

    `key` is the key, or chooses it by the header's `kid` and raises its own refusal. In this order, the first failure
    wins: what `read_jws` raises; `Refused("wrong_typ")`; whatever `key` raises; `Refused("alg_not_allowed")`;
    `Refused("bad_signature")`; `Refused("malformed_token")` with reason payload_json or payload_claims and the place
    in the payload.
    """
    seen = read_jws(token)
    return Verified(seen.header, _read_claims(verify_payload(seen, typ=typ, key=key), claims), token)


def verify_payload(seen: Unverified, *, typ: str, key: PublicKey | Callable[[Header], PublicKey]) -> bytes:
    """The payload of a token that was looked at before, because its key stands in it; raises as `verify_jws`."""
    if _media_type(seen.header.typ) != _media_type(typ):
        raise Refused.because("wrong_typ", f"this is not a {typ}", place="typ")
    trusted = key if isinstance(key, PublicKey) else key(seen.header)
    if seen.header.alg != trusted.algorithm:
        raise Refused.because("alg_not_allowed", f"this key signs with {trusted.algorithm}", place="alg")
    trusted.verify(seen.signature, seen.signed)
    return seen.payload


@lru_cache(maxsize=256)
def _write_header(alg: str, typ: str, kid: str | None) -> str:
    return b64u.encode(strictjson.encode(Header(alg=alg, typ=typ, kid=kid)))


@lru_cache(maxsize=256)
def _read_header(data: bytes) -> Header:
    try:
        return strictjson.decode(data, Header, depth=_HEADER_DEPTH)
    except Refused as refused:
        inner = refused.refusal
        reason = "header_member" if inner.code == "schema_invalid" else "header_json"
        raise _malformed(reason, f"header: {inner.message}", place=inner.place) from None


def _read_claims(data: bytes, claims: type[T]) -> T:
    try:
        return strictjson.decode(data, claims)
    except Refused as refused:
        inner = refused.refusal
        reason = "payload_claims" if inner.code == "schema_invalid" else "payload_json"
        raise _malformed(reason, f"payload: {inner.message}", place=inner.place) from None


def _media_type(typ: str) -> str:
    """RFC 7515 4.1.9: compared without case, and `application/` may be left out when no other slash follows."""
    name = typ.lower() if typ.isascii() else typ  # a Kelvin sign in lower case is a k
    short = name.removeprefix(_MEDIA_PREFIX)
    return name if "/" in short else short


def _malformed(reason: str, message: str, place: str | None = None) -> Refused:
    return Refused.because("malformed_token", message, reason=reason, place=place)
