"""When a request is sent again after a sign-in: once at most, for a typed failure of the credential alone (OAP-201)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

__all__ = ("SIGN_IN_CODES", "Retrying")

SIGN_IN_CODES = frozenset(("credential_missing", "credential_expired", "credential_rejected"))


class Retrying:
    """`sign_in_to` signs in to one provider, by its id; None: a failure is the caller's to see."""

    def __init__(self, sign_in_to: Callable[[str], Awaitable[object]] | None = None) -> None:
        self._sign_in_to = sign_in_to

    @property
    def is_possible(self) -> bool:
        """Whether anybody would be asked to sign in at all."""
        return self._sign_in_to is not None

    async def sign_in(self, code: str, model: str) -> bool:
        """Whether the request may be sent again now. Raises what the sign-in raises."""
        provider, slash, _ = model.partition("/")
        if self._sign_in_to is None or code not in SIGN_IN_CODES or not slash:
            return False
        await self._sign_in_to(provider)
        return True
