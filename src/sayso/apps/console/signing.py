"""What a decider would sign: the key app's own text of a question, and the signature over it (GTW-032).

The text is regenerated from the question's bytes whenever it is shown and again when it is signed, and the form carries
the hashes of the text that was on the page and of the bytes it was written from: where either is another one by then,
nothing is signed. Two documents may read alike, for instance where a host gave one title to two services.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from sayso.apps.console.desk import Desk
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.governance.consent import Answer, Mode, Question
from sayso.governance.machine import ProposalState
from sayso.governance.proposal import Proposal

__all__ = ("ShownQuestion", "find_question", "show_asked", "show_question", "sign_question")


class ShownQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question as a page shows it; with a `problem` there is no text, and nothing to sign."""

    kind: str
    text: str = ""
    text_sha256: str = ""
    document_sha256: str = ""
    expires: datetime | None = None
    is_verified: bool = False
    problem: str = ""

    @property
    def can_sign(self) -> bool:
        """Whether a yes could be signed at all."""
        return not self.problem and self.is_verified


async def find_question(desk: Desk, proposal: Proposal) -> Question | None:
    """What there is to sign now: with the decision, or as the second question of an act under way."""
    if proposal.state is ProposalState.AWAITING_PERSON:
        return proposal.question
    return await desk.gate.question(proposal.id) if proposal.state is ProposalState.PENDING else None


async def show_asked(desk: Desk, proposal: Proposal) -> ShownQuestion | None:
    """What there is to sign now as a person is shown it, or None. Nothing is refused: it is told as a problem."""
    try:
        question = await find_question(desk, proposal)
    except (Refused, PeerRefused, PeerUnreachable) as failed:
        return ShownQuestion(kind="", problem=str(failed))
    return None if question is None else await show_question(desk, question)


async def show_question(desk: Desk, question: Question) -> ShownQuestion:
    """The question in the key app's words. Nothing is refused: what cannot be shown is told as a problem."""
    try:
        shown = await desk.open_key_app().present(question.kind, question.document)
    except (Refused, PeerRefused, PeerUnreachable) as failed:
        return ShownQuestion(kind=question.kind, expires=question.expires, problem=str(failed))
    return ShownQuestion(
        kind=question.kind,
        text=shown.text,
        text_sha256=shown.text_sha256,
        document_sha256=shown.document_sha256,
        expires=question.expires,
        is_verified=shown.identity.is_verified,
    )


async def sign_question(desk: Desk, question: Question, seen: tuple[str, str], mode: Mode) -> Answer:
    """The signed yes to what was shown; `seen` are the hashes of its text and of its document.

    Refused: `text_changed`, and as `KeyApp.present` and `.issue`.
    """
    key_app = desk.open_key_app()
    shown = await key_app.present(question.kind, question.document)
    if (shown.text_sha256, shown.document_sha256) != seen:
        raise Refused.because(
            "text_changed", "The text is not the one you were shown", help="Open it again, read it, and decide then."
        )
    return Answer(granted=True, document=await key_app.issue(shown, mode))
