"""`sayso keyapp`: the person's keys."""

from __future__ import annotations

from pathlib import Path

import click

from sayso.apps.cli.options import home_option
from sayso.apps.cli.passphrase import read_new_passphrase
from sayso.apps.home import open_home
from sayso.apps.keys import AGENT, LEDGER, PRINCIPAL, has_keys, make_keys
from sayso.core.refusal import Refused
from sayso.scheduling.terms.identity import principal_urn
from sayso.store.vault import Vault

__all__ = ("keyapp",)


@click.group()
def keyapp() -> None:
    """Your keys: make them, see them.

    Two of them are locked: the one that signs for you and the one that signs your receipts. The agent's key is not:
    what it signs is worth nothing without your signature.
    """


@keyapp.command()
@home_option
def init(home: Path) -> None:
    """Make the keys of a home, under a passphrase you type."""
    place = open_home(home, is_world=False)
    vault = Vault(place.path, place.clock)
    if has_keys(vault):
        raise Refused.because("keys_exist", f"{place.path} has its keys", help="See them: sayso keyapp show")
    passphrase = read_new_passphrase()
    if passphrase is None:
        raise Refused.because(
            "no_passphrase",
            "No passphrase was given, so no key was made",
            help="Run it on a terminal and type the same passphrase twice.",
        )
    make_keys(vault, passphrase)
    click.echo(f"Made in {place.path}/keys. Keep the passphrase: nobody can restore it.")
    _print_keys(vault)


@keyapp.command()
@home_option
def show(home: Path) -> None:
    """Show who you are, and the public halves of your keys."""
    place = open_home(home, is_world=False)
    vault = Vault(place.path, place.clock)
    if not has_keys(vault):
        raise Refused.because("no_keys", f"{place.path} has no keys yet", help="Make them: sayso keyapp init")
    _print_keys(vault)


def _print_keys(vault: Vault) -> None:
    click.echo(f"you        {principal_urn(vault.public(PRINCIPAL))}")
    click.echo(f"agent      {vault.public(AGENT).thumbprint}")
    click.echo(f"receipts   {vault.public(LEDGER).thumbprint}")
