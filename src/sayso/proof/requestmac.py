"""The two signatures of a request at the doors: HMAC-SHA256 under the agent's key (GTW-011, GTW-012).

    V1  hex(HMAC(key, timestamp "." body))
    V2  hex(HMAC(key, "v2" LF METHOD LF path?query LF timestamp LF hex(SHA-256(body))))

Everything is the bytes on the wire: the body before any parsing (an empty one is the empty string), the path and query
exactly as sent but for a question mark with nothing behind it, which servers do not tell apart from none, the method
in capitals. V1 names neither method nor path, which is why V2 exists. The server keeps only the key's hash and takes
the key from the same request: the signatures prove integrity and freshness, and possession no further than the key
does.

Signing and verifying are here side by side, so that clients and doors obey one law.
"""

from __future__ import annotations

import re
from hashlib import sha256
from hmac import compare_digest, new

from sayso.core.refusal import Refused

__all__ = (
    "BAD_SIGNATURE",
    "read_mac",
    "sign_request_mac",
    "sign_request_mac_v2",
    "verify_request_mac",
    "verify_request_mac_v2",
)

BAD_SIGNATURE = "bad_signature"
_HEX = re.compile(rb"[0-9a-fA-F]{64}")


def sign_request_mac(key: bytes, timestamp: bytes, body: bytes) -> str:
    """V1, in lower-case hex."""
    return _v1(key, timestamp, body).hex()


def sign_request_mac_v2(key: bytes, method: str, target: bytes, timestamp: bytes, body: bytes) -> str:
    """V2, in lower-case hex. `target` is the path with its query, as it stands in the request line."""
    return _v2(key, method, target, timestamp, body).hex()


def read_mac(text: bytes) -> bytes | None:
    """The 32 bytes that 64 hex digits of either case stand for; None where they are anything else."""
    return bytes.fromhex(text.decode("ascii")) if _HEX.fullmatch(text) else None


def verify_request_mac(key: bytes, timestamp: bytes, body: bytes, mac: bytes) -> bytes:
    """The mac, once it proved to be V1 of exactly this. Refused: `bad_signature`."""
    return _same(mac, _v1(key, timestamp, body))


def verify_request_mac_v2(key: bytes, method: str, target: bytes, timestamp: bytes, body: bytes, mac: bytes) -> bytes:
    """The mac, once it proved to be V2 of exactly this. Refused: `bad_signature`."""
    return _same(mac, _v2(key, method, target, timestamp, body))


def _v1(key: bytes, timestamp: bytes, body: bytes) -> bytes:
    # Not hmac.digest: it lets other threads run for a few microseconds of work, and then waits for its turn again.
    return new(key, timestamp + b"." + body, "sha256").digest()


def _v2(key: bytes, method: str, target: bytes, timestamp: bytes, body: bytes) -> bytes:
    hashed = sha256(body).hexdigest().encode()
    path, _, query = target.partition(b"?")
    target = target if query else path
    return new(key, b"\n".join((b"v2", method.encode(), target, timestamp, hashed)), "sha256").digest()


def _same(given: bytes, right: bytes) -> bytes:
    # Bytes on both sides: compare_digest raises on text that is not ASCII.
    if not compare_digest(given, right):
        raise Refused.because(BAD_SIGNATURE, "The signature does not fit this request and key")
    return right
