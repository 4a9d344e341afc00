"""Ed25519 and P-256 keys: made, read from a JWK, named by their thumbprint, used to sign and to verify.

A key that arrives is read into coordinates and written again before anything is compared, so one key has one name
(RFC 7638, SCH-016, SCH-017). Decided here: a received JWK may hold kty, crv, x, y, kid, use and alg and nothing else; a
private member is refused under a code of its own (SCH-019); `alg` must be the one of the curve and `use` say signing,
in RFC 7517's word `sig` or in the words of a published key, `sign` and `verify`. An Ed25519 key whose point is not
written canonically, or is one of the eight of small order, is refused: under those, one signature fits many messages.
P-256 signatures are raw r||s, 64 bytes, and either of the two equivalent values of s is taken, as RFC 7518 does.

Where private keys are kept and who may unlock them is decided in `store.vault` and `proof.sealed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal, TypeAlias, cast

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from sayso.core import b64u
from sayso.core.refusal import Misuse, Refused
from sayso.proof.hashes import sha256_b64u

__all__ = ("ALGORITHMS", "PRIVATE_MEMBERS", "Jwk", "KeyKind", "PrivateKey", "PublicKey")

KeyKind: TypeAlias = Literal["Ed25519", "P-256"]

ALGORITHMS: Mapping[KeyKind, str] = {"Ed25519": "EdDSA", "P-256": "ES256"}
"""The JOSE algorithm of each kind of key (SCH-022)."""

PRIVATE_MEMBERS = frozenset(("d", "p", "q", "dp", "dq", "qi", "oth", "k"))

_USES = frozenset(("sig", "sign", "verify"))
_SIZE = 32
_ECDSA = ec.ECDSA(hashes.SHA256())

# The field of Curve25519, and the y coordinates of its eight points of small order.
_FIELD = 2**255 - 19
_ORDER_EIGHT_Y = 2707385501144840649318225287225658788936804267575313519463743609750303402022
_SMALL_ORDER_Y = frozenset((0, 1, _FIELD - 1, _ORDER_EIGHT_Y, _FIELD - _ORDER_EIGHT_Y))


class Jwk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A public key as a member of a closed document; `PublicKey.from_jwk` judges what it says."""

    kty: str
    crv: str
    x: str
    y: str | None = None
    kid: str | None = None
    use: str | None = None
    alg: str | None = None


class PublicKey:
    """A key that verifies. Two are equal when their thumbprints are."""

    def __init__(self, kind: KeyKind, key: ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey) -> None:
        self.kind = kind
        self._key = key

    @classmethod
    def from_jwk(cls, jwk: Mapping[str, object] | Jwk) -> PublicKey:
        """Reads a received JWK.

        Raises `Refused("private_key_received")` if it holds a private part, else `Refused("malformed_key")` with reason
        members, unsupported_kind, wrong_alg, wrong_use, coordinates or not_on_curve.
        """
        return _read(jwk if isinstance(jwk, Jwk) else _closed(jwk))

    @classmethod
    def from_raw(cls, data: bytes) -> PublicKey:
        """An Ed25519 key from its 32 bytes; raises `Refused("malformed_key")`."""
        return _read_ed25519(data)

    @cached_property
    def thumbprint(self) -> str:
        """RFC 7638 with SHA-256: 43 characters."""
        members = ",".join(f'"{name}":"{value}"' for name, value in sorted(self.jwk().items()))
        return sha256_b64u(f"{{{members}}}")

    @property
    def algorithm(self) -> str:
        """The one JOSE algorithm this key is used with."""
        return ALGORITHMS[self.kind]

    def jwk(self) -> dict[str, str]:
        """The required members alone, with canonical coordinates."""
        if isinstance(self._key, ed25519.Ed25519PublicKey):
            return {"kty": "OKP", "crv": "Ed25519", "x": b64u.encode(self._key.public_bytes_raw())}
        point = self._key.public_numbers()
        x, y = (b64u.encode(number.to_bytes(_SIZE, "big")) for number in (point.x, point.y))
        return {"kty": "EC", "crv": "P-256", "x": x, "y": y}

    def raw(self) -> bytes:
        """The 32 bytes of an Ed25519 key; `Misuse` for another kind."""
        if not isinstance(self._key, ed25519.Ed25519PublicKey):
            raise Misuse("only an Ed25519 key has a raw form")
        return self._key.public_bytes_raw()

    def verify(self, signature: bytes, data: bytes) -> None:
        """Raises `Refused("bad_signature")` unless this key signed exactly `data`."""
        try:
            if isinstance(self._key, ed25519.Ed25519PublicKey):
                self._key.verify(signature, data)
            else:
                self._key.verify(_to_der(signature), data, _ECDSA)
        except InvalidSignature:
            raise Refused.because("bad_signature", "the signature does not fit the key and the content") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicKey) and other.thumbprint == self.thumbprint

    def __hash__(self) -> int:
        return hash(self.thumbprint)

    def __repr__(self) -> str:
        return f"PublicKey({self.kind}, {self.thumbprint})"


class PrivateKey:
    """A key that signs. Its `repr` names the public half only."""

    def __init__(self, kind: KeyKind, key: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> None:
        self.kind = kind
        self._key = key
        self.public = PublicKey(kind, key.public_key())

    @classmethod
    def generate(cls, kind: KeyKind = "Ed25519") -> PrivateKey:
        """A fresh key from the cryptographic library's own generator."""
        if kind == "Ed25519":
            return cls(kind, ed25519.Ed25519PrivateKey.generate())
        if kind == "P-256":
            return cls(kind, ec.generate_private_key(ec.SECP256R1()))
        raise Misuse(f"no keys of kind {kind}")

    @classmethod
    def from_seed(cls, seed: bytes) -> PrivateKey:
        """The Ed25519 key of a 32-byte seed."""
        return cls.from_private_bytes("Ed25519", seed)

    @classmethod
    def from_private_bytes(cls, kind: KeyKind, data: bytes) -> PrivateKey:
        """Our own stored key back from what `private_bytes` gave; `Misuse` for anything else."""
        if len(data) != _SIZE:
            raise Misuse("a private key is 32 bytes")
        if kind == "Ed25519":
            return cls(kind, ed25519.Ed25519PrivateKey.from_private_bytes(data))
        try:
            return cls(kind, ec.derive_private_key(int.from_bytes(data, "big"), ec.SECP256R1()))
        except ValueError:
            raise Misuse("these bytes are no private key of this kind") from None

    def private_bytes(self) -> bytes:
        """32 secret bytes: the Ed25519 seed or the P-256 scalar. Only `sealed` and the vault have a use for them."""
        if isinstance(self._key, ed25519.Ed25519PrivateKey):
            return self._key.private_bytes_raw()
        return self._key.private_numbers().private_value.to_bytes(_SIZE, "big")

    def sign(self, data: bytes) -> bytes:
        """64 bytes, for either kind."""
        if isinstance(self._key, ed25519.Ed25519PrivateKey):
            return self._key.sign(data)
        r, s = decode_dss_signature(self._key.sign(data, _ECDSA))
        return r.to_bytes(_SIZE, "big") + s.to_bytes(_SIZE, "big")

    def __repr__(self) -> str:
        return f"PrivateKey({self.kind}, {self.public.thumbprint})"


def _closed(members: Mapping[str, object]) -> Jwk:
    private = sorted(PRIVATE_MEMBERS.intersection(members))
    if private:
        message = "a private key was sent where a public one belongs; treat it as lost"
        raise Refused.because("private_key_received", message, place=f"$.{private[0]}")
    try:
        return msgspec.convert(dict(members), Jwk, strict=True)
    except msgspec.ValidationError as error:
        raise _malformed("members", str(error)) from None


def _read(jwk: Jwk) -> PublicKey:
    kind = cast(KeyKind, jwk.crv)
    if (jwk.kty, jwk.crv) not in (("OKP", "Ed25519"), ("EC", "P-256")):
        raise _malformed("unsupported_kind", "keys are Ed25519 (OKP) or P-256 (EC)")
    if jwk.alg is not None and jwk.alg != ALGORITHMS[kind]:
        raise _malformed("wrong_alg", f"a key on {kind} signs with {ALGORITHMS[kind]}")
    if jwk.use is not None and jwk.use not in _USES:
        raise _malformed("wrong_use", "this key is not for signing")
    x = _coordinate(jwk.x, "x")
    if kind == "Ed25519":
        if jwk.y is not None:
            raise _malformed("members", "an Ed25519 key has no y")
        return _read_ed25519(x)
    if jwk.y is None:
        raise _malformed("members", "a P-256 key has a y")
    return _read_p256(x, _coordinate(jwk.y, "y"))


def _coordinate(text: str, name: str) -> bytes:
    try:
        data = b64u.decode(text)
    except Refused:
        raise _malformed("coordinates", f"{name} is not canonical base64url", place=f"$.{name}") from None
    if len(data) != _SIZE:
        raise _malformed("coordinates", f"{name} is not {_SIZE} bytes", place=f"$.{name}")
    return data


def _read_ed25519(x: bytes) -> PublicKey:
    if len(x) != _SIZE:
        raise _malformed("coordinates", "an Ed25519 key is 32 bytes")
    y = int.from_bytes(x, "little") & (2**255 - 1)
    if y >= _FIELD or y in _SMALL_ORDER_Y:
        raise _malformed("coordinates", "this point is not canonical or of small order", place="$.x")
    return PublicKey("Ed25519", ed25519.Ed25519PublicKey.from_public_bytes(x))


def _read_p256(x: bytes, y: bytes) -> PublicKey:
    numbers = ec.EllipticCurvePublicNumbers(int.from_bytes(x, "big"), int.from_bytes(y, "big"), ec.SECP256R1())
    try:
        return PublicKey("P-256", numbers.public_key())
    except ValueError:
        raise _malformed("not_on_curve", "the point is not on P-256", place="$.x") from None


def _to_der(signature: bytes) -> bytes:
    if len(signature) != 2 * _SIZE:
        raise InvalidSignature
    return encode_dss_signature(int.from_bytes(signature[:_SIZE], "big"), int.from_bytes(signature[_SIZE:], "big"))


def _malformed(reason: str, message: str, place: str | None = None) -> Refused:
    return Refused.because("malformed_key", message, reason=reason, place=place)
