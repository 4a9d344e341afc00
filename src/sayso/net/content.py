"""What a body claims to be, and what it unpacks to: media types compared, gzip undone within a bound.

Pure. Both ends of HTTP use it: `fetch` on answers, the servers on requests.
"""

from __future__ import annotations

import zlib

from sayso.core.refusal import Refused

__all__ = ("Gunzip", "is_acceptable", "is_json", "media_type")

_GZIP_ONLY = 16 + zlib.MAX_WBITS


def media_type(content_type: str | None) -> str:
    """The type and subtype of a Content-Type value in lower case, parameters dropped; empty where there is none."""
    return (content_type or "").partition(";")[0].strip(" \t").lower()


def is_json(content_type: str | None) -> bool:
    """Whether a body claims to be JSON, `application/json` or a `+json` type; a charset is of no account."""
    kind = media_type(content_type)
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def is_acceptable(content_type: str | None, accept: str) -> bool:
    """Whether a body is of the one type asked for; asking for JSON takes every `+json` type."""
    return is_json(content_type) if accept == "application/json" else media_type(content_type) == accept


class Gunzip:
    """Unpacks a gzip body and never makes more than `limit` bytes of it, however small the packed one is.

    Refused `body_too_large` past the limit, `malformed_gzip` for bytes that are no single whole gzip member.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._room = limit
        self._stream = zlib.decompressobj(_GZIP_ONLY)

    def feed(self, packed: bytes) -> bytes:
        try:
            plain = self._stream.decompress(packed, self._room + 1)
        except zlib.error:
            raise Refused.because("malformed_gzip", "The gzip body is damaged") from None
        self._room -= len(plain)
        if self._room < 0:
            raise Refused.because("body_too_large", f"The body unpacks to more than {self._limit} bytes")
        if self._stream.unused_data:
            raise Refused.because("malformed_gzip", "Something follows the gzip body")
        return plain

    def close(self) -> None:
        """Checks that the body ended where its own trailer says."""
        if not self._stream.eof:
            raise Refused.because("malformed_gzip", "The gzip body is cut short")
