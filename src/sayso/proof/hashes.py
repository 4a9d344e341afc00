"""SHA-256 in the three spellings that the protocols write it in."""

from __future__ import annotations

import hashlib

from sayso.core import b64u

__all__ = ("sha256", "sha256_b64u", "sha256_hex")


def sha256(data: bytes) -> bytes:
    """32 bytes."""
    return hashlib.sha256(data).digest()


def sha256_hex(data: bytes) -> str:
    """64 lower-case hexadecimal digits: receipts and inputs."""
    return hashlib.sha256(data).hexdigest()


def sha256_b64u(data: bytes | str) -> str:
    """43 characters of unpadded base64url: thumbprints and hashes of tokens, whose text must be ASCII (SCH-170)."""
    raw = data.encode("ascii") if isinstance(data, str) else data
    return b64u.encode(hashlib.sha256(raw).digest())
