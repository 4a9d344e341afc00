"""Did the person agree to exactly this?

`decide` is the only question. Governance owns the value `Consent` and the port `ConsentSource`; it never parses a
mandate or a grant: the systems that do implement the port and the house registers them.

Evidence, strongest first: (1) the person's signature over exactly this act, (2) limits the person signed in advance
that cover it, (3) a Promotion Gate decision bound to the hash of the validated arguments, (4) an agent-protocol grant.
A grant is a message, not consent: it is good only for acts that touch nobody else. An act on another party needs 1 or
2 at that party's protocol; a gate decision (3) leads to one of them and never replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from sayso.core.refusal import Refused

if TYPE_CHECKING:
    from sayso.governance.acts import Act

__all__ = ("Answer", "Consent", "ConsentSource", "Evidence", "Mode", "Question", "decide", "no_consent")

CONSENT_REQUIRED = "consent_required"

Mode = Literal["human_present", "preapproved"]
"""`human_present`: a person saw the text and answered; `preapproved`: a flag or a script answered for them."""


class Evidence(IntEnum):
    """How the agreement can be proved; the smaller the number, the stronger."""

    SIGNED_ACT = 1
    SIGNED_LIMITS = 2
    GATE_DECISION = 3
    GRANT = 4


class Consent(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of evidence that a person agreed.

    `by` is the person's id; `subject_sha256` the hash (base64url) of exactly what they agreed to; `document` the signed
    document itself where there is one; `document_sha256` its hash, which receipts link to. `agent` and `call_id` say
    to whom it was given and for which call, where it was given for one.
    """

    by: str
    evidence: Evidence
    subject_sha256: str
    mode: Mode
    document: str | None = None
    document_sha256: str | None = None
    agent: str | None = None
    call_id: str | None = None


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked. `text` is generated from `document`, whose bytes are what gets signed or refused.

    `expires` is when an answer comes too late, where that is known.
    """

    kind: str
    title: str
    text: str
    document: bytes
    media_type: str
    expires: datetime | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back. `document` is the signed document; a grant without one is a message and proves nothing."""

    granted: bool
    document: str | None = None
    reason: str | None = None


class ConsentSource(Protocol):
    """Where a system's evidence comes from."""

    async def consent(
        self, act_name: str, arguments: msgspec.Struct, answers: Sequence[Answer]
    ) -> Consent | Question | None:
        """Evidence for this act, the next question to ask the person, or None when this source knows nothing of it.

        Called again with every answer so far. Refused when an answer says no or does not prove what it should.
        """
        ...


def decide(act: Act, found: Sequence[Consent]) -> Consent:
    """The strongest evidence, if it is strong enough for this act. Refused: `consent_required`.

    No evidence is a no. A grant never covers an act on another party, and neither does a gate decision by itself.
    """
    weakest = Evidence.SIGNED_LIMITS if act.touches_others else Evidence.GRANT
    enough = [consent for consent in found if consent.evidence <= weakest]
    if not enough:
        raise no_consent(act.title, touches_others=act.touches_others)
    return min(enough, key=lambda consent: consent.evidence)


def no_consent(title: str, *, touches_others: bool) -> Refused:
    """The refusal for an act that nobody provably agreed to."""
    needed = "the person's signature" if touches_others else "the person's yes"
    return Refused.because(
        CONSENT_REQUIRED,
        f"{title} needs {needed}, and there is none",
        help="Answer on your own surface and sign there: a yes without a signed document does not count."
        if touches_others
        else "Ask the person.",
    )
