"""Signing for one's own calendar: a rule, a yes or a no, shown by the key app and signed at a terminal (spec 25.4).

The calendar may be in this home, and then its desk says who it is; or elsewhere, and then its own domain does.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TextIO, TypeVar

from sayso.apps.asking.keyboard import Keyboard
from sayso.apps.asking.person import TypingPerson
from sayso.apps.cli.passphrase import ask_passphrase
from sayso.apps.host_home import OpenDesk
from sayso.apps.keys import AGENT, PRINCIPAL
from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.scheduling.keyapp.app import Documents, KeyApp
from sayso.scheduling.terms.acceptance import AnswerDraft
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.terms.rule import RuleDraft
from sayso.store.vault import Vault

__all__ = ("DeskDocuments", "kind_of", "read_signed", "sign_at_desk", "sign_at_terminal")

T = TypeVar("T")


class DeskDocuments:
    """The document of the one calendar that this home serves."""

    def __init__(self, document: bytes) -> None:
        self._document = strictjson.decode(document, Discovery)

    async def checked(self, address: str, check: Callable[[Discovery], T]) -> T:
        """Refused: unverified, for any other host."""
        if address != self._document.host:
            raise refused("unverified")
        return check(self._document)


def kind_of(data: bytes) -> str:
    """What a document asks for, told by its members alone. Refused: document_invalid."""
    for kind, shape in (("answer", AnswerDraft), ("rule", RuleDraft)):
        try:
            strictjson.decode(data, shape)
        except Refused:
            continue
        return kind
    raise refused("document_invalid", "It is neither an answer nor a rule that waits for a signature.")


async def sign_at_terminal(
    vault: Vault,
    clock: Clock,
    fetcher: Fetcher,
    out: TextIO,
    data: bytes,
    *,
    agent: str | None = None,
    documents: Documents | None = None,
) -> str:
    """The signed document, after the person read its text and said yes. `agent` is the keeper a rule may name.

    Refused: no_terminal, consent_refused, locked, and as `KeyApp.present` and `KeyApp.sign`.
    """
    app = KeyApp(
        vault,
        fetcher,
        clock,
        SystemIds(),
        name=PRINCIPAL,
        agent=agent or vault.public(AGENT).thumbprint,
        documents=documents,
    )
    person = TypingPerson(vault, out, lambda: ask_passphrase("Passphrase of your keys: "), Keyboard())
    if person.mode != "human_present":
        raise Refused.because(
            "no_terminal", "What is signed for your own calendar, you sign yourself.", help="Run it on a terminal."
        )
    shown = await app.present(kind_of(data), data)
    if not await person.agrees(shown):
        raise refused("consent_refused", "Nothing was signed.")
    if vault.protection(PRINCIPAL) != "none" and not await person.unlock():
        raise refused("locked")
    return app.sign(shown, "human_present")


async def sign_at_desk(opened: OpenDesk, out: TextIO, data: bytes) -> str:
    """The same for the calendar of this very home. Refused: person_must_answer, where its owner's key is elsewhere."""
    vault = Vault(opened.keys or opened.home.path, opened.clock)
    is_here = {PRINCIPAL, AGENT} <= set(vault.names())
    if not is_here or principal_urn(vault.public(PRINCIPAL)) != opened.desk.profile.owner:
        raise refused(
            "person_must_answer", "The key of this calendar's owner is not in this home: hand in what they signed."
        )
    async with Fetcher() as fetcher:
        documents = DeskDocuments(opened.desk.document_at(opened.clock.now()))
        return await sign_at_terminal(vault, opened.clock, fetcher, out, data, documents=documents)


def read_signed(path: Path) -> str:
    """The one token in a file. Refused: document_invalid."""
    try:
        return path.read_text(encoding="ascii").strip()
    except UnicodeDecodeError:
        raise refused("document_invalid", f"{path.name} holds no signed document.") from None
