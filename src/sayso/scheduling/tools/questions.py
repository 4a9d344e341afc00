"""The three questions a person is asked, each with the bytes it is about and the text written from them.

Spec section 15.5. The person's own surface writes the text again from the bytes and does not trust this one.
"""

from __future__ import annotations

from sayso.core import strictjson
from sayso.governance.consent import Question
from sayso.scheduling.terms.consent_text import limits_text, management_text, offer_text, verified_identity
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.draft import DRAFT_MEDIA_TYPE, MANAGEMENT_MEDIA_TYPE, OFFER_MEDIA_TYPE, ManagementDraft
from sayso.scheduling.terms.mandate import Constraints
from sayso.scheduling.terms.offer_checks import VerifiedOffer
from sayso.scheduling.terms.quoted import named
from sayso.scheduling.terms.receipt_checks import VerifiedReceipt
from sayso.scheduling.tools.wanted import Wanted

__all__ = ("limits_question", "management_question", "offer_question")


def limits_question(wanted: Wanted, document: Discovery) -> Question:
    """May the assistant book within these limits?"""
    return Question(
        kind="limits",
        title=f"Let your assistant book at {named(document.title)}, within limits?",
        text=limits_text(wanted.draft, document),
        document=wanted.document,
        media_type=DRAFT_MEDIA_TYPE,
    )


def offer_question(offer: VerifiedOffer, document: Discovery) -> Question:
    """Is this offer, word for word, what the person wants?"""
    return Question(
        kind="offer",
        title=f"Approve this offer of {named(document.title)}?",
        text=offer_text(offer.claims, verified_identity(document)),
        document=offer.token.encode("ascii"),
        media_type=OFFER_MEDIA_TYPE,
    )


def management_question(receipt: VerifiedReceipt, limits: Constraints, mandate: str, document: Discovery) -> Question:
    """May the assistant cancel or move what was booked, later?"""
    return Question(
        kind="management",
        title="Let your assistant cancel or move this booking later?",
        text=management_text(receipt.booking, limits, verified_identity(document)),
        document=strictjson.encode(ManagementDraft(receipt=receipt.token, mandate=mandate)),
        media_type=MANAGEMENT_MEDIA_TYPE,
    )
