"""Who is who: principals by key thumbprint, hosts by id and vouching domain, keys as closed JWKs (spec section 3).

SCH-016, SCH-019, SCH-028, SCH-046. Verifying that a domain really vouches for a host is discovery's work.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sayso.core import b64u
from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue
from sayso.proof.keys import PRIVATE_MEMBERS, PublicKey
from sayso.scheduling.terms.wire import whole

__all__ = (
    "Jwk",
    "bare_id",
    "is_principal",
    "jwk_of",
    "principal_urn",
    "public_key",
    "refuse_private_parts",
    "vouching_domain",
)

_PREFIX = "urn:schcp:principal:jwk-thumbprint:"
_THUMBPRINT_BYTES = 32
_HOST_NAME = re.compile(r"([a-z0-9-]+)@([a-z0-9.-]+)")


Coordinate = Annotated[str, Meta(pattern=whole("[A-Za-z0-9_-]{43}"))]
"""32 bytes as canonical base64url."""


class Jwk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A public key: Ed25519 (`OKP`) or P-256 (`EC`). A private part is an unknown member and so refused (SCH-019)."""

    kty: Literal["OKP", "EC"]
    crv: Literal["Ed25519", "P-256"]
    x: Coordinate
    y: Coordinate | None = None


@lru_cache(maxsize=1024)
def public_key(jwk: Jwk) -> PublicKey:
    """The key a JWK spells. Refused when its coordinates are not canonical or not on the curve."""
    members = {"kty": jwk.kty, "crv": jwk.crv, "x": jwk.x}
    if jwk.y is not None:
        members["y"] = jwk.y
    return PublicKey.from_jwk(members)


def refuse_private_parts(value: JsonValue) -> None:
    """That no object at any depth is a key with its private part present. Refused: private_key_received (SCH-019)."""
    pending: list[JsonValue] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            continue  # most of what there is, and quicker told than that it is no mapping
        if isinstance(item, Mapping):
            if "kty" in item and not PRIVATE_MEMBERS.isdisjoint(item):
                raise Refused.because("private_key_received", "A key arrived with its private part.")
            pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)


def jwk_of(key: PublicKey) -> Jwk:
    """The closed JWK of a key, coordinates canonical."""
    return msgspec.convert(key.jwk(), Jwk)


def principal_urn(key: PublicKey) -> str:
    """`urn:schcp:principal:jwk-thumbprint:<thumbprint>` (SCH-016)."""
    return _PREFIX + key.thumbprint


def is_principal(urn: str) -> bool:
    """Whether a key could have this id, which its form alone does not say: 32 bytes have one spelling."""
    try:
        return len(b64u.decode(urn.removeprefix(_PREFIX))) == _THUMBPRINT_BYTES
    except Refused:
        return False


def _split(host: str) -> tuple[str, str]:
    match = _HOST_NAME.fullmatch(host)
    if match is None:
        raise Refused.because("schema_invalid", f"{host!r} is not a host name", help="Write it as id@domain.")
    return match[1], match[2]


def bare_id(host: str) -> str:
    """`maple-street-auto` of `maple-street-auto@maplestreetauto.example`."""
    return _split(host)[0]


def vouching_domain(host: str) -> str:
    """`maplestreetauto.example` of `maple-street-auto@maplestreetauto.example`."""
    return _split(host)[1]
