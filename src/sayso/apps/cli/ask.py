"""`sayso ask`: the main job. Opens the house, says what the person wrote, and carries their answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from sayso.apps.agent_home import AgentWishes, open_agent
from sayso.apps.asking.conversation import Ending, Outcome
from sayso.apps.asking.plain_text import is_text, plain
from sayso.apps.asking.session import converse
from sayso.apps.asking.telling import TerminalTelling
from sayso.apps.cli.failures import print_failure
from sayso.apps.cli.logs import log_to_stderr
from sayso.apps.cli.main import DONE, REFUSED
from sayso.apps.cli.options import home_option, json_option, world_option
from sayso.apps.cli.persons import person_at
from sayso.apps.cli.running import Stopped, run_until_stopped
from sayso.apps.house import Wishes
from sayso.apps.place import open_place
from sayso.core import strictjson
from sayso.core.refusal import Refusal

__all__ = ("ask",)


@click.command()
@click.argument("text", nargs=-1, required=True)
@home_option
@world_option
@click.option("--yes", is_flag=True, help="Answer yes beforehand. What is signed then says that nobody was asked.")
@click.option("--limits-only", is_flag=True, help="Sign the limits only, where the host allows it, not each offer.")
@click.option("--model", metavar="PROVIDER/MODEL", help="Which model; else the first provider you are signed in to.")
@json_option
def ask(
    text: tuple[str, ...], home: Path, world: bool, yes: bool, limits_only: bool, model: str | None, as_json: bool
) -> int:
    """Book, move, cancel or look up appointments in your own words.

    You are shown the exact text of what would be signed; Enter is no. Ends with 0 when it was done or answered, 1 when
    it was refused or is impossible, 2 when called wrongly, 3 when it could not start.

    \b
      sayso ask 'Book my oil change Thursday around 1 PM, under $100'
      sayso ask What do I have next week
      sayso ask Cancel my haircut
    """
    words = " ".join(text).strip()
    if not words or not is_text(words):
        raise click.UsageError('Say what you want: sayso ask "Book a haircut tomorrow after 3"')
    log_to_stderr()
    out = sys.stderr if as_json else sys.stdout
    wishes = Wishes(limits_only=limits_only)

    async def run() -> tuple[Ending, int]:
        async with (
            open_place(home, is_world=world, wishes=wishes, told=out) as house,
            open_agent(house.home, AgentWishes(model=model, is_offline=world), house=house) as agent,
        ):
            if agent.notice is not None:
                out.write(f"{agent.notice}\n")
            ending = await converse(agent, house, words, person_at(house, out, yes=yes), TerminalTelling(out))
            return ending, (await house.ledger.standing()).records

    try:
        ending, receipts = run_until_stopped(run)
    except Stopped:
        out.write("\nStopped before anything was asked of anybody.\n")
        if as_json:
            print_failure(Refusal(code="stopped", message="Stopped before anything was asked of anybody."))
        return REFUSED
    _print_ending(ending, receipts, as_json=as_json)
    return DONE if ending.outcome is Outcome.DONE else REFUSED


def _print_ending(ending: Ending, receipts: int, *, as_json: bool) -> None:
    if not as_json:
        click.echo("\n" + "\n".join(plain(line) for line in ending.text.splitlines()))
        return
    done: dict[str, Any] = {
        "outcome": ending.outcome.value,
        "said": ending.text,
        "steps": [{"tool": step.name, "failed": step.failed, "result": step.result} for step in ending.steps],
        "receipts": receipts,
    }
    sys.stdout.buffer.write(strictjson.encode(done) + b"\n")
