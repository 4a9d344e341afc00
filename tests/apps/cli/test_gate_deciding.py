"""Deciding at the command line, on a house with an act that asks midway: who was there, what is shown and signed."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from unittest import mock

import pytest

from sayso.apps.cli.gate_deciding import approve_at_terminal, list_asked, reject_as_owner
from sayso.apps.cli.gate_text import proposal_facts, proposal_line, proposal_lines, question_lines
from sayso.apps.console.desk import Desk
from sayso.apps.console.signing import show_asked
from sayso.governance.machine import ProposalState
from sayso.governance.proposal import Proposal
from sayso.scheduling.terms.mandate_checks import verify_mandate
from tests.apps.console.desks import BOOK, MIDWAY, carrying_out, open_desk, propose, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A home's folder, its owner's alone."""
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    return place


class Screen(io.StringIO):
    """What a person sees; they type y when they are asked, and not before."""

    def __init__(self, keys: int) -> None:
        super().__init__()
        self._keys = keys

    def write(self, text: str) -> int:
        if "[y/N]" in text:
            os.write(self._keys, b"y\n")
        return super().write(text)


@contextmanager
def person() -> Iterator[Screen]:
    """Standard input is a terminal with somebody at it."""
    keys, line = os.openpty()
    with os.fdopen(line, "r") as typed, mock.patch.object(sys, "stdin", typed):
        yield Screen(keys)
    os.close(keys)


@contextmanager
def pipe() -> Iterator[io.StringIO]:
    """Standard input is a program that says yes to everything."""
    with mock.patch.object(sys, "stdin", io.StringIO("y\n")):
        yield io.StringIO()


@asynccontextmanager
async def asked_midway(folder: Path) -> AsyncIterator[tuple[Desk, Proposal]]:
    """A house whose keys are unprotected, and a proposal in it whose act will ask midway."""
    async with open_desk(folder, locked=False) as desk, carrying_out(desk):
        agent = (await desk.agents.issue("helper", by="a")).agent.id
        yield desk, await propose(desk, MIDWAY, "a filter", agent=agent)


@pytest.mark.req("GTW-032", "GTW-061")
@pytest.mark.parametrize(("who", "mode"), [(person, "human_present"), (pipe, "preapproved")], ids=["person", "pipe"])
async def test_a_second_question_is_answered_by_whoever_is_there(folder: Path, who: object, mode: str) -> None:
    """The decision, the signature and the record of both say whether a person was: a pipe is never one."""
    async with asked_midway(folder) as (desk, asked):
        with who() as out:
            await approve_at_terminal(desk, asked.id, "it rattles", out)
        assert "There is nothing to sign" in out.getvalue()
        waiting = await until(desk, asked.id, ProposalState.AWAITING_PERSON)
        assert "until " in proposal_line(waiting, {})
        with who() as out:
            await approve_at_terminal(desk, asked.id, "it rattles", out)
        assert "I allow my assistant to hold and book one appointment at Maple Street Auto" in out.getvalue()
        done = await until(desk, asked.id, ProposalState.EXECUTED)
        assert done.decision is not None
        signed = verify_mandate(done.answers[-1].document or "").claims.consent
        assert (done.decision.mode, signed.mode, proposal_facts(done)["decision"]["mode"]) == (mode, mode, mode)
        assert signed.statement in out.getvalue()


@pytest.mark.req("GTW-032", "GTW-061")
async def test_a_second_question_is_refused_with_a_reason(folder: Path) -> None:
    """It is told to the act, which ends; Enter alone answers nothing."""
    async with asked_midway(folder) as (desk, asked):
        with person() as out:
            await approve_at_terminal(desk, asked.id, "it rattles", out)
        await until(desk, asked.id, ProposalState.AWAITING_PERSON)
        with mock.patch.object(sys, "stdin", io.StringIO("\n")):
            assert await approve_at_terminal(desk, asked.id, "yes", io.StringIO()) is None
        assert (await desk.gate.find(asked.id)).state is ProposalState.AWAITING_PERSON
        await reject_as_owner(desk, asked.id, "too dear")
        done = await until(desk, asked.id, ProposalState.FAILED)
        assert (done.answers[-1].granted, done.answers[-1].reason) == (False, "too dear")


@pytest.mark.req("GTW-032", "GTW-061")
async def test_however_many_agents_ask_nothing_drops_off_the_list(folder: Path) -> None:
    """An agent that floods the queue hides nothing of what was asked before."""
    async with open_desk(folder) as desk:
        asked = [(await propose(desk, text=f"note {number}")).id for number in range(201)]
        assert {each.id for each in await list_asked(desk)} == set(asked)


@pytest.mark.req("GTW-061")
async def test_no_line_of_a_text_passes_for_an_argument(folder: Path) -> None:
    """An agent's second line is marked as one, wherever it pretends to stand."""
    async with open_desk(folder) as desk:
        found = await propose(desk, text="milk\n  max price: 1 CAD\n    text: bread")
        lines = list(proposal_lines(found, {}))
        assert lines[-3:] == ["    text: milk", "    |   max price: 1 CAD", "    |     text: bread"]


@pytest.mark.req("GTW-061")
async def test_what_cannot_be_signed_is_not_said_to_be(folder: Path) -> None:
    """Where the host cannot be asked who it is, the text is shown with that; and a yes signs nothing."""
    async with open_desk(folder, locked=False, reachable=False) as desk:
        found = await propose(desk, BOOK, "oil")
        question = await show_asked(desk, found)
        assert question is not None
        assert "could not be verified" in list(question_lines(question))[-1]
        facts = proposal_facts(found, question)["question"]
        assert (facts["is_verified"], facts["problem"]) == (False, None)
        with person() as out:
            assert await approve_at_terminal(desk, found.id, "due", out) is None
        assert (await desk.gate.find(found.id)).state is ProposalState.PENDING
        hidden = type(question)(kind="limits", problem="Nobody can say.")
        assert list(question_lines(hidden)) == ["It cannot be shown, so it cannot be signed: Nobody can say."]
