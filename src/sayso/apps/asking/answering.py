"""Putting one question to a person: the key app writes the text from the document's bytes, they answer, it is signed.

A question about managing a booking just made is not put to the person again: the key app verifies the host's receipt
and signs what can only cancel or move it (docs/decisions/0002).
"""

from __future__ import annotations

from typing import Protocol

from sayso.apps.asking.person import Person
from sayso.core.refusal import Refused
from sayso.governance.consent import Answer, Mode
from sayso.scheduling.keyapp.app import KeyApp, Shown

__all__ = ("Tells", "answer_question")


class Tells(Protocol):
    """Who is told what became of a question."""

    def signed(self, shown: Shown) -> None:
        """The key app signed something."""
        ...

    def not_signed(self, why: str) -> None:
        """The key app did not sign, for another reason than the person's no."""
        ...


async def answer_question(kind: str, document: bytes, key_app: KeyApp, person: Person, tells: Tells) -> Answer:
    """The person's signed yes, or a no with its reason. Nothing is refused: what cannot be signed is a no."""
    try:
        shown = await key_app.present(kind, document)
        if kind != "management" and not await person.agrees(shown):
            return Answer(granted=False, document=None, reason="the person said no")
        # Nobody is asked about managing what they just booked, and the signature says so.
        mode: Mode = "preapproved" if kind == "management" else person.mode
        signed = await _sign(key_app, shown, person, mode)
    except Refused as refused:
        tells.not_signed(str(refused))
        return Answer(granted=False, document=None, reason=refused.refusal.code)
    tells.signed(shown)
    return Answer(granted=True, document=signed, reason=None)


async def _sign(key_app: KeyApp, shown: Shown, person: Person, mode: Mode) -> str:
    try:
        return await key_app.issue(shown, mode)
    except Refused as refused:
        if refused.refusal.reason != "locked" or not await person.unlock():
            raise
    return await key_app.issue(shown, mode)
