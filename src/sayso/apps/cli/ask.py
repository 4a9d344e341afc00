"""`sayso ask`: the main job. Opens the house, says what the person wrote, and carries their answers."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TextIO

import anyio
import click

from sayso.apps.asking.conversation import Conversation, Ending, Outcome, Telling
from sayso.apps.asking.person import Person, PreapprovedPerson, TerminalPerson
from sayso.apps.asking.plain_text import plain
from sayso.apps.asking.telling import TerminalTelling
from sayso.apps.cli.logs import log_to_stderr
from sayso.apps.cli.main import DONE, REFUSED
from sayso.apps.cli.options import home_option, json_option, world_option
from sayso.apps.cli.passphrase import read_passphrase
from sayso.apps.house import LOOP, House, Wishes, open_hub
from sayso.apps.place import open_place
from sayso.control.client.local import LocalClient
from sayso.core import strictjson
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.proof.hashes import sha256_b64u

__all__ = ("ask", "converse")

ASKED = declare("ask.requested", "The person asked for something in their own words; the hash of the words.")
ENDED = declare("ask.ended", "What became of a request, and whether anything was left held.")
_CLEAN_UP_SECONDS = 10


@click.command()
@click.argument("text", nargs=-1, required=True)
@home_option
@world_option
@click.option("--yes", is_flag=True, help="Answer yes beforehand. What is signed then says that nobody was asked.")
@click.option("--limits-only", is_flag=True, help="Sign the limits only, where the host allows it, not each offer.")
@json_option
def ask(text: tuple[str, ...], home: Path, world: bool, yes: bool, limits_only: bool, as_json: bool) -> int:
    """Book, move, cancel or look up appointments in your own words.

    You are shown the exact text of what would be signed; Enter is no. Ends with 0 when it was done or answered, 1 when
    it was refused or is impossible, 2 when called wrongly, 3 when it could not start.

    \b
      sayso ask 'Book my oil change Thursday around 1 PM, under $100'
      sayso ask What do I have next week
      sayso ask Cancel my haircut
    """
    words = " ".join(text).strip()
    if not words:
        raise click.UsageError('Say what you want: sayso ask "Book a haircut tomorrow after 3"')
    log_to_stderr()
    out = sys.stderr if as_json else sys.stdout
    wishes = Wishes(limits_only=limits_only)

    async def run() -> int:
        async with open_place(home, is_world=world, wishes=wishes, told=out) as house:
            person = _person(house, out, yes=yes)
            ending = await converse(house, words, person, TerminalTelling(out))
            receipts = (await house.ledger.standing()).records
        _print_ending(ending, receipts, as_json=as_json)
        return DONE if ending.outcome is Outcome.DONE else REFUSED

    return _run_until_stopped(run)


def _person(house: House, out: TextIO, *, yes: bool) -> Person:
    def passphrase() -> str | None:
        return read_passphrase("Passphrase of your keys: ")

    if yes:
        return PreapprovedPerson(house.vault, out, passphrase)
    return TerminalPerson(house.vault, out, passphrase, converses=sys.stdin.isatty())


async def converse(house: House, words: str, person: Person, telling: Telling) -> Ending:
    """One request from the person's words to its end, with its receipts; a question back is answered where possible.

    When it is stopped in between, the run is cancelled, what is held is given back, and the receipts say so.
    """
    await house.ledger.append(
        Draft(kind=ASKED, actor=house.principal, inputs_sha256=sha256_b64u(words.encode()), body={"mode": person.mode})
    )
    async with _conversation(house, person, telling) as conversation:
        try:
            ending = await conversation.say(words)
            while ending.outcome is Outcome.ASKS and (more := await person.reply(ending.text)) is not None:
                ending = await conversation.say(more)
        except (asyncio.CancelledError, KeyboardInterrupt):
            with anyio.CancelScope(shield=True), anyio.move_on_after(_CLEAN_UP_SECONDS):
                await conversation.cancel()
                released = await house.operations.release_open_holds()
                await _end(house, "stopped", len(released))
            raise
    released = await house.operations.release_open_holds()
    await _end(house, ending.outcome.value, len(released))
    await house.sign_checkpoint()
    return ending


async def _end(house: House, outcome: str, released: int) -> None:
    await house.ledger.append(
        Draft(kind=ENDED, actor=house.guest.agent, body={"outcome": outcome, "released": released})
    )


@contextlib.asynccontextmanager
async def _conversation(house: House, person: Person, telling: Telling) -> AsyncIterator[Conversation]:
    async with open_hub(house) as hub, LocalClient(hub, ids=house.ids) as client:
        session = await client.open(LOOP)
        yield Conversation(client, session.session_id, house.key_app, person, telling)


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


def _run_until_stopped(run: Callable[[], Any]) -> int:
    try:
        code: int = asyncio.run(run())
    except KeyboardInterrupt:
        click.echo("\nStopped. Nothing was booked, and nothing is held.", err=True)
        return REFUSED
    return code
