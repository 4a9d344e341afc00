"""`sayso gate`: what agents asked for, and the person's answer to it (GTW-032, GTW-061).

The same gate as the console's and the doors'. Approving shows what is asked whole, and for an act that touches others
the text of what is signed, written by the key app from the document's own bytes; then it asks, unlocks and signs. Only
an answer typed on a terminal is recorded as given by a person who was there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.gateway_place import at_desk, of_a_house
from sayso.apps.cli.main import DONE, REFUSED
from sayso.apps.cli.options import json_option
from sayso.core import strictjson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sayso.apps.console.desk import Desk
    from sayso.governance.proposal import Proposal

__all__ = ("gate",)

_reason = click.option("--reason", required=True, help="Why. Kept with the decision, and told to the agent.")


@click.group()
def gate() -> None:
    """What agents asked for and may not do by themselves.

    Nothing of it happens before you say yes. A decision is made once.
    """


@gate.command("list")
@click.option("--all", "everything", is_flag=True, help="Those that are decided and over as well, the newest 100.")
@json_option
@of_a_house
def list_(everything: bool, home: Path, *, as_json: bool, world: bool) -> None:
    """List all that waits for you, the newest first, with the id that the other commands take."""
    from sayso.apps.cli.gate_deciding import list_asked
    from sayso.apps.cli.gate_text import proposal_facts, proposal_line
    from sayso.apps.console.pages.gate import agent_names

    async def work(desk: Desk) -> tuple[Sequence[Proposal], Mapping[str, str]]:
        found = await desk.gate.list(limit=100) if everything else await list_asked(desk)
        return found, await agent_names(desk)

    found, names = at_desk(home, work, is_world=world)
    if as_json:
        click.echo(strictjson.encode({"proposals": [proposal_facts(each) for each in found]}))
        return
    for each in found:
        click.echo(plain(proposal_line(each, names)))
    if not found:
        click.echo("Nothing was asked yet." if everything else "Nothing waits for you.", err=True)


@gate.command()
@click.argument("proposal")
@json_option
@of_a_house
def show(proposal: str, home: Path, *, as_json: bool, world: bool) -> None:
    """Show one in full: what is asked, and what a yes would sign."""
    from sayso.apps.cli.gate_deciding import find_proposal
    from sayso.apps.cli.gate_text import proposal_facts, proposal_lines, question_lines
    from sayso.apps.console.pages.gate import agent_names
    from sayso.apps.console.signing import ShownQuestion, show_asked

    async def work(desk: Desk) -> tuple[Proposal, ShownQuestion | None, Mapping[str, str]]:
        found = await find_proposal(desk, proposal)
        return found, await show_asked(desk, found), await agent_names(desk)

    found, question, names = at_desk(home, work, is_world=world)
    if as_json:
        click.echo(strictjson.encode({"proposal": proposal_facts(found, question)}))
        return
    for line in proposal_lines(found, names):
        click.echo(plain(line))
    if question is not None:
        click.echo("")
        for line in question_lines(question):
            click.echo(plain(line))


@gate.command()
@click.argument("proposal")
@_reason
@json_option
@of_a_house
def approve(proposal: str, reason: str, home: Path, *, as_json: bool, world: bool) -> int:
    """Say yes to PROPOSAL, after reading it whole. Enter is no, and decides nothing.

    Your keys are unlocked for this command alone. Where others are touched, you sign the text that is shown. To a
    second question the signature is the answer; the reason kept is the first decision's.
    """
    from sayso.apps.cli.gate_deciding import approve_at_terminal

    out = sys.stderr if as_json else sys.stdout
    found = at_desk(home, lambda desk: approve_at_terminal(desk, proposal, reason, out), is_world=world)
    return _told(found, as_json=as_json)


@gate.command()
@click.argument("proposal")
@_reason
@json_option
@of_a_house
def reject(proposal: str, reason: str, home: Path, *, as_json: bool, world: bool) -> int:
    """Say no to PROPOSAL, with a reason. It is over then."""
    from sayso.apps.cli.gate_deciding import reject_as_owner

    found = at_desk(home, lambda desk: reject_as_owner(desk, proposal, reason), is_world=world)
    return _told(found, as_json=as_json)


def _told(found: Proposal | None, *, as_json: bool) -> int:
    """What became of it; without a decision, that nothing did."""
    from sayso.apps.cli.gate_text import proposal_facts

    if as_json:
        click.echo(strictjson.encode({"proposal": None if found is None else proposal_facts(found)}))
    elif found is None:
        click.echo("Nothing was decided.", err=True)
    else:
        click.echo(plain(f"{found.id} is {found.state.value.replace('_', ' ')}."))
    return REFUSED if found is None else DONE
