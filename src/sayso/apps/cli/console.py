"""`sayso console`: who may sign in to the console (GTW-060). The console itself is served by `sayso up`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sayso.apps.cli.gateway_place import of_a_house, unlock
from sayso.apps.cli.options import json_option
from sayso.core.refusal import Refused
from sayso.governance.proposal import Role

if TYPE_CHECKING:
    from sayso.apps.home import Home
    from sayso.ledger.ledger import Ledger
    from sayso.store.unit import Store
    from sayso.store.vault import Vault

__all__ = ("console",)


@dataclass(frozen=True, slots=True)
class OpenHome:
    """A home with the parts that users are kept in."""

    place: Home
    vault: Vault
    store: Store
    ledger: Ledger
    owner: str


@click.group()
def console() -> None:
    """The console: your agents, decisions and receipts in a browser.

    It is served on loopback by sayso up. Nobody can sign in before you add a user.
    """


@console.group()
def user() -> None:
    """Who may sign in to the console."""


@user.command()
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["owner", "approver", "viewer"]),
    default="owner",
    show_default=True,
    help="An owner does everything, an approver decides, a viewer looks.",
)
@of_a_house
def add(name: str, role: Role, home: Path, world: bool) -> None:
    """Let a person sign in as NAME, with a password typed here.

    The passphrase of your keys is asked first: only you let others in.
    """
    from sayso.apps.console.users import add_user, check_name

    check_name(name)
    with _opened(home, is_world=world) as house:
        _unlock(house)
        secret = _new_password()
        house.store.run(lambda unit: add_user(unit, house.ledger, house.owner, name, role, secret, by=house.owner))
    click.echo(f"{name} may sign in as {role}. The console is served by: sayso up")


@user.command("list")
@json_option
@of_a_house
def list_(home: Path, *, as_json: bool, world: bool) -> None:
    """List who may sign in, and as what."""
    from sayso.apps.console.users import list_users
    from sayso.core import strictjson
    from sayso.core.instants import write_instant

    with _opened(home, is_world=world) as house:
        found = house.store.read(lambda view: list_users(view, house.owner))
    rows = [{"name": each.name, "role": each.role, "added": write_instant(each.added)} for each in found]
    if as_json:
        click.echo(strictjson.encode({"users": rows}))
        return
    for row in rows:
        click.echo(f"{row['name']:<32} {row['role']:<9} since {row['added']}")
    if not rows:
        click.echo("Nobody can sign in yet. Add yourself: sayso console user add NAME", err=True)


@user.command()
@click.argument("name")
@of_a_house
def remove(name: str, home: Path, world: bool) -> None:
    """Take back the sign-in of NAME; wherever they are signed in, they are no longer."""
    from sayso.apps.console.users import remove_user

    with _opened(home, is_world=world) as house:
        _unlock(house)
        house.store.run(lambda unit: remove_user(unit, house.ledger, house.owner, name, by=house.owner))
    click.echo(f"{name} can no longer sign in.")


def _new_password() -> str:
    """What is kept of a password typed twice alike. Refused: `no_terminal`, `not_typed_twice`, `password_too_weak`."""
    from sayso.apps.cli.passphrase import read_passphrase
    from sayso.apps.console.passwords import Passwords

    first = read_passphrase("A password for the console: ")
    if not first:
        raise Refused.because(
            "no_terminal", "No password was given, so nobody was added", help="Run it on a terminal and type one."
        )
    secret = Passwords().secret(first)
    if read_passphrase("The same once more: ") != first:
        raise Refused.because("not_typed_twice", "The two were not alike, so nobody was added", help="Try again.")
    return secret


def _unlock(house: OpenHome) -> None:
    from sayso.apps.keys import PRINCIPAL

    asyncio.run(unlock(house.vault, PRINCIPAL))


@contextmanager
def _opened(home: Path, *, is_world: bool) -> Iterator[OpenHome]:
    from sayso.apps.home import open_home
    from sayso.apps.keys import PRINCIPAL, has_keys, log_name, make_keys
    from sayso.ledger.ledger import Ledger
    from sayso.scheduling.terms.identity import principal_urn
    from sayso.store.open import open_store
    from sayso.store.vault import Vault

    place = open_home(home, is_world=is_world)
    vault = Vault(place.path, place.clock)
    if is_world:
        make_keys(vault, None)
    if not has_keys(vault):
        raise Refused.because("no_keys", f"{place.path} has no keys yet", help="Make them: sayso keyapp init")
    with open_store(place.database, place.clock) as store:
        ledger = Ledger(store, log_name(vault), place.clock)
        yield OpenHome(place, vault, store, ledger, principal_urn(vault.public(PRINCIPAL)))
