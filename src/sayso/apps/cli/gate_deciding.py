"""A decision at the command line: shown whole, asked, unlocked, signed (GTW-032, GTW-061; design, Consent)."""

from __future__ import annotations

from typing import TextIO

from sayso.apps.asking.keyboard import Keyboard
from sayso.apps.asking.person import TypingPerson
from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.gate_text import ASKED, proposal_lines
from sayso.apps.cli.gateway_place import unlock
from sayso.apps.cli.passphrase import ask_passphrase
from sayso.apps.console.desk import Desk
from sayso.apps.console.pages.gate import agent_names
from sayso.apps.console.signing import find_question
from sayso.core.refusal import Refused
from sayso.governance.consent import Answer, Question
from sayso.governance.machine import ProposalState
from sayso.governance.proposal import Decider, Proposal

__all__ = ("approve_at_terminal", "find_proposal", "list_asked", "reject_as_owner")

_AT_A_TIME = 200


async def list_asked(desk: Desk) -> list[Proposal]:
    """All that waits for a person, the newest first: however many agents ask, nothing drops off the end."""
    found: list[Proposal] = []
    while True:
        after = found[-1].id if found else None
        page = await desk.gate.list(states=ASKED, after=after, limit=_AT_A_TIME)
        found += page
        if len(page) < _AT_A_TIME:
            return found


async def find_proposal(desk: Desk, proposal_id: str) -> Proposal:
    """The proposal. Refused: `unknown_proposal`, with where ids are listed."""
    try:
        return await desk.gate.find(proposal_id)
    except Refused as refused:
        if refused.refusal.code != "unknown_proposal":
            raise
        message = f"There is no proposal {proposal_id[:80]}"
        raise Refused.because("unknown_proposal", message, help="See: sayso gate list --all") from None


async def approve_at_terminal(desk: Desk, proposal_id: str, reason: str, out: TextIO) -> Proposal | None:
    """The proposal as approved; None where the person said no, which decides nothing.

    Refused: as the gate and the key app refuse, `already_decided` where nothing waits for a person.
    """
    found = await find_proposal(desk, proposal_id)
    _check_waits(found)
    keyboard = Keyboard()
    names = await agent_names(desk)
    keyboard.forget()
    for line in proposal_lines(found, names):
        out.write(f"{plain(line)}\n")
    question = await find_question(desk, found)
    if question is None:
        out.write("\nThere is nothing to sign: your decision is enough.\n")
        if not await _says_yes(keyboard, out):
            return None
        await unlock(desk.vault, desk.key)
        return await desk.gate.approve(proposal_id, _owner(desk, keyboard), reason=reason)
    said = await _signed(desk, question, keyboard, out)
    if said is None:
        return None
    if found.state is ProposalState.AWAITING_PERSON:
        return await desk.gate.answer(proposal_id, _owner(desk, keyboard), said)
    return await desk.gate.approve(proposal_id, _owner(desk, keyboard), reason=reason, answers=(said,))


async def reject_as_owner(desk: Desk, proposal_id: str, reason: str) -> Proposal:
    """The proposal as rejected; a no needs no key. Refused: as the gate refuses, `already_decided`."""
    found = await find_proposal(desk, proposal_id)
    _check_waits(found)
    by = _owner(desk, Keyboard())
    if found.state is ProposalState.AWAITING_PERSON:
        return await desk.gate.answer(proposal_id, by, Answer(granted=False, reason=reason))
    return await desk.gate.reject(proposal_id, by, reason=reason)


def _check_waits(found: Proposal) -> None:
    if found.state not in ASKED:
        raise Refused.because(
            "already_decided",
            f"It is {found.state.value.replace('_', ' ')}, and that stands",
            help=f"See it: sayso gate show {found.id}",
        )


async def _signed(desk: Desk, question: Question, keyboard: Keyboard, out: TextIO) -> Answer | None:
    """The signed yes to exactly what was shown here, of whatever kind the question is; None where it is no yes."""
    person = TypingPerson(desk.vault, out, lambda: ask_passphrase("Passphrase of your keys: "), keyboard)
    key_app = desk.open_key_app()
    shown = await key_app.present(question.kind, question.document)
    if not await person.agrees(shown):
        return None
    await unlock(desk.vault, desk.key)
    signed = Answer(granted=True, document=await key_app.issue(shown, person.mode))
    out.write("Signed.\n")
    return signed


async def _says_yes(keyboard: Keyboard, out: TextIO) -> bool:
    out.write("Approve this? [y/N] ")
    out.flush()
    return (await keyboard.line()).strip().lower() in ("y", "yes")


def _owner(desk: Desk, keyboard: Keyboard) -> Decider:
    """The person whose house it is; of a pipe the record says that nobody was seen."""
    if keyboard.is_persons:
        return Decider(id=desk.owner, name="the owner, at a terminal", role="owner", mode="human_present")
    return Decider(id=desk.owner, name="the owner, answered beforehand", role="owner", mode="preapproved")
