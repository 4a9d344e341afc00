"""`sayso keyapp`: the person's keys."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path

import click

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.keyapp_approve import approve
from sayso.apps.cli.logs import log_to_stderr
from sayso.apps.cli.main import DONE
from sayso.apps.cli.options import home_option, read_port, read_resolve, resolve_option
from sayso.apps.cli.passphrase import read_new_passphrase
from sayso.apps.home import Home, open_home
from sayso.apps.house import open_issued
from sayso.apps.keys import AGENT, LEDGER, PRINCIPAL, has_keys, make_keys, status_key
from sayso.apps.serving import run_server, settle_in
from sayso.core.ids import SystemIds
from sayso.core.instants import write_instant
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.net.listen import LOOPBACK, serving
from sayso.proof.keys import PrivateKey
from sayso.scheduling.keyapp.issued import IssuedMandate
from sayso.scheduling.keyapp.service import status_app
from sayso.scheduling.terms.identity import principal_urn
from sayso.store.open import open_store
from sayso.store.unit import Store
from sayso.store.vault import Vault

__all__ = ("keyapp",)


@click.group()
def keyapp() -> None:
    """Your keys, and what you signed with them.

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
    _print_keys(_owner(open_home(home, is_world=False)))


@keyapp.command()
@click.option("--addr", metavar="HOST:PORT", default=f"{LOOPBACK}:0", show_default=True, help="Port 0 takes any.")
@resolve_option
@home_option
def serve(addr: str, resolve: tuple[str, ...], home: Path) -> int:
    """Tell hosts what you took back, on loopback until stopped.

    A TLS terminator in front of it forwards the origin that settings.toml names as keyapp_origin. Hosts on this machine
    reach it with --resolve NAME=127.0.0.1:PORT. Hosts that cannot ask do nothing under a permission that has this
    address.
    """
    place = open_home(home, is_world=False)
    vault = _owner(place)
    origin = place.settings.keyapp_origin
    if origin is None:
        raise Refused.because(
            "no_public_origin",
            "This key app has no public address, so what it signs cannot be taken back.",
            help='Set keyapp_origin = "https://keys.example" in settings.toml.',
        )
    port = read_port(addr)
    log_to_stderr()
    entries = {**place.settings.resolve, **read_resolve(resolve)}
    with open_store(place.database, place.clock) as store:
        run_server(partial(_serve, place, status_key(vault), store, origin, port, entries))
    return DONE


async def _serve(
    place: Home, key: PrivateKey, store: Store, origin: str, port: int, entries: Mapping[str, str]
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop.set)
    async with (
        Fetcher(entries) as fetcher,
        serving(status_app(origin, key, store, place.clock, fetcher), LOOPBACK, port) as address,
    ):
        settle_in()
        click.echo(f"{origin} is served at {address.url}")
        click.echo(f"On this machine: --resolve {origin.removeprefix('https://')}={LOOPBACK}:{address.port}")
        sys.stdout.flush()
        await stop.wait()


@keyapp.command()
@click.option("--all", "everything", is_flag=True, help="Those that have ended as well.")
@home_option
def mandates(home: Path, *, everything: bool) -> None:
    """List what you allowed: until when, and whether you took it back."""
    place = open_home(home, is_world=False)
    vault = _owner(place)
    with open_store(place.database, place.clock) as store:
        found = asyncio.run(open_issued(place, vault, store, SystemIds()).mandates())
    now = place.clock.now()
    shown = [each for each in found if everything or (each.expires > now and each.revoked_at is None)]
    for each in shown:
        click.echo(plain(f"{each.claims.jti}  until {write_instant(each.expires)}  {_standing(each, now)}"))
        click.echo(plain(f"  {each.claims.consent.statement}"))
    if not shown:
        sys.stderr.write("Nothing that you allowed is in force.\n")


def _standing(each: IssuedMandate, now: datetime) -> str:
    if each.revoked_at is not None:
        return f"taken back {write_instant(each.revoked_at)}"
    if each.expires <= now:
        return "ended"
    return "ends by itself" if each.handle is None else "can be taken back"


@keyapp.command()
@click.argument("mandate")
@home_option
def revoke(mandate: str, home: Path) -> None:
    """Take back what you allowed, by its id in `sayso keyapp mandates`.

    Hosts learn it within thirty seconds. What is booked stays booked until somebody cancels it.
    """
    place = open_home(home, is_world=False)
    vault = _owner(place)
    with open_store(place.database, place.clock) as store:
        found = asyncio.run(open_issued(place, vault, store, SystemIds()).revoke(mandate))
    click.echo(plain(f"{found.claims.jti} is taken back. Hosts learn it within thirty seconds of asking."))
    click.echo("What was booked under it stays booked until somebody cancels it.")


keyapp.add_command(approve)


def _owner(place: Home) -> Vault:
    vault = Vault(place.path, place.clock)
    if not has_keys(vault):
        raise Refused.because("no_keys", f"{place.path} has no keys yet", help="Make them: sayso keyapp init")
    return vault


def _print_keys(vault: Vault) -> None:
    click.echo(f"you        {principal_urn(vault.public(PRINCIPAL))}")
    click.echo(f"agent      {vault.public(AGENT).thumbprint}")
    click.echo(f"receipts   {vault.public(LEDGER).thumbprint}")
