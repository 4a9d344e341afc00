"""Signed notes and checkpoints of a log (C2SP signed-note and tlog-checkpoint, Ed25519).

A note is text, a blank line, and one line for each signature: an em dash, the signer's name, and base64 of four bytes
of key id and the signature. A checkpoint is a note whose text is the log's origin, its size and its root. The verifier
is told which key counts: signatures by others are passed over, as the format wants, but one in that key's name must
hold, and a note without it is refused. Nothing is learnt from a note that is not signed by the key in question.

Whether one checkpoint follows another is shown by `merkle.verify_consistency`.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from sayso.core.refusal import Misuse, Refused
from sayso.proof.hashes import sha256
from sayso.proof.keys import PrivateKey, PublicKey

__all__ = (
    "Checkpoint",
    "key_id",
    "read_verifier_key",
    "sign_note",
    "verify_checkpoint",
    "verify_note",
    "write_checkpoint",
    "write_verifier_key",
)

_ED25519 = b"\x01"
_ID_SIZE = 4
_ROOT_SIZE = 32
_MAX_NOTE = 64 * 1024
_MAX_SIGNATURES = 100
_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]{1,200}")
_SIGNATURE_LINE = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})")
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_VERIFIER_KEY = re.compile(r"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log says of itself: so many leaves, with this root. `extensions` are further lines, opaque to us."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()


def key_id(name: str, key: PublicKey) -> bytes:
    """Four bytes that tell keys of one name apart."""
    return sha256(name.encode("utf-8") + b"\n" + _ED25519 + key.raw())[:_ID_SIZE]


def write_verifier_key(name: str, key: PublicKey) -> str:
    """The text in which others are told a log's key: name, key id and key, joined by plus signs."""
    return f"{_checked_name(name)}+{key_id(name, key).hex()}+{_base64(_ED25519 + key.raw())}"


def read_verifier_key(text: str) -> tuple[str, PublicKey]:
    """The name and key of such a text; raises `Refused("malformed_key")`."""
    found = _VERIFIER_KEY.fullmatch(text)
    data = _unbase64(found.group(3)) if found else None
    if found is None or data is None or data[:1] != _ED25519 or not _NAME.fullmatch(found.group(1)):
        raise Refused.because("malformed_key", "a verifier key is name+id+base64 of an Ed25519 key", reason="syntax")
    name, key = found.group(1), PublicKey.from_raw(data[1:])
    if key_id(name, key).hex() != found.group(2):
        raise Refused.because("malformed_key", "the key id does not belong to this name and key", reason="key_id")
    return name, key


def sign_note(text: str, name: str, key: PrivateKey) -> bytes:
    """The note with one signature; the text ends in a line feed."""
    if not text.endswith("\n") or any(ord(sign) < 0x20 and sign != "\n" for sign in text):
        raise Misuse("a note is lines of text without control characters, each with its line feed")
    signature = key_id(_checked_name(name), key.public) + key.sign(text.encode("utf-8"))
    return f"{text}\n— {name} {_base64(signature)}\n".encode()


def verify_note(note: bytes, name: str, key: PublicKey) -> str:
    """The text, if this key signed it under this name.

    Raises `Refused("malformed_note")`, `Refused("unsigned_note")` if the key's signature is not there, or
    `Refused("bad_signature")`.
    """
    text, lines = _split(note)
    wanted = key_id(_checked_name(name), key)
    signatures = [value for signer, value in map(_read_signature, lines) if signer == name and value[:4] == wanted]
    if not signatures:
        raise Refused.because("unsigned_note", f"this note is not signed by {name}")
    if len(signatures) > 1:
        raise _malformed("one key signed the note twice")
    key.verify(signatures[0][_ID_SIZE:], text.encode("utf-8"))
    return text


def write_checkpoint(origin: str, size: int, root: bytes, key: PrivateKey, *, extensions: Sequence[str] = ()) -> bytes:
    """The signed checkpoint of a log; its origin is also the name of its key."""
    if size < 0 or len(root) != _ROOT_SIZE or any(not line or "\n" in line for line in extensions):
        raise Misuse("a checkpoint has a size, a root of 32 bytes and whole lines")
    lines = (_checked_name(origin), str(size), _base64(root), *extensions)
    return sign_note("".join(f"{line}\n" for line in lines), origin, key)


def verify_checkpoint(note: bytes, *, origin: str, key: PublicKey) -> Checkpoint:
    """The checkpoint of that origin, if its key signed it; raises what `verify_note` raises."""
    lines = verify_note(note, origin, key).split("\n")[:-1]
    if len(lines) < 3 or lines[0] != origin or not _SIZE.fullmatch(lines[1]) or "" in lines:
        raise _malformed("a checkpoint is origin, size and root, a line each")
    root = _unbase64(lines[2])
    if root is None or len(root) != _ROOT_SIZE:
        raise _malformed("a root is 32 bytes in base64")
    return Checkpoint(origin, int(lines[1]), root, tuple(lines[3:]))


def _split(note: bytes) -> tuple[str, list[str]]:
    if len(note) > _MAX_NOTE:
        raise _malformed(f"a note has at most {_MAX_NOTE} bytes")
    try:
        whole = note.decode("utf-8")
    except UnicodeDecodeError:
        raise _malformed("a note is UTF-8") from None
    if any(ord(sign) < 0x20 and sign != "\n" for sign in whole):
        raise _malformed("a note has no control characters")
    # The last blank line parts text and signatures: the text may hold blank lines of its own.
    text, mark, signatures = whole.rpartition("\n\n")
    if not mark or not signatures.endswith("\n"):
        raise _malformed("a note is text, a blank line and signatures")
    lines = signatures[:-1].split("\n")
    if len(lines) > _MAX_SIGNATURES:
        raise _malformed("a note has too many signatures")
    return text + "\n", lines


def _read_signature(line: str) -> tuple[str, bytes]:
    found = _SIGNATURE_LINE.fullmatch(line)
    value = _unbase64(found.group(2)) if found else None
    if found is None or value is None or len(value) <= _ID_SIZE:
        raise _malformed("a signature is an em dash, a name and base64")
    return found.group(1), value


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise Misuse("a signer's name has no space and no plus sign")
    return name


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def _unbase64(text: str) -> bytes | None:
    """None unless the text is canonical base64."""
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        return None
    return data if _base64(data) == text else None


def _malformed(message: str) -> Refused:
    return Refused.because("malformed_note", message)
