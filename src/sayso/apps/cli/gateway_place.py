"""What the commands `gateway`, `gate` and `console` share: the house they act in, and the unlock some of them need.

Letting an agent in, deciding at the Gate and letting a person into the console are the person's own acts: where their
keys are protected the passphrase is typed on a terminal, and the unlock ends with the command.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from sayso.apps.cli.options import home_option, world_option
from sayso.core.refusal import Refused
from sayso.store.vault import Vault

if TYPE_CHECKING:
    from sayso.apps.console.desk import Desk

__all__ = ("at_desk", "of_a_house", "unlock")

F = TypeVar("F", bound=Callable[..., object])
T = TypeVar("T")

_TRIES = 3


def of_a_house(command: F) -> F:
    """The options that say which house is meant."""
    return home_option(world_option(command))


def at_desk(home: Path, work: Callable[[Desk], Awaitable[T]], *, is_world: bool) -> T:
    """What `work` gives, with the house of this home opened around it. Refused: `no_keys`, and as `work`."""
    from sayso.apps.gateway_home import opening_desk
    from sayso.apps.home import open_home

    place = open_home(home, is_world=is_world)

    async def run() -> T:
        async with opening_desk(place) as desk:
            return await work(desk)

    return asyncio.run(run())


async def unlock(vault: Vault, key: str) -> None:
    """Opens the person's keys with what they type; keys without protection need nothing.

    Refused: `no_terminal`, `wrong_passphrase`, `keyring_unavailable`.
    """
    from sayso.apps.cli.passphrase import ask_passphrase

    protection = vault.protection(key)
    if protection == "none":
        return
    if protection == "keyring":
        await asyncio.to_thread(vault.unlock)
        return
    for _ in range(_TRIES):
        typed = await ask_passphrase("Passphrase of your keys: ")
        if not typed:
            raise Refused.because(
                "no_terminal",
                "Your keys are locked, and no passphrase was typed",
                help="Run it on a terminal and type the passphrase of your keys.",
            )
        try:
            await asyncio.to_thread(vault.unlock, typed)
        except Refused as refused:
            if refused.refusal.code != "wrong_passphrase":
                raise
            click.echo("That passphrase does not open your keys.", err=True)
        else:
            return
    raise Refused.because("wrong_passphrase", "The keys stay locked", help="Look for the right passphrase first.")
