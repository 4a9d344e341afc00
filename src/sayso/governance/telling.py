"""What an agent is told of its own proposal, on every door the same (GTW-034)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from sayso.core.refusal import Refusal
from sayso.governance.machine import WAITING, ProposalState
from sayso.governance.proposal import Proposal

__all__ = ("Told", "ToldDecision", "tell")


class ToldDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What the person said: yes or no, their name, their reason, and when."""

    approved: bool
    by: str
    reason: str
    at: datetime


class Told(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A proposal as its agent sees it.

    `moves` counts transitions, so that an agent can tell news from repetition. `expires_at` is there while somebody is
    waited for. `question` names what the person is asked midway, never its text. Of a failure whose `refused.reason` is
    `unknown`, nobody can tell whether it took effect: a person has been told to look.
    """

    proposal_id: str
    act: str
    title: str
    state: ProposalState
    moves: int
    created_at: datetime
    changed_at: datetime
    expires_at: datetime | None = None
    decision: ToldDecision | None = None
    question: str | None = None
    result: dict[str, Any] | None = None
    refused: Refusal | None = None


def tell(proposal: Proposal) -> Told:
    """The agent's view of a proposal; that it is the agent's own is the caller's to check (`Gate.find`)."""
    decision = proposal.decision
    return Told(
        proposal_id=proposal.id,
        act=proposal.act,
        title=proposal.title,
        state=proposal.state,
        moves=proposal.moves,
        created_at=proposal.created_at,
        changed_at=proposal.changed_at,
        expires_at=proposal.expires_at if proposal.state in WAITING else None,
        decision=None
        if decision is None
        else ToldDecision(approved=decision.approved, by=decision.name, reason=decision.reason, at=decision.at),
        question=None if proposal.question is None else proposal.question.title,
        result=None if proposal.result is None else dict(proposal.result),
        refused=proposal.refusal,
    )
