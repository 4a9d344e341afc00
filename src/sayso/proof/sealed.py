"""A secret under a passphrase: Argon2id (RFC 9106) makes the key, ChaCha20-Poly1305 (RFC 8439) closes the box.

What the key was made with is kept beside the box and bound into it, so that it cannot be changed apart from it; the
same holds for `label`, which says what the secret is, so that one box cannot stand in for another. On opening, the cost
is bounded before any work: a hostile file cannot ask for a hundred gigabytes or a day. Salt and nonce are handed in,
fresh for every box. A passphrase is compared in Unicode's composed form (NFC), however the keyboard wrote it.

Where boxes lie, and how long an opened secret may be used, is decided in `store.vault`.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import msgspec
from argon2.exceptions import HashingError
from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from sayso.core import b64u, strictjson
from sayso.core.refusal import Misuse, Refused

__all__ = ("DEFAULT_COST", "LARGEST_COST", "NONCE_SIZE", "SALT_SIZE", "Cost", "Sealed", "open_sealed", "seal")

SALT_SIZE = 16
NONCE_SIZE = 12
_KEY_SIZE = 32
_MAX_BOX = 64 * 1024
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Cost:
    """What one guess at the passphrase costs: KiB of memory, passes over it, lanes worked on at once."""

    memory_kib: int
    passes: int
    lanes: int


DEFAULT_COST = Cost(memory_kib=64 * 1024, passes=3, lanes=4)
"""RFC 9106's second recommended choice."""

LARGEST_COST = Cost(memory_kib=256 * 1024, passes=10, lanes=8)


class Sealed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A closed box, as it is written to a file; the texts are base64url."""

    v: int
    label: str
    memory_kib: int
    passes: int
    lanes: int
    salt: str
    nonce: str
    box: str


def seal(
    secret: bytes, passphrase: str, *, salt: bytes, nonce: bytes, cost: Cost = DEFAULT_COST, label: str = ""
) -> Sealed:
    """Closes a box; `salt` is 16 and `nonce` 12 random bytes never used before.

    Raises `Refused("empty_passphrase")`.
    """
    if len(salt) != SALT_SIZE or len(nonce) != NONCE_SIZE or not _is_bearable(cost) or len(secret) > _MAX_BOX - 16:
        raise Misuse("a box wants a salt of 16 bytes, a nonce of 12, a bearable cost and a small secret")
    empty = Sealed(
        v=_VERSION,
        label=label,
        memory_kib=cost.memory_kib,
        passes=cost.passes,
        lanes=cost.lanes,
        salt=b64u.encode(salt),
        nonce=b64u.encode(nonce),
        box="",
    )
    box = _cipher(passphrase, salt, cost).encrypt(nonce, secret, _bound(empty))
    return msgspec.structs.replace(empty, box=b64u.encode(box))


def open_sealed(sealed: Sealed, passphrase: str, *, label: str = "") -> bytes:
    """The secret.

    Raises `Refused("malformed_box")` for a box that cannot be one or asks for too much, `Refused("empty_passphrase")`,
    and `Refused("wrong_passphrase")` if the passphrase does not open it or anything in it was altered, which cannot be
    told apart.
    """
    cost = Cost(sealed.memory_kib, sealed.passes, sealed.lanes)
    if sealed.v != _VERSION or sealed.label != label or not _is_bearable(cost):
        raise _malformed("this box is of another version or kind, or asks for more work than is allowed")
    salt, nonce, box = (_read(text) for text in (sealed.salt, sealed.nonce, sealed.box))
    if len(salt) != SALT_SIZE or len(nonce) != NONCE_SIZE:
        raise _malformed("salt or nonce of this box has the wrong size")
    try:
        return _cipher(passphrase, salt, cost).decrypt(nonce, box, _bound(sealed))
    except InvalidTag:
        message = "the passphrase is wrong, or the file was altered"
        raise Refused.because("wrong_passphrase", message) from None


def _cipher(passphrase: str, salt: bytes, cost: Cost) -> ChaCha20Poly1305:
    if not passphrase:
        raise Refused.because("empty_passphrase", "a passphrase has at least one character")
    # A terminal that is not UTF-8 hands undecodable bytes through as surrogates; they count like any character.
    typed = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
    try:
        key = hash_secret_raw(
            typed,
            salt,
            time_cost=cost.passes,
            memory_cost=cost.memory_kib,
            parallelism=cost.lanes,
            hash_len=_KEY_SIZE,
            type=Type.ID,
        )
    except HashingError:
        raise _malformed("this box asks for more memory than there is") from None
    return ChaCha20Poly1305(key)


def _is_bearable(cost: Cost) -> bool:
    """Argon2 wants eight KiB a lane at least; the rest is what we are willing to spend."""
    return (
        1 <= cost.passes <= LARGEST_COST.passes
        and 1 <= cost.lanes <= LARGEST_COST.lanes
        and 8 * cost.lanes <= cost.memory_kib <= LARGEST_COST.memory_kib
    )


def _bound(sealed: Sealed) -> bytes:
    """Everything in the box but its content."""
    return strictjson.encode(msgspec.structs.replace(sealed, box=""))


def _read(text: str) -> bytes:
    if len(text) > 2 * _MAX_BOX:
        raise _malformed("this box is too large")
    try:
        return b64u.decode(text)
    except Refused:
        raise _malformed("this box is not canonical base64url") from None


def _malformed(message: str) -> Refused:
    return Refused.because("malformed_box", message)
