"""The headers of a request that this door reads, and the values mirrored into them (MCP 2026-07-28, Streamable HTTP).

Names are compared without case and come here in lower case; values are compared exactly, after white space around them
is taken away. A value that a header cannot carry stands in `=?base64?...?=` and is UTF-8 inside.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable

import msgspec

__all__ = ("Head", "accepts", "decode_value", "read_head")

_OPEN, _CLOSE = "=?base64?", "?="
_FIELDS = {
    b"mcp-protocol-version": "version",
    b"mcp-method": "method",
    b"mcp-name": "name",
    b"mcp-session-id": "session",
    b"accept": "accept",
    b"content-type": "content_type",
    b"last-event-id": "last_event",
}


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What the headers said; None for a header that was not there."""

    version: str | None = None
    method: str | None = None
    name: str | None = None
    session: str | None = None
    accept: str | None = None
    content_type: str | None = None
    last_event: str | None = None


def read_head(headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """Picks the headers of this door out of all (lower-case names, as ASGI gives them).

    Only `Accept` still stands twice here: every other of these was refused at the door's edge where it did.
    """
    found: dict[str, str] = {}
    for name, value in headers:
        field = _FIELDS.get(name)
        if field is None:
            continue
        text = value.decode("latin-1").strip(" \t")
        found[field] = f"{found[field]}, {text}" if field in found else text
    return Head(**found)


def decode_value(value: str) -> str | None:
    """The text that a header value stands for; None where the base64 in it is broken or spelled in a second way."""
    if not (value.startswith(_OPEN) and value.endswith(_CLOSE) and len(value) >= len(_OPEN) + len(_CLOSE)):
        return value if value.isascii() else None
    packed = value[len(_OPEN) : -len(_CLOSE)]
    try:
        raw = base64.b64decode(packed, validate=True)
        text = raw.decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    return text if base64.b64encode(raw).decode() == packed else None


def accepts(accept: str | None, media_type: str) -> bool:
    """Whether an Accept header leaves room for a media type; a missing one leaves room for all."""
    if accept is None:
        return True
    family = media_type.partition("/")[0]
    wanted = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return not wanted.isdisjoint({media_type, f"{family}/*", "*/*"})
