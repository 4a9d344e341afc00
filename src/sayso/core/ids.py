"""Identifiers and random values, from one place, so that a run can be reproduced with counted ones."""

from __future__ import annotations

import base64
import itertools
import secrets  # noqa: TID251 - the one home of random values
from typing import Protocol

__all__ = ("CountingIds", "Ids", "SystemIds")

_ID_LETTERS = 26
_BASE32 = b"abcdefghijklmnopqrstuvwxyz234567"
_ANY = bytes(_BASE32[each & 31] for each in range(256))
_LAST = bytes(_BASE32[each & 28] for each in range(256))
"""From a random byte to a letter: five bits of it, and three where a letter is the last of 128 bits."""


class Ids(Protocol):
    """Where ids, nonces and salts come from."""

    def new(self, prefix: str) -> str:
        """A fresh id such as `b_mfrggzdfmztwq2lknnwg23tpoa`: 128 bits behind a prefix that tells people its kind."""
        ...

    def token(self, size: int = 16) -> str:
        """`size` random bytes as unpadded base64url: nonces, keys shown once."""
        ...

    def random(self, size: int) -> bytes:
        """`size` random bytes: salts and seeds."""
        ...


class SystemIds:
    """Ids from the operating system's generator."""

    def new(self, prefix: str) -> str:
        # RFC 4648's base32 of 128 random bits without padding; a random byte for each letter is the shortest way to it.
        found = self.random(_ID_LETTERS)
        return f"{prefix}_{(found[:-1].translate(_ANY) + found[-1:].translate(_LAST)).decode()}"

    def token(self, size: int = 16) -> str:
        return base64.urlsafe_b64encode(self.random(size)).decode().rstrip("=")

    def random(self, size: int) -> bytes:
        return secrets.token_bytes(size)


class CountingIds:
    """Ids that count from one, for golden files; never for keys."""

    def __init__(self) -> None:
        self._count = itertools.count(1)

    def new(self, prefix: str) -> str:
        return f"{prefix}_{next(self._count):026d}"

    def token(self, size: int = 16) -> str:
        return base64.urlsafe_b64encode(self.random(size)).decode().rstrip("=")

    def random(self, size: int) -> bytes:
        return next(self._count).to_bytes(size, "big")
