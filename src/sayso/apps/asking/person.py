"""The person at the surface: who says yes, and in which manner.

A terminal person sees the key app's text whole and answers; Enter, end of input and anything but yes are no. A
preapproved person answered beforehand with a flag, and the signed document says so (`preapproved`, never
`human_present`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol, TextIO

import anyio.to_thread

from sayso.apps.asking.plain_text import plain
from sayso.core.refusal import Refused
from sayso.governance.consent import Mode
from sayso.scheduling.keyapp.app import Shown
from sayso.store.vault import Vault

__all__ = ("Person", "PreapprovedPerson", "TerminalPerson")

_TITLES = {
    "limits": "Your assistant asks for these limits:",
    "offer": "This is the offer, in the host's own signed terms:",
    "management": "Your assistant asks to manage this booking:",
}
_YES = ("y", "yes")
_TRIES = 3


class Person(Protocol):
    """Who answers."""

    @property
    def mode(self) -> Mode:
        """How their yes is recorded."""
        ...

    async def agrees(self, shown: Shown) -> bool:
        """Whether they say yes to exactly this text."""
        ...

    async def unlock(self) -> bool:
        """Opens their keys; False when they will not or cannot."""
        ...

    async def reply(self, question: str) -> str | None:
        """What they answer to the assistant's own question; None when there is nobody to answer."""
        ...


class PreapprovedPerson:
    """Somebody who said yes beforehand. `passphrase` opens locked keys without a prompt."""

    mode: Mode = "preapproved"

    def __init__(self, vault: Vault, out: TextIO, passphrase: Callable[[], str | None]) -> None:
        self._vault = vault
        self._out = out
        self._passphrase = passphrase

    async def agrees(self, shown: Shown) -> bool:
        _show(self._out, shown)
        self._out.write("Answered beforehand: yes. The signature says that no person was asked now.\n")
        self._out.flush()
        return shown.identity.is_verified

    async def unlock(self) -> bool:
        secret = await anyio.to_thread.run_sync(self._passphrase, abandon_on_cancel=True)
        return secret is not None and await _opens(self._vault, secret)

    async def reply(self, question: str) -> str | None:
        return None


class TerminalPerson:
    """Somebody at a terminal, or at the other end of a pipe. `read` gives the next line, the empty text at its end."""

    mode: Mode = "human_present"

    def __init__(
        self,
        vault: Vault,
        out: TextIO,
        passphrase: Callable[[], str | None],
        read: Callable[[], str] = sys.stdin.readline,
        *,
        converses: bool = True,
    ) -> None:
        self._vault = vault
        self._out = out
        self._passphrase = passphrase
        self._read = read
        self._converses = converses

    async def agrees(self, shown: Shown) -> bool:
        _show(self._out, shown)
        if not shown.identity.is_verified:
            self._out.write("Who this is could not be verified, so it is not signed.\n")
            return False
        return (await self._ask("Sign this? [y/N] ")).strip().lower() in _YES

    async def unlock(self) -> bool:
        for _ in range(_TRIES):
            secret = await anyio.to_thread.run_sync(self._passphrase, abandon_on_cancel=True)
            if not secret:
                return False
            if await _opens(self._vault, secret):
                return True
            self._out.write("That passphrase does not open your keys.\n")
        return False

    async def reply(self, question: str) -> str | None:
        if not self._converses:
            return None
        return (await self._ask("> ")).strip() or None

    async def _ask(self, prompt: str) -> str:
        self._out.write(prompt)
        self._out.flush()
        # Reading blocks; the thread is left behind when the person presses Ctrl-C instead of answering.
        line = await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True)
        if not line.endswith("\n"):
            self._out.write("\n")
        return line


def _show(out: TextIO, shown: Shown) -> None:
    """The whole text, indented, never cut: it is what gets signed."""
    out.write(f"\n{_TITLES.get(shown.kind, 'Your assistant asks:')}\n\n    {plain(shown.text)}\n\n")
    out.flush()


async def _opens(vault: Vault, secret: str) -> bool:
    try:
        # Deriving the key takes a good part of a second, on purpose.
        await anyio.to_thread.run_sync(vault.unlock, secret)
    except Refused as refused:
        if refused.refusal.code != "wrong_passphrase":
            raise
        return False
    return True
