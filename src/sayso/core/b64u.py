"""Unpadded base64url (RFC 4648 section 5) in its one canonical spelling, for keys, tokens and hashes.

Two spellings of one value would give two identities to one key and two hashes to one token, so padding, foreign
characters, white space and non-zero trailing bits are refused.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

from sayso.core.refusal import Refused

__all__ = ("decode", "encode")

_PADDING = ("", "", "==", "=")


def encode(data: bytes) -> str:
    """The canonical text of any bytes."""
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes:
    """Raises `Refused("malformed_base64url")` unless `text` is exactly what `encode` would write."""
    try:
        data = urlsafe_b64decode(text + _PADDING[len(text) % 4])
    except ValueError:
        raise _malformed() from None
    # The library skips foreign characters and forgives trailing bits; writing the value again finds both.
    if encode(data) != text:
        raise _malformed()
    return data


def _malformed() -> Refused:
    return Refused.because("malformed_base64url", "this is not canonical base64url without padding")
