"""What a request presents about itself, read from its headers and not yet believed (GTW-010, GTW-011, GTW-013a)."""

from __future__ import annotations

from dataclasses import dataclass

from sayso.core.refusal import Refused
from sayso.gateway.guard.rules.codes import refusal

__all__ = ("AUTH_HEADERS", "KEY", "SIGNATURE", "SIGNATURE_V2", "TIMESTAMP", "Presented", "is_signed", "read_presented")

KEY = b"x-osz-agent-key"
TIMESTAMP = b"x-osz-timestamp"
SIGNATURE = b"x-osz-signature"
SIGNATURE_V2 = b"x-osz-signature-v2"
AUTH_HEADERS = {
    KEY: "X-OSz-Agent-Key",
    TIMESTAMP: "X-OSz-Timestamp",
    SIGNATURE: "X-OSz-Signature",
    SIGNATURE_V2: "X-OSz-Signature-V2",
}
"""The four headers as ASGI names them, and as people write them."""

_UNSIGNED = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class Presented:
    """The four values without surrounding white space, each ASCII; None where a header is missing or empty."""

    key: bytes | None
    timestamp: bytes | None
    signature: bytes | None
    signature_v2: bytes | None


def is_signed(method: str) -> bool:
    """Whether a method needs a signature: all do, but those that only read."""
    return method not in _UNSIGNED


def read_presented(headers: tuple[tuple[bytes, bytes], ...]) -> Presented:
    """Refused: `repeated_header` or `malformed_header`, naming the header and never its value."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in AUTH_HEADERS:
            if name in found:
                raise Refused(refusal("repeated_header", place=AUTH_HEADERS[name]))
            value = value.strip(b" \t")
            if not value.isascii():
                raise Refused(refusal("malformed_header", place=AUTH_HEADERS[name]))
            found[name] = value
    return Presented(
        found.get(KEY) or None, found.get(TIMESTAMP) or None, found.get(SIGNATURE) or None, found.get(SIGNATURE_V2)
    )
