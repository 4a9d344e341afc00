"""Unpadded base64url (RFC 4648 section 5) in its one canonical spelling, for keys, tokens and hashes.

Two spellings of one value would give two identities to one key and two hashes to one token, so padding, foreign
characters, white space and non-zero trailing bits are refused.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from binascii import a2b_base64

from sayso.core.refusal import Refused

__all__ = ("decode", "encode")

_PADDING = (b"", b"", b"==", b"=")
# Into the alphabet that the library reads strictly; what stands for itself there stands for nothing here.
_STANDARD = bytes.maketrans(b"-_+/=", b"+/---")


def encode(data: bytes) -> str:
    """The canonical text of any bytes."""
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes:
    """Raises `Refused("malformed_base64url")` unless `text` is exactly what `encode` would write."""
    left = len(text) % 4
    try:
        data = a2b_base64(text.encode("ascii").translate(_STANDARD) + _PADDING[left], strict_mode=True)
    except ValueError:
        raise _malformed() from None
    # The library forgives trailing bits; writing the last characters again finds them.
    if left and encode(data[1 - left :]) != text[-left:]:
        raise _malformed()
    return data


def _malformed() -> Refused:
    return Refused.because("malformed_base64url", "this is not canonical base64url without padding")
