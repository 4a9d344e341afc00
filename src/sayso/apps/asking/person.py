"""The person at the surface: who says yes, and in which manner.

Somebody at a terminal sees the key app's text whole and answers; Enter, end of input and anything but yes are no. What
they sign says `human_present`. A flag, a script or a pipe that answers says `preapproved` and never more, because
nobody can tell whether a person saw the text (spec scheduling, 15.5).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TextIO

import anyio.to_thread

from sayso.apps.asking.keyboard import Keyboard
from sayso.apps.asking.plain_text import plain, plain_lines
from sayso.core.refusal import Refused
from sayso.governance.consent import Mode
from sayso.scheduling.keyapp.app import Shown
from sayso.store.vault import Vault

__all__ = ("AskPassphrase", "Person", "PreapprovedPerson", "TypingPerson")

AskPassphrase = Callable[[], Awaitable[str | None]]
"""Asks on the person's own terminal; None where there is none."""

_TITLES = {
    "limits": "Your assistant asks for these limits:",
    "shared_limits": "Your assistant asks for limits over several hosts at once:",
    "offer": "This is the offer, in the host's own signed terms:",
    "management": "Your assistant asks to manage this booking:",
    "invitation": "Your assistant asks to read an invitation:",
    "coming": "This is the invitation, in the host's own signed terms; you would accept it:",
    "not_coming": "This is the invitation, in the host's own signed terms; you would decline it:",
    "rule": "A rule for your own calendar:",
    "answer": "This waits for your answer at your own calendar:",
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
    """Somebody who said yes beforehand."""

    mode: Mode = "preapproved"

    def __init__(self, vault: Vault, out: TextIO, passphrase: AskPassphrase) -> None:
        self._vault = vault
        self._out = out
        self._passphrase = passphrase

    async def agrees(self, shown: Shown) -> bool:
        _show(self._out, shown)
        self._out.write("Answered beforehand: yes. The signature says that no person was asked now.\n")
        self._out.flush()
        return shown.identity.is_verified

    async def unlock(self) -> bool:
        secret = await self._passphrase()
        return secret is not None and await _opens(self._vault, secret)

    async def reply(self, question: str) -> str | None:
        return None


class TypingPerson:
    """Somebody who types: a person at a terminal, or a pipe that plays one and is recorded as such."""

    def __init__(self, vault: Vault, out: TextIO, passphrase: AskPassphrase, keyboard: Keyboard) -> None:
        self._vault = vault
        self._out = out
        self._passphrase = passphrase
        self._keyboard = keyboard

    @property
    def mode(self) -> Mode:
        return "human_present" if self._keyboard.is_persons else "preapproved"

    async def agrees(self, shown: Shown) -> bool:
        self._keyboard.forget()
        _show(self._out, shown)
        if not shown.identity.is_verified:
            self._out.write("Who this is could not be verified, so it is not signed.\n")
            return False
        return (await self._ask("Sign this? [y/N] ")).strip().lower() in _YES

    async def unlock(self) -> bool:
        for _ in range(_TRIES):
            secret = await self._passphrase()
            if not secret:
                return False
            if await _opens(self._vault, secret):
                return True
            self._out.write("That passphrase does not open your keys.\n")
        return False

    async def reply(self, question: str) -> str | None:
        if not self._keyboard.is_persons:
            return None
        self._keyboard.forget()
        self._out.write(f"\n{plain_lines(question)}\n")
        return (await self._ask("> ")).strip() or None

    async def _ask(self, prompt: str) -> str:
        self._out.write(prompt)
        self._out.flush()
        line = await self._keyboard.line()
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
