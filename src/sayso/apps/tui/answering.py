"""What the person answered on the panel, carried to the hub: plain permissions and answers as they are, signatures by
the key app alone.

The panel shows the text that the key app wrote from the document's bytes. What is signed is presented anew, and only
the very text that stood on the screen is agreed to: so a signature says `human_present`, and a text that changed in
between is shown again and not signed. A yes to a plain permission is a message and no consent; nothing is ever signed
for a question that carries no document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never, cast

import anyio.to_thread

from sayso.apps.asking.answering import answer_question
from sayso.apps.keys import PRINCIPAL
from sayso.apps.tui.view.answers import Declined, Given, PanelAnswer, Permitted
from sayso.apps.tui.view.blocks import Question
from sayso.control.client.agent import AgentClient
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.interaction import UserInputRequested
from sayso.core.refusal import PeerRefused, Refused

if TYPE_CHECKING:
    from sayso.apps.house import House
    from sayso.control.protocol.consent import ConsentQuestion
    from sayso.governance.consent import Answer, Mode
    from sayso.scheduling.keyapp.app import Shown
    from sayso.store.vault import Vault

__all__ = ("Again", "Answering")

_LATE = "resolution_rejected"


class Again(Exception):
    """The answer did not count: the question is put again, with the reason."""


class Answering:
    """Answers the questions of one client; `house` is whose key app signs, None where nothing can be signed."""

    def __init__(self, client: AgentClient, house: House | None) -> None:
        self._client = client
        self._house = house
        self._shown: dict[str, str] = {}
        """The text that stands on the screen, by interaction."""

    @property
    def is_locked(self) -> bool:
        """Whether a signature needs the passphrase first."""
        if self._house is None:
            return False
        vault = self._house.vault
        return vault.protection(PRINCIPAL) != "none" and not vault.is_unlocked

    async def regenerate(self, question: Question) -> str:
        """The words of a document, as the key app writes them. Refused: `no_keys`, and what the key app refuses."""
        if question.consent is None or self._house is None:
            raise Refused.because(
                "no_keys", "this home has no keys, so nothing can be signed here", help="Make them: sayso keyapp init"
            )
        shown = await self._house.key_app.present(question.consent.kind, question.consent.document_bytes)
        self._shown[question.interaction_id] = shown.text
        return shown.text

    async def answer(self, question: Question, answer: PanelAnswer) -> str | None:
        """Carries an answer out; what to tell the person, if anything. Raises `Again`, and what the client raises."""
        try:
            return await self._carry(question, answer)
        except PeerRefused as refused:
            if refused.refusal.code != _LATE:
                raise
            return "That question was answered elsewhere, or is no longer asked."

    async def _carry(self, question: Question, answer: PanelAnswer) -> str | None:
        asked = question.asked
        match answer:
            case Permitted(granted=granted):
                permission = _permission(asked)
                if granted and question.kind == "signed":
                    return await self._sign(question, permission, answer)
                # A consent that nobody can read is declined, whatever was answered.
                yes = granted and question.kind == "permission"
                await self._client.resolve(permission, granted=yes, reason=None if yes else "the person said no")
            case Given(answers=answers):
                await self._client.answer(_input(asked), answers)
            case Declined():
                if question.kind == "input":
                    await self._client.decline(_input(asked), reason="the person does not answer")
                else:
                    await self._client.resolve(_permission(asked), granted=False, reason="the person said no")
            case _:
                assert_never(answer)
        return None

    async def _sign(self, question: Question, asked: Envelope[PermissionRequested], yes: Permitted) -> str:
        house, consent = self._house, question.consent
        if house is None or consent is None:
            await self._client.resolve(asked, granted=False, reason="this surface cannot sign")
            return "Nothing can be signed here: this home has no keys."
        person = PanelPerson(house.vault, self._shown.get(question.interaction_id), yes.passphrase)
        told = _Told()
        said = await self._answered(consent, house, person, told)
        if not said.granted and person.why is not None:
            raise Again(person.why)
        if not said.granted and said.reason == "locked":
            raise Again("Your keys are locked, and nothing opened them")
        await self._client.resolve(asked, granted=said.granted, signed=said.document, reason=said.reason)
        return told.text or "Signed."

    async def _answered(self, consent: ConsentQuestion, house: House, person: PanelPerson, told: _Told) -> Answer:
        return await answer_question(consent.kind, consent.document_bytes, house.key_app, person, told)


class PanelPerson:
    """Somebody who read `text` on this terminal and said yes (`apps.asking.person.Person`)."""

    mode: Mode = "human_present"

    def __init__(self, vault: Vault, text: str | None, passphrase: str | None) -> None:
        self._vault = vault
        self._text = text
        self._passphrase = passphrase
        self.why: str | None = None
        """Why the question has to be put again."""

    async def agrees(self, shown: Shown) -> bool:
        """Only to what they saw, and only where it is known who asks."""
        if shown.text != self._text:
            self.why = "The text has changed since it was shown; please read it again"
        elif not shown.identity.is_verified:
            self.why = "Who this is could not be verified, so it is not signed"
        return self.why is None

    async def unlock(self) -> bool:
        """Opens the keys by the passphrase that was given with the yes."""
        if not self._passphrase:
            return False
        try:
            # Deriving the key takes a good part of a second, on purpose.
            await anyio.to_thread.run_sync(self._vault.unlock, self._passphrase)
        except Refused as refused:
            if refused.refusal.code != "wrong_passphrase":
                raise
            self.why = "That passphrase does not open your keys"
            return False
        return True

    async def reply(self, question: str) -> str | None:
        """The assistant's own questions are answered in the composer."""
        return None


class _Told:
    """What became of a signature, in a sentence."""

    def __init__(self) -> None:
        self.text = ""

    def signed(self, shown: Shown) -> None:
        """It was signed; what nobody was asked about is said whole."""
        self.text = f"Signed for you, without asking: {shown.text}" if shown.kind == "management" else "Signed."

    def not_signed(self, why: str) -> None:
        """It was not."""
        self.text = f"Not signed: {why}"


def _permission(asked: Envelope[PermissionRequested] | Envelope[UserInputRequested]) -> Envelope[PermissionRequested]:
    # The kind of a question says which it is, and `Question` was made by it.
    return cast("Envelope[PermissionRequested]", asked)


def _input(asked: Envelope[PermissionRequested] | Envelope[UserInputRequested]) -> Envelope[UserInputRequested]:
    return cast("Envelope[UserInputRequested]", asked)
