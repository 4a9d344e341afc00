"""The receipts of a proposal: one for each transition, chained singly (GTW-030, GTW-050, GTW-051).

Each names the proposal, the act, the state left and entered and the number of the move, and points back at the
proposal's receipt before it by `previous`, its place in the same log. Words, arguments and results stay in the rows;
receipts hold their hashes. An execution's intent (`proposal.executing`) is durable before anything outside is touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sayso.core.strictjson import JsonValue
from sayso.governance.machine import ProposalState
from sayso.governance.proposal import Proposal
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft, Link

__all__ = ("ANSWERED", "draft_move")

_KINDS: Final[Mapping[ProposalState, str]] = {
    ProposalState.PROPOSED: declare("proposal.proposed", "An agent asked for an act; the hash of its arguments."),
    ProposalState.REFUSED_BY_CONSTITUTION: declare(
        "proposal.refused_by_constitution", "An article refused it; no person was asked."
    ),
    ProposalState.PENDING: declare("proposal.pending", "The constitution let it through to the queue of people."),
    ProposalState.APPROVED: declare(
        "proposal.approved", "A person said yes; the hashes of what it is bound to and of the reason."
    ),
    ProposalState.REJECTED: declare("proposal.rejected", "A person said no; the hash of the reason."),
    ProposalState.EXPIRED: declare("proposal.expired", "Nobody answered in time, so the answer is no."),
    ProposalState.WITHDRAWN: declare("proposal.withdrawn", "The agent took it back before it began."),
    ProposalState.EXECUTING: declare(
        "proposal.executing", "Its act begins, or is taken up again; nothing outside was touched before this."
    ),
    ProposalState.AWAITING_PERSON: declare(
        "proposal.awaiting_person", "Its act waits for one more signature; the hash of the text and of the document."
    ),
    ProposalState.EXECUTED: declare("proposal.executed", "Its act was done; the hash of what it answered."),
    ProposalState.FAILED: declare("proposal.failed", "Its act was not done, or nobody can tell; the code says why."),
}
ANSWERED = declare("proposal.answered", "A person answered what was asked midway; `granted` tells which way.")

_ARTICLES: Final[Mapping[ProposalState, str]] = {
    ProposalState.EXPIRED: "IX",
    ProposalState.WITHDRAWN: "IX",
}


def draft_move(
    before: ProposalState | None,
    after: Proposal,
    *,
    actor: str,
    previous: int | None,
    kind: str | None = None,
    article: str | None = None,
    facts: Mapping[str, JsonValue] | None = None,
    links: tuple[Link, ...] = (),
    output_sha256: str | None = None,
) -> Draft:
    """The receipt of one move. `article` where it is another than the proposal's own or the state's."""
    body: dict[str, JsonValue] = {"proposal": after.id, "act": after.act, "to": after.state.value, "move": after.moves}
    if before is not None:
        body["from"] = before.value
    if previous is not None:
        body["previous"] = previous
    return Draft(
        kind=kind or _KINDS[after.state],
        actor=actor,
        article=article or _ARTICLES.get(after.state, after.article),
        inputs_sha256=after.arguments_sha256,
        output_sha256=output_sha256,
        links=links,
        body={**body, **(facts or {})},
    )
