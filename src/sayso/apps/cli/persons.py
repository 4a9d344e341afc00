"""Who answers a command's questions: somebody who types, or a flag that answered beforehand."""

from __future__ import annotations

from typing import TextIO

from sayso.apps.asking.keyboard import Keyboard
from sayso.apps.asking.person import Person, PreapprovedPerson, TypingPerson
from sayso.apps.cli.passphrase import ask_passphrase
from sayso.apps.house import House

__all__ = ("person_at",)


def person_at(house: House, out: TextIO, *, yes: bool) -> Person:
    """The person of this house; `yes` is the flag. Their passphrase is asked for on their own terminal alone."""

    async def passphrase() -> str | None:
        return await ask_passphrase("Passphrase of your keys: ")

    if yes:
        return PreapprovedPerson(house.vault, out, passphrase)
    return TypingPerson(house.vault, out, passphrase, Keyboard())
