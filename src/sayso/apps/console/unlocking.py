"""Opening the person's keys from the console: for five minutes at most, in this process, for one sign-in.

A person who signs here typed the passphrase of the keys on this page, after the text they sign was shown. Another
sign-in never uses what this one opened, and tries are limited, since a stolen cookie must not become a signature.
"""

from __future__ import annotations

from datetime import timedelta

import anyio
import anyio.to_thread

from sayso.core.gcra import Limit
from sayso.core.refusal import Refused
from sayso.store.buckets import Limited, charge
from sayso.store.unit import Store
from sayso.store.vault import Vault

__all__ = ("Unlocking",)

_TRIES = Limit(timedelta(minutes=5), 5)


class Unlocking:
    """Who opened the vault of this process."""

    def __init__(self, vault: Vault, key: str, store: Store, owner: str) -> None:
        self._vault = vault
        self._key = key
        self._store = store
        self._owner = owner
        self._by: str | None = None
        self._turn = anyio.Lock()

    def is_needed(self, token: str) -> bool:
        """Whether this sign-in has to type the passphrase before anything is signed."""
        if self._vault.protection(self._key) == "none":
            return False
        return self._by != token or not self._vault.is_unlocked

    async def unlock(self, token: str, passphrase: str) -> None:
        """Opens the keys for this sign-in. Refused: `passphrase_needed`, `wrong_passphrase`, `too_many_tries`."""
        async with self._turn:
            if self.is_needed(token):
                await self._open(token, passphrase)

    async def lock(self, token: str) -> None:
        """Forgets what this sign-in opened, or is just opening."""
        async with self._turn:
            if self._by == token:
                self._vault.lock()
                self._by = None

    async def _open(self, token: str, passphrase: str) -> None:
        if self._vault.protection(self._key) == "passphrase" and not passphrase:
            raise Refused.because(
                "passphrase_needed",
                "The passphrase of your keys is missing",
                place="passphrase",
                help="It is the one you typed when the keys were made (sayso keyapp init).",
            )
        verdict = await self._store.unit(lambda unit: charge(unit, [(f"console {self._owner} keys", _TRIES)]))
        if isinstance(verdict, Limited):
            raise Refused.because(
                "too_many_tries",
                f"Too many tries. Wait {verdict.retry_after} seconds",
                details={"retry_after": verdict.retry_after},
            )
        self._by = None
        try:
            # Deriving the key takes a good part of a second, on purpose.
            await anyio.to_thread.run_sync(self._vault.unlock, passphrase or None)
        except Refused as refused:
            if refused.refusal.code != "wrong_passphrase":
                raise
            raise Refused.because(
                "wrong_passphrase", "That passphrase does not open your keys", place="passphrase", help="Try again."
            ) from None
        self._by = token
