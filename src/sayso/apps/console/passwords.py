"""Passwords of console users: Argon2id (RFC 9106, its second recommended choice), never kept or logged in words.

Checking one takes a good part of a second and 64 MiB on purpose, so it runs off the event loop and few at a time. A
name that nobody has is checked against a secret of nobody, so that the time tells nothing.
"""

from __future__ import annotations

import unicodedata

import anyio
import anyio.to_thread
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from sayso.core.refusal import Refused

__all__ = ("FAST", "LONGEST", "SHORTEST", "Passwords")

SHORTEST, LONGEST = 12, 256
_AT_ONCE = 2

FAST = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
"""For tests alone: as good as no hash."""


class Passwords:
    """Makes and checks secrets."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)
        self._room: anyio.CapacityLimiter | None = None
        self._nobody = ""

    def secret(self, password: str) -> str:
        """What is kept of a password. Refused: `password_too_weak`. Synchronous: call it off the event loop."""
        if not SHORTEST <= len(password) <= LONGEST:
            raise Refused.because(
                "password_too_weak",
                f"A password has {SHORTEST} to {LONGEST} characters",
                help="Four or five words that only you would put together are good.",
            )
        return self._hasher.hash(_typed(password))

    async def is_right(self, secret: str | None, password: str) -> bool:
        """Whether the password is the one the secret was made of; with no secret it never is, and takes as long."""
        if self._room is None:
            self._room = anyio.CapacityLimiter(_AT_ONCE)
        return await anyio.to_thread.run_sync(self._check, secret, password, limiter=self._room)

    def _check(self, secret: str | None, password: str) -> bool:
        if not self._nobody:
            self._nobody = self._hasher.hash("nobody's")
        try:
            return self._hasher.verify(secret or self._nobody, _typed(password[: LONGEST + 1])) and secret is not None
        except (VerificationError, InvalidHashError):
            return False


def _typed(password: str) -> bytes:
    """One spelling however the keyboard wrote it; a terminal that is not UTF-8 hands through surrogates."""
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")
