"""What passes the Promotion Gate: what was asked, who decided, and what came of it (GTW-030, GTW-032, GTW-034)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from sayso.core.refusal import Refusal
from sayso.governance.consent import Answer, Mode, Question
from sayso.governance.machine import WAITING, ProposalState, Standing

__all__ = ("Ask", "Decider", "Decision", "Prepared", "Proposal", "Role")

Role = Literal["owner", "approver", "viewer"]
"""What a person may do at the gate: a viewer looks, an approver and an owner decide."""


class Decider(msgspec.Struct, frozen=True, kw_only=True):
    """A signed-in person. `id` is what receipts name; `mode` is `preapproved` where a program answers for them."""

    id: str
    name: str
    role: Role
    mode: Mode = "human_present"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said, and in which words; the words stay in the row, receipts have their hash.

    `subject_sha256` is the hash of exactly what was decided (`evidence.bind`), `constitution` the version and hash it
    was decided under. `mode` is the decider's: the consent an act runs on says it too.
    """

    by: str
    name: str
    role: Role
    approved: bool
    reason: str
    at: datetime
    subject_sha256: str
    constitution: str
    mode: Mode = "human_present"


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """An agent asks for an execution.

    `owner` is the person the agent is bound to, `scopes` what its key allows. `context` ties proposals of one
    conversation together, `note` is the door's own and comes back as it went in; both are opaque here.
    """

    agent: str
    owner: str
    door: str
    act: str
    arguments: Mapping[str, Any]
    scopes: frozenset[str] = frozenset()
    context: str | None = None
    note: bytes = b""


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """One proposal as it stands.

    `expires_at` is the deadline of a state that waits for somebody, and what it was first in every other. `question` is
    what a person is asked midway, in `awaiting_person`. `refusal` says why it was refused or failed; where its `reason`
    is `unknown`, the effect may or may not be there and a person has to look. `moves` counts transitions.
    """

    id: str
    agent: str
    owner: str
    door: str
    act: str
    title: str
    arguments: Mapping[str, Any]
    arguments_sha256: str
    constitution: str
    article: str
    state: ProposalState
    context: str | None
    note: bytes
    scopes: frozenset[str]
    created_at: datetime
    expires_at: datetime
    changed_at: datetime
    moves: int
    decision: Decision | None = None
    answers: tuple[Answer, ...] = ()
    question: Question | None = None
    result: Mapping[str, Any] | None = None
    refusal: Refusal | None = None

    @property
    def standing(self) -> Standing:
        """What the machine knows of it."""
        waits = self.state in WAITING
        return Standing(state=self.state, moves=self.moves, deadline=self.expires_at if waits else None)


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal that is judged and not filed yet: nothing of it is stored. `refusal` is the constitution's no."""

    proposal: Proposal

    @property
    def id(self) -> str:
        """The id it will be found by."""
        return self.proposal.id

    @property
    def state(self) -> ProposalState:
        """`pending` or `refused_by_constitution`."""
        return self.proposal.state

    @property
    def refusal(self) -> Refusal | None:
        """Why the constitution refuses it, if it does."""
        return self.proposal.refusal
