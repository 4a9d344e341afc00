"""Proposals in words for a terminal, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sayso.apps.console.signing import ShownQuestion
from sayso.apps.console.words import in_words
from sayso.core.instants import write_instant
from sayso.governance.machine import ProposalState
from sayso.governance.proposal import Proposal

__all__ = ("ASKED", "proposal_facts", "proposal_line", "proposal_lines", "question_lines")

ASKED = frozenset({ProposalState.PENDING, ProposalState.AWAITING_PERSON})
"""Where a person is waited for."""


def proposal_line(proposal: Proposal, names: Mapping[str, str]) -> str:
    """One proposal in a list."""
    until = f"until {write_instant(proposal.expires_at)}" if proposal.state in ASKED else ""
    name = names.get(proposal.agent, proposal.agent)
    return f"{proposal.id}  {_said(proposal.state):<16} {name}: {proposal.title}  {until}".rstrip()


def proposal_lines(proposal: Proposal, names: Mapping[str, str]) -> Iterator[str]:
    """One proposal in full, a line each."""
    yield f"{proposal.title} ({proposal.act})"
    yield f"  state      {_said(proposal.state)}"
    yield f"  agent      {names.get(proposal.agent, proposal.agent)} through {proposal.door}"
    yield f"  asked      {write_instant(proposal.created_at)}"
    if proposal.state in ASKED:
        yield f"  answer by  {write_instant(proposal.expires_at)}"
    yield f"  article    {proposal.article}, constitution {proposal.constitution}"
    if (decided := proposal.decision) is not None:
        yield f"  decided    {'yes' if decided.approved else 'no'} by {decided.name}, {write_instant(decided.at)}"
        yield f"  because    {decided.reason}"
    if proposal.refusal is not None:
        yield f"  refused    {proposal.refusal}"
    yield "  arguments, as the agent gave them:"
    yield from _values(proposal.arguments)
    if proposal.result is not None:
        yield "  what came of it:"
        yield from _values(proposal.result)


def question_lines(question: ShownQuestion) -> Iterator[str]:
    """What a yes would sign, or why nothing can be signed."""
    if question.problem:
        yield f"It cannot be shown, so it cannot be signed: {question.problem}"
        return
    yield "A yes signs this, written by your key app from the document itself:"
    yield ""
    yield f"    {question.text}"
    if not question.is_verified:
        yield ""
        yield "Who this is could not be verified, so it is not signed."


def proposal_facts(proposal: Proposal, question: ShownQuestion | None = None) -> dict[str, object]:
    """One proposal for a program."""
    decided = proposal.decision
    return {
        "id": proposal.id,
        "state": proposal.state.value,
        "agent": proposal.agent,
        "door": proposal.door,
        "act": proposal.act,
        "title": proposal.title,
        "arguments": proposal.arguments,
        "arguments_sha256": proposal.arguments_sha256,
        "article": proposal.article,
        "constitution": proposal.constitution,
        "created_at": write_instant(proposal.created_at),
        "expires_at": write_instant(proposal.expires_at),
        "decision": None
        if decided is None
        else {
            "by": decided.by,
            "name": decided.name,
            "role": decided.role,
            "mode": decided.mode,
            "approved": decided.approved,
            "reason": decided.reason,
            "at": write_instant(decided.at),
        },
        "question": None if question is None else _question_facts(question),
        "result": proposal.result,
        "refusal": proposal.refusal,
    }


def _question_facts(question: ShownQuestion) -> dict[str, object]:
    return {
        "kind": question.kind or None,
        "text": question.text or None,
        "is_verified": question.is_verified,
        "expires_at": None if question.expires is None else write_instant(question.expires),
        "problem": question.problem or None,
    }


def _values(value: object) -> Iterator[str]:
    for said in in_words(value):
        lines = said.lines or ("",)
        yield f"    {'  ' * said.depth}{said.label}: {lines[0]}".rstrip()
        for line in lines[1:]:
            # Marked, so that no line of a text can pass for another argument.
            yield f"    {'  ' * said.depth}| {line}"


def _said(state: ProposalState) -> str:
    return state.value.replace("_", " ")
