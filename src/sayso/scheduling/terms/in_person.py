"""A guest's insisting on the person: whether anybody but the person themselves may say the host's yes (SCH-182)."""

from __future__ import annotations

from sayso.scheduling.terms.offer import OfferClaims

__all__ = ("may_rule_answer",)


def may_rule_answer(terms: OfferClaims) -> bool:
    """Whether a signed rule may answer the booking or move that stands on these terms, now or later.

    What the guest asked for stands in the offer and is carried on by every change of it.
    """
    return terms.answers is None
