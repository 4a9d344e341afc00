"""The Gate for people: what waits, what each proposal asks, and the decision with its reason (GTW-032, GTW-060).

The page decides nothing itself: `governance.gate` judges who may decide, whether it is too late and whether the signed
answer proves what it should. Here a person is shown what they decide on, and signs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from starlette.responses import Response

from sayso.apps.console.desk import HOUSE_AGENT, Desk
from sayso.apps.console.signing import find_question, show_asked, sign_question
from sayso.apps.console.visit import Visit
from sayso.apps.console.words import in_words
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refusal, Refused
from sayso.governance.consent import Answer, Question
from sayso.governance.machine import ENDED, ProposalState
from sayso.governance.proposal import Proposal

__all__ = ("agent_names", "answer", "approve", "queue_rows", "reject", "show_one", "show_queue")

CHOICES: Mapping[str, tuple[str, frozenset[ProposalState]]] = {
    "pending": ("Waiting", frozenset({ProposalState.PENDING})),
    "running": (
        "Being carried out",
        frozenset({ProposalState.APPROVED, ProposalState.EXECUTING, ProposalState.AWAITING_PERSON}),
    ),
    "over": ("Over", ENDED),
}
"""What the tabs show."""

_PAGE = 25
_MOST_ASKING = 200
_SHORT = 160


class QueueRow(msgspec.Struct, frozen=True, kw_only=True):
    """One proposal in a list."""

    id: str
    title: str
    agent_name: str
    door: str
    state: str
    short: str
    created_at: datetime
    expires_at: datetime
    deadline: datetime | None


async def show_queue(visit: Visit) -> Response:
    """What waits, with second questions first; by `state` also what is under way and what is over."""
    chosen = visit.query("state") or "pending"
    if chosen not in CHOICES:
        raise Refused.because("unknown_state", "There is no such list")
    after = visit.query("after", longest=64) or None
    gate = visit.desk.gate
    found = await gate.list(states=CHOICES[chosen][1], after=after, limit=_PAGE)
    asking = await gate.list(states={ProposalState.AWAITING_PERSON}, limit=_MOST_ASKING)
    values: dict[str, Any] = {
        "asking": await queue_rows(visit.desk, asking),
        "found": await queue_rows(visit.desk, found),
        "next": found[-1].id if len(found) == _PAGE else None,
        "chosen": chosen,
        "after": after,
        "heading": CHOICES[chosen][0],
        "choices": [(name, label) for name, (label, _states) in CHOICES.items()],
    }
    return visit.show("gate_queue.html" if visit.is_part else "gate.html", **values)


async def show_one(visit: Visit) -> Response:
    """One proposal: what is asked, by whom, and what a yes would sign."""
    return await _show(visit, None)


async def approve(visit: Visit) -> Response:
    """Yes, with a reason and, where others are touched, the person's signature over the text on the page."""
    desk, proposal_id = visit.desk, visit.passed("proposal_id")
    try:
        reason = visit.form.needed("reason", "The reason", longest=1000)
        found = await desk.gate.find(proposal_id)
        # What is decided already is not signed first and refused afterwards.
        question = await find_question(desk, found) if found.state is ProposalState.PENDING else None
        answers = [] if question is None else [await _signed(visit, question)]
        await desk.gate.approve(proposal_id, visit.decider, reason=reason, answers=answers)
    except (Refused, PeerRefused, PeerUnreachable) as failed:
        return await _again(visit, _said(failed))
    return visit.go(f"/gate/{proposal_id}", "approved")


async def reject(visit: Visit) -> Response:
    """No, with a reason."""
    proposal_id = visit.passed("proposal_id")
    try:
        reason = visit.form.needed("reason", "The reason", longest=1000)
        await visit.desk.gate.reject(proposal_id, visit.decider, reason=reason)
    except Refused as refused:
        return await _again(visit, refused.refusal)
    return visit.go(f"/gate/{proposal_id}", "rejected")


async def answer(visit: Visit) -> Response:
    """Yes or no to the second question of an act that is under way."""
    desk, proposal_id = visit.desk, visit.passed("proposal_id")
    try:
        proposal = await desk.gate.find(proposal_id)
        if proposal.question is None:
            raise Refused.because("not_asked", "No second question waits for an answer", help="See how it stands now.")
        if visit.form.text("moves", longest=20) != f"{proposal.moves}":
            raise Refused.because("text_changed", "Another question is open by now", help="Read it, and answer then.")
        await desk.gate.answer(proposal_id, visit.decider, await _answer(visit, proposal.question))
    except (Refused, PeerRefused, PeerUnreachable) as failed:
        return await _again(visit, _said(failed))
    return visit.go(f"/gate/{proposal_id}", "answered")


async def _answer(visit: Visit, question: Question) -> Answer:
    match visit.form.text("say", longest=3):
        case "yes":
            return await _signed(visit, question)
        case "no":
            return Answer(granted=False, reason=visit.form.needed("reason", "The reason", longest=1000))
        case _:
            raise Refused.because("field_invalid", "The answer is neither yes nor no", place="say")


async def _signed(visit: Visit, question: Question) -> Answer:
    """The person's signature: they typed the passphrase in this form, or within the last minutes in this sign-in."""
    await visit.unlock()
    text, document = (visit.form.text(name, longest=64) for name in ("text_sha256", "document_sha256"))
    return await sign_question(visit.desk, question, (text, document), "human_present")


def _said(failed: Refused | PeerRefused | PeerUnreachable) -> Refusal:
    """Why nothing was decided; whoever else was needed for it is named."""
    if isinstance(failed, Refused):
        return failed.refusal
    return Refusal(code="peer_failed", message=str(failed), help="Nothing was decided. Try again in a while.")


async def _again(visit: Visit, refusal: Refusal) -> Response:
    """The page again with what was wrong; where there is no such proposal, that alone."""
    if refusal.code.startswith("unknown_"):
        raise Refused(refusal)
    return await _show(visit, refusal)


async def _show(visit: Visit, said: Refusal | None) -> Response:
    desk = visit.desk
    proposal = await desk.gate.find(visit.passed("proposal_id"))
    values: dict[str, Any] = {"proposal": proposal, "state": proposal.state.value, "moved": visit.is_part}
    if visit.is_part:
        return visit.show("gate_standing.html", **values)
    is_second = proposal.state is ProposalState.AWAITING_PERSON
    question = await show_asked(desk, proposal)
    # An act that is registered no more can still be looked at, and rejected.
    act = next((each for each in desk.registry.acts() if each.name == proposal.act), None)
    values |= {
        "agent_name": (await agent_names(desk)).get(proposal.agent, proposal.agent),
        "asked_for": proposal.note.decode(errors="replace") if proposal.agent == HOUSE_AGENT else None,
        "act": act,
        "verdict": _verdict(desk, proposal),
        "question": question,
        "is_second": is_second,
        "may_decide": visit.login.role != "viewer" and (is_second or proposal.state is ProposalState.PENDING),
    }
    return visit.show("gate_one.html", said=said, **values)


def _verdict(desk: Desk, proposal: Proposal) -> str:
    titles = {each.number: each.title for each in desk.gate.constitution.articles}
    named = f"Article {proposal.article} ({titles.get(proposal.article, 'of another version')})"
    if proposal.state is ProposalState.REFUSED_BY_CONSTITUTION:
        return f"{named} forbids it."
    return f"{named} allows it, once a person has decided."


async def queue_rows(desk: Desk, proposals: Sequence[Proposal]) -> Sequence[QueueRow]:
    """Proposals as a list shows them."""
    names = await agent_names(desk)
    return [_row(each, names) for each in proposals]


def _row(proposal: Proposal, names: Mapping[str, str]) -> QueueRow:
    words = "; ".join(f"{said.label} {' '.join(said.lines)}".strip() for said in in_words(proposal.arguments))
    return QueueRow(
        id=proposal.id,
        title=proposal.title,
        agent_name=names.get(proposal.agent, proposal.agent),
        door=proposal.door,
        state=proposal.state.value,
        short=words if len(words) <= _SHORT else f"{words[:_SHORT]}…",
        created_at=proposal.created_at,
        expires_at=proposal.expires_at,
        deadline=proposal.expires_at if proposal.state is ProposalState.AWAITING_PERSON else None,
    )


async def agent_names(desk: Desk) -> Mapping[str, str]:
    """What the owner calls each agent, by its id; the house itself is none, and asks all the same."""
    return {HOUSE_AGENT: "this house", **{each.agent.id: each.agent.name for each in await desk.agents.list()}}
