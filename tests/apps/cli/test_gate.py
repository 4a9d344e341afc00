"""`sayso gate`: read it whole, say yes or no; and what is signed when others are touched."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from sayso.apps.console.desk import Desk
from sayso.apps.gateway_home import opening_desk
from sayso.apps.home import open_home
from sayso.apps.house import Wishes
from sayso.apps.place import open_place
from sayso.governance.machine import ProposalState
from sayso.governance.proposal import Ask, Proposal
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.world.process import running_world
from tests.apps.cli.typed import PASSPHRASE, made, run
from tests.journeys.house import MAPLE, MAPLE_ID, sayso
from tests.journeys.terminal import at_terminal

T = TypeVar("T")
NOTE = {"title": "Tyres", "statement": "Winter tyres are in the shed.", "domain_keys": [], "confidence": 0.9}
SLOT = {
    "host": f"{MAPLE_ID}@{MAPLE}",
    "service_id": "oil-change",
    "start": "2026-10-15T13:00:00-04:00",
    "earliest_start": "2026-10-15T11:00:00-04:00",
    "latest_start": "2026-10-15T15:00:00-04:00",
    "max_price": {"amount": "100.00", "currency": "CAD"},
}


def at_desk(home: Path, work: Callable[[Desk], Awaitable[T]], *, is_world: bool = False) -> T:
    async def opened() -> T:
        async with opening_desk(open_home(home, is_world=is_world)) as desk:
            return await work(desk)

    return asyncio.run(opened())


def propose(home: Path, act: str, arguments: dict[str, object], *, is_world: bool = False) -> Proposal:
    """What a door files for an agent."""

    async def file(desk: Desk) -> Proposal:
        rows = await desk.agents.list()
        agent = rows[0].agent if rows else (await desk.agents.issue("helper", by="test")).agent
        ask = Ask(agent=agent.id, owner=desk.owner, door="mcp", act=act, arguments=arguments, scopes=agent.scopes)
        return await desk.gate.file(desk.gate.prepare(ask))

    return at_desk(home, file, is_world=is_world)


def note(home: Path, statement: str = NOTE["statement"]) -> Proposal:
    def domain(desk: Desk) -> str:
        return desk.knowledge.domains.all()[0].key

    async def key(desk: Desk) -> str:
        return domain(desk)

    return propose(home, "submit_proposal", {**NOTE, "statement": statement, "domain_keys": [at_desk(home, key)]})


def find(home: Path, proposal_id: str, *, is_world: bool = False) -> Proposal:
    return at_desk(home, lambda desk: desk.gate.find(proposal_id), is_world=is_world)


@pytest.mark.req("GTW-032", "GTW-061")
def test_what_waits_is_listed_shown_and_rejected_with_a_reason(tmp_path: Path) -> None:
    """Whole, escaped for a terminal, and as JSON; a decision stands, and without a reason there is none."""
    home = made(tmp_path / "home", None)
    assert "Nothing waits for you" in run(home, "gate", "list").err
    asked = note(home, "first line\nsecond \x1b[31mline")
    listed = run(home, "gate", "list")
    assert (asked.id in listed.out, "helper: Submit a proposal" in listed.out) == (True, True)
    shown = run(home, "gate", "show", asked.id).out
    assert ("first line" in shown, "second ?[31mline" in shown, "Article II" not in shown) == (True, True, True)
    facts = run(home, "gate", "show", asked.id, "--json").json["proposal"]
    assert (facts["state"], facts["arguments"]["statement"]) == ("pending", asked.arguments["statement"])
    run(home, "gate", "reject", asked.id, code=2)
    assert find(home, asked.id).state is ProposalState.PENDING
    assert "is rejected" in run(home, "gate", "reject", asked.id, "--reason", "not now").out
    done = find(home, asked.id).decision
    assert done is not None
    assert (done.approved, done.reason, done.role) == (False, "not now", "owner")
    again = run(home, "gate", "approve", asked.id, "--reason", "yes", code=1)
    assert "rejected, and that stands" in again.err
    assert run(home, "gate", "list").out == ""
    assert asked.id in run(home, "gate", "list", "--all").out
    for command in (["show"], ["approve", "--reason", "x"], ["reject", "--reason", "x"]):
        failed = run(home, "gate", *command, "prop_none", "--json", code=1)
        assert (failed.json["failed"]["code"], "sayso gate list --all" in failed.err) == ("unknown_proposal", True)


@pytest.mark.req("GTW-032", "GTW-061")
def test_a_yes_is_typed_and_needs_the_passphrase(tmp_path: Path) -> None:
    """Enter decides nothing; a program that pipes a yes in decides nothing either; at a terminal the person does."""
    home = made(tmp_path / "home", PASSPHRASE)
    asked = note(home)
    approve = ("gate", "approve", asked.id, "--reason", "it is so", "--home", str(home))
    piped = sayso(*approve, answers=f"y\n{PASSPHRASE}\n")
    assert (piped.code, "no passphrase was typed" in piped.err) == (1, True)
    with at_terminal(approve) as (terminal, child):
        terminal.wait_for("Approve this? [y/N]")
        terminal.type("")
        assert ("Nothing was decided" in terminal.rest(), child.wait()) == (True, 1)
    assert find(home, asked.id).state is ProposalState.PENDING
    with at_terminal(approve) as (terminal, child):
        terminal.wait_for("Approve this? [y/N]")
        assert "Winter tyres are in the shed." in terminal.text
        terminal.type("y")
        terminal.wait_for("Passphrase of your keys:")
        terminal.type(PASSPHRASE)
        assert ("is approved" in terminal.rest(), child.wait()) == (True, 0)
    done = find(home, asked.id).decision
    assert done is not None
    assert (done.approved, done.name, done.by) == (True, "the owner, at a terminal", find(home, asked.id).owner)


@pytest.mark.req("GTW-032", "GTW-061")
def test_what_touches_others_is_signed_and_a_pipe_is_never_a_person(tmp_path: Path) -> None:
    """The key app's text whole, then a signature: `human_present` at a terminal, `preapproved` from a pipe."""
    home = tmp_path / "home"

    async def outside() -> None:
        async with running_world(home):
            async with open_place(home, is_world=True, wishes=Wishes(), told=io.StringIO()):
                pass
            await asyncio.to_thread(inside)

    def inside() -> None:
        typed = propose(home, "book_slot", SLOT, is_world=True)
        approve = ("gate", "approve", "--reason", "it is due", "--world", "--home", str(home))
        shown = run(home, "gate", "show", typed.id, "--world").out
        assert "I allow my assistant to hold and book one appointment at Maple Street Auto" in shown
        with at_terminal((*approve, typed.id)) as (terminal, child):
            terminal.wait_for("Sign this? [y/N]")
            assert "for at most CAD 100.00 in total" in terminal.text
            terminal.type("y")
            assert ("is approved" in terminal.rest(), child.wait()) == (True, 0)
        piped = propose(home, "book_slot", SLOT, is_world=True)
        done = sayso(*approve, piped.id, "--json", answers="y\n")
        assert (done.code, done.json["proposal"]["state"]) == (0, "approved")
        refused = propose(home, "book_slot", SLOT, is_world=True)
        assert sayso(*approve, refused.id, answers="no\n").code == 1
        found = [find(home, each.id, is_world=True) for each in (typed, piped, refused)]
        assert [each.state.value for each in found] == ["approved", "approved", "pending"]
        modes = [verify_mandate(each.answers[0].document or "").claims.consent.mode for each in found[:2]]
        names = [each.decision.name for each in found[:2] if each.decision]
        assert modes == ["human_present", "preapproved"]
        assert names == ["the owner, at a terminal", "the owner, answered beforehand"]

    home.mkdir(mode=0o700)
    asyncio.run(outside())
