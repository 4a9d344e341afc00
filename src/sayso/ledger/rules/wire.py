"""A receipt's bytes: which members, in which shape, in the one spelling that is hashed.

Both sides obey one law: what is read must equal its own re-encoding byte for byte, and what is written is read back by
the same decoder before it counts. The meaning of the members is told in `record`.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec

from sayso.core import strictjson
from sayso.core.canonical import canonical
from sayso.core.refusal import Refused

__all__ = ("MALFORMED", "MAX_BODY", "MAX_LINKS", "MAX_RECORD", "Link", "Wire", "malformed", "read_wire", "write_wire")

MALFORMED = "malformed_receipt"
MAX_BODY = 8192
MAX_DEPTH = 8
MAX_LINKS = 32
MAX_RECORD = 32_768
"""Bytes of the longest receipt that is ever read; the bounds on its members keep it below that."""

_PLAIN = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]"

# `\Z` and not `$`, which would let a line feed through at the end.
Hash = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]\Z")]
Kind = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+\Z", max_length=64)]
Role = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]*\Z", max_length=64)]
Name = Annotated[str, msgspec.Meta(pattern=rf"^{_PLAIN}+\Z", max_length=256)]
LogName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:@-]*\Z", max_length=128)]
"""A log's name is also the origin of its checkpoints and its key's name in notes, so it holds no space and no plus."""
Instant = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}(?:-[0-9]{2}){2}T[0-9]{2}(?::[0-9]{2}){2}\.[0-9]{6}Z\Z")]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]

_NO_BODY = msgspec.Raw(b"")
_SECRETS = re.compile(
    rb'"(?:password|passphrase|secret|client_secret|token|access_token|refresh_token|api_key|authorization|cookie'
    rb'|private_key)":'
)


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A document that a receipt rests on: the part it plays (`mandate`, `offer`, `key_set`) and its SHA-256."""

    role: Role
    sha256: Hash


class Wire(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The members in canonical order. All are ASCII names, so this is RFC 8785's order of UTF-16 code units.

    `log` and `prev` have no pattern here: they are compared with what they must be.
    """

    actor: Name
    article: Annotated[str, msgspec.Meta(pattern=rf"^{_PLAIN}+\Z", max_length=64)] | None = None
    at: Instant
    body: msgspec.Raw = _NO_BODY
    inputs_sha256: Hash | None = None
    kind: Kind
    leaf: Count | None = None
    links: Annotated[tuple[Link, ...], msgspec.Meta(max_length=MAX_LINKS)] = ()
    log: str
    output_sha256: Hash | None = None
    prev: str | None = None
    seq: Count | None = None
    v: Literal[1]


_encode = msgspec.json.Encoder().encode
# Not a second way in beside core.strictjson: `read_wire` accepts only bytes equal to the re-encoding of what was
# decoded, and neither a duplicate member nor a space nor an odd escape survives that.
_decode = msgspec.json.Decoder(Wire).decode


def read_wire(data: bytes) -> Wire:
    """The one way from bytes to a receipt's members. Refused: `malformed_receipt`, with the member as place."""
    if len(data) > MAX_RECORD:
        raise malformed(f"it is longer than {MAX_RECORD} bytes")
    try:
        wire = _decode(data)
        is_canonical = _encode(wire) == data
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as wrong:
        raise _explain(wrong) from None
    if not is_canonical:
        raise malformed("it is not in canonical form (RFC 8785)")
    if body := bytes(wire.body):
        _check_body(body)
    return wire


def write_wire(wire: Wire) -> bytes:
    """The canonical bytes of a receipt whose body, if any, is canonical already. Refused: `malformed_receipt`."""
    try:
        data = _encode(wire)
        _decode(data)
    except (TypeError, UnicodeError, RecursionError, msgspec.MsgspecError) as wrong:
        raise _explain(wrong) from None
    return data


def write_body(body: dict[str, strictjson.JsonValue]) -> msgspec.Raw:
    """A body's canonical bytes; an empty one is left out. Refused: `malformed_receipt` at `$.body`."""
    if not body:
        return _NO_BODY
    try:
        data = canonical(body)
    except Refused as wrong:
        raise malformed(wrong.refusal.message, "$.body") from None
    _bound_body(data)
    if _SECRETS.search(data):
        raise malformed("a member is named like a secret; a receipt holds hashes, never secrets", "$.body")
    return msgspec.Raw(data)


def read_body(wire: Wire) -> dict[str, strictjson.JsonValue]:
    """The body as values. Refused: `malformed_receipt` at `$.body`."""
    body = bytes(wire.body)
    if not body:
        return {}
    value = _parse_body(body)
    if not isinstance(value, dict):
        raise malformed("the body is not an object", "$.body")
    return value


def malformed(what: str, place: str | None = None) -> Refused:
    """The refusal of bytes or of a draft that is no receipt."""
    return Refused.because(MALFORMED, f"This is no receipt: {what}", place=place)


def _check_body(body: bytes) -> None:
    """A stored body is an object in canonical form, and never an empty one: that would be a second spelling."""
    _bound_body(body)
    if not body.startswith(b"{") or body == b"{}" or canonical(_parse_body(body)) != body:
        raise malformed("the body is not an object in canonical form (RFC 8785)", "$.body")


def _bound_body(body: bytes) -> None:
    if len(body) > MAX_BODY:
        raise malformed(f"the body is longer than {MAX_BODY} bytes", "$.body")
    # Brackets inside strings are counted too; only a body that looks deep is measured properly.
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
        _parse_body(body)


def _parse_body(body: bytes) -> strictjson.JsonValue:
    try:
        return strictjson.parse(body, depth=MAX_DEPTH)
    except Refused as wrong:
        raise malformed(wrong.refusal.message, "$.body") from None


def _explain(wrong: Exception) -> Refused:
    what, _, place = str(wrong).partition(" - at `")
    return malformed(what, place.rstrip("`") or None)
