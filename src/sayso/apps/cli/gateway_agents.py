"""`sayso gateway agents`: agents and their keys (GTW-010, GTW-013, GTW-061).

A key is printed once, or written to a file that only its owner reads; only its hash is kept.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.gateway_place import at_desk, of_a_house, unlock
from sayso.apps.cli.options import json_option
from sayso.core import strictjson
from sayso.core.instants import write_instant
from sayso.core.refusal import Refused

if TYPE_CHECKING:
    from sayso.apps.console.desk import Desk
    from sayso.gateway.guard.agents import AgentRow, Issued

__all__ = ("agents", "find_agent")

_SCOPES = ("mcp", "a2a", "acp", "tasks", "disclose", "propose")
_LONGEST_REASON = 200

_key_file = click.option(
    "--key-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the key to this new file, readable by you alone, instead of printing it.",
)


@click.group()
def agents() -> None:
    """Agents from outside, and the keys you gave them.

    AGENT is an agent's name or its id. Giving a key away needs the passphrase of your keys, typed on a terminal; taking
    one back needs nothing.
    """


@agents.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(_SCOPES),
    help="What it may use; all of them where none is named. May be given several times.",
)
@_key_file
@json_option
@of_a_house
def issue(name: str, scopes: tuple[str, ...], key_file: Path | None, home: Path, *, as_json: bool, world: bool) -> None:
    """Let an agent in under NAME, and give it its first key."""
    allowed = frozenset(scopes or _SCOPES)
    _give(home, world, key_file, as_json, lambda desk: desk.agents.issue(name, by=desk.owner, scopes=allowed))


@agents.command()
@click.argument("agent")
@click.option("--keep-old", is_flag=True, help="Let the old keys go on working, until you revoke them.")
@_key_file
@json_option
@of_a_house
def rotate(agent: str, keep_old: bool, key_file: Path | None, home: Path, *, as_json: bool, world: bool) -> None:
    """Give AGENT a new key; the old ones stop working at once."""

    async def work(desk: Desk) -> Issued:
        found = await find_agent(desk, agent)
        return await desk.agents.rotate(found.agent.id, by=desk.owner, keep_old=keep_old)

    _give(home, world, key_file, as_json, work)


@agents.command()
@click.argument("agent")
@_key_file
@json_option
@of_a_house
def reissue(agent: str, key_file: Path | None, home: Path, *, as_json: bool, world: bool) -> None:
    """Let a suspended AGENT in again, under one new key; its violations start from nothing."""

    async def work(desk: Desk) -> Issued:
        return await desk.agents.reissue((await find_agent(desk, agent)).agent.id, by=desk.owner)

    _give(home, world, key_file, as_json, work)


@agents.command()
@click.argument("which", metavar="AGENT|KEY_ID")
@of_a_house
def revoke(which: str, home: Path, world: bool) -> None:
    """Take back one key by its id, or every key of an agent. The next request with it is refused."""

    async def work(desk: Desk) -> int:
        key_ids = {key.key_id for row in await desk.agents.list() for key in row.keys}
        target = which if which in key_ids else (await find_agent(desk, which)).agent.id
        return await desk.agents.revoke(target, by=desk.owner)

    gone = at_desk(home, work, is_world=world)
    click.echo(f"{gone} key{'' if gone == 1 else 's'} revoked." if gone else "It was revoked already.")


@agents.command()
@click.argument("agent")
@click.option("--reason", required=True, help="Why; kept with the suspension.")
@of_a_house
def suspend(agent: str, reason: str, home: Path, world: bool) -> None:
    """Stop every key of AGENT until you reissue."""
    if not 0 < len(reason.strip()) <= _LONGEST_REASON:
        raise click.BadParameter(f"a reason has 1 to {_LONGEST_REASON} characters", param_hint="--reason")

    async def work(desk: Desk) -> tuple[str, bool]:
        found = await find_agent(desk, agent)
        return found.agent.name, await desk.agents.suspend(found.agent.id, by=desk.owner, reason=reason)

    name, was_active = at_desk(home, work, is_world=world)
    click.echo(plain(f"{name} is suspended." if was_active else f"{name} was suspended already."))
    click.echo(plain(f"Let it in again: sayso gateway agents reissue '{name}'"))


@agents.command("list")
@json_option
@of_a_house
def list_(home: Path, *, as_json: bool, world: bool) -> None:
    """List every agent: its state, its keys, its violations that count."""

    async def work(desk: Desk) -> list[AgentRow]:
        return list(await desk.agents.list())

    rows = at_desk(home, work, is_world=world)
    if as_json:
        click.echo(strictjson.encode({"agents": [_facts(row) for row in rows]}))
        return
    for row in rows:
        violations = f"{row.violations} violation{'' if row.violations == 1 else 's'}"
        click.echo(plain(f"{row.agent.name:<24} {row.state:<10} {violations:<14} {row.agent.id}"))
        for key in row.keys:
            standing = f"revoked {write_instant(key.revoked_at)}" if key.revoked_at else "not revoked"
            click.echo(plain(f"  {key.key_id}  issued {write_instant(key.issued_at)}  {standing}"))
    if not rows:
        click.echo("No agent has been let in yet. Let one in: sayso gateway agents issue NAME", err=True)


async def find_agent(desk: Desk, which: str) -> AgentRow:
    """The agent of that id or name. Refused: `unknown_agent`."""
    for row in await desk.agents.list():
        if which in (row.agent.id, row.agent.name):
            return row
    raise Refused.because("unknown_agent", f"There is no agent {which[:80]}", help="See: sayso gateway agents list")


def _give(
    home: Path, world: bool, key_file: Path | None, as_json: bool, make: Callable[[Desk], Awaitable[Issued]]
) -> None:
    """Makes a key and hands it over; a file that cannot be made means that no key is made either."""

    async def work(desk: Desk) -> Issued:
        await unlock(desk.vault, desk.key)
        return await make(desk)

    if key_file is None:
        _tell(at_desk(home, work, is_world=world), None, as_json=as_json)
        return
    with open(key_file, "x", encoding="ascii", opener=_for_owner_alone) as file:
        try:
            issued = at_desk(home, work, is_world=world)
        except BaseException:
            key_file.unlink(missing_ok=True)
            raise
        file.write(f"{issued.key}\n")
    _tell(issued, key_file, as_json=as_json)


def _tell(issued: Issued, key_file: Path | None, *, as_json: bool) -> None:
    if as_json:
        where = {"key": issued.key} if key_file is None else {"key_file": str(key_file)}
        facts = {"agent": issued.agent.id, "name": issued.agent.name, "key_id": issued.key_id, **where}
        click.echo(strictjson.encode(facts))
        return
    sys.stderr.write(plain(f"{issued.agent.name} is {issued.agent.id}; the key's id is {issued.key_id}.") + "\n")
    if key_file is None:
        sys.stderr.write("The key is shown this once; only its hash is kept:\n")
        click.echo(issued.key)
    else:
        click.echo(f"The key is in {key_file}, which only you can read.")


def _facts(row: AgentRow) -> dict[str, object]:
    return {
        "id": row.agent.id,
        "name": row.agent.name,
        "state": row.state,
        "scopes": sorted(row.agent.scopes),
        "violations": row.violations,
        "suspended_for": row.suspended_for,
        "keys": [
            {
                "key_id": key.key_id,
                "issued_at": write_instant(key.issued_at),
                "revoked_at": None if key.revoked_at is None else write_instant(key.revoked_at),
            }
            for key in row.keys
        ],
    }


def _for_owner_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
