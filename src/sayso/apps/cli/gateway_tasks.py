"""`sayso gateway tasks`: work assigned to agents, with a budget and a reason (GTW-005, GTW-061)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.gateway_place import at_desk, of_a_house, unlock
from sayso.apps.cli.options import json_option
from sayso.core import strictjson
from sayso.core.instants import write_instant

if TYPE_CHECKING:
    from sayso.apps.console.desk import Desk
    from sayso.gateway.tasks import Assignment

__all__ = ("tasks",)

_MOST = 1000


@click.group()
def tasks() -> None:
    """Work you give to agents. An agent finds its own in its task feed, and sends the result back there."""


@tasks.command()
@click.argument("agent")
@click.argument("task_type")
@click.option("--input", "words", default="", help="What it should do: words, or a JSON object.")
@click.option(
    "--budget-cents", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="At most so much."
)
@click.option("--domain", "domain_key", metavar="KEY", help="The domain it is about: sayso gateway memory domains")
@click.option("--reason", required=True, help="Why. Goes with the work, and into the receipt as a hash.")
@json_option
@of_a_house
def assign(
    agent: str,
    task_type: str,
    words: str,
    budget_cents: int,
    domain_key: str | None,
    reason: str,
    home: Path,
    *,
    as_json: bool,
    world: bool,
) -> None:
    """Assign work of TASK_TYPE (such as: research) to AGENT, by its name or id.

    The passphrase of your keys is asked first: what an agent is told to do, you told it.
    """
    from sayso.apps.cli.gateway_agents import find_agent
    from sayso.apps.console.pages.tasks import read_input

    async def work(desk: Desk) -> Assignment:
        found = await find_agent(desk, agent)
        await unlock(desk.vault, desk.key)
        return await desk.tasks.assign(
            found.agent.id,
            task_type,
            read_input(words.strip()),
            budget_cents=budget_cents,
            reason=reason,
            approved_by=desk.owner,
            domain_key=domain_key,
        )

    done = at_desk(home, work, is_world=world)
    if as_json:
        click.echo(strictjson.encode({"task": _facts(done)}))
    else:
        click.echo(plain(f"{done.id} is assigned. See what comes of it: sayso gateway tasks list"))


@tasks.command("list")
@click.option("--agent", help="Only those of this agent, by its name or id.")
@json_option
@of_a_house
def list_(agent: str | None, home: Path, *, as_json: bool, world: bool) -> None:
    """List what is assigned and what came of it: the newest 1000, or the newest 1000 of one agent."""
    from sayso.apps.cli.gateway_agents import find_agent
    from sayso.apps.console.pages.gate import agent_names

    async def work(desk: Desk) -> tuple[Sequence[Assignment], Mapping[str, str]]:
        which = None if agent is None else (await find_agent(desk, agent)).agent.id
        return await desk.tasks.list(agent=which, limit=_MOST), await agent_names(desk)

    found, names = at_desk(home, work, is_world=world)
    if as_json:
        click.echo(strictjson.encode({"tasks": [_facts(each) for each in found]}))
        return
    for each in found:
        budget = f"{each.budget_cents / 100:.2f}"
        click.echo(plain(f"{each.id}  {each.state:<9} {names.get(each.agent, each.agent)}: {each.task_type}, {budget}"))
        click.echo(plain(f"  because {each.reason}"))
    if not found:
        click.echo("Nothing is assigned. Assign something: sayso gateway tasks assign --help", err=True)


@tasks.command()
@click.argument("task")
@of_a_house
def withdraw(task: str, home: Path, world: bool) -> None:
    """Take work back that is not done, by its id in the list."""

    async def work(desk: Desk) -> None:
        await desk.tasks.withdraw(task, by=desk.owner)

    at_desk(home, work, is_world=world)
    click.echo("Taken back. The agent no longer finds it.")


def _facts(found: Assignment) -> dict[str, object]:
    return {
        "id": found.id,
        "agent": found.agent,
        "task_type": found.task_type,
        "input": found.input,
        "budget_cents": found.budget_cents,
        "domain_key": found.domain_key,
        "reason": found.reason,
        "approved_by": found.approved_by,
        "approved_at": write_instant(found.approved_at),
        "state": found.state,
        "artifact_type": found.artifact_type,
        "artifact_sha256": found.artifact_sha256,
    }
