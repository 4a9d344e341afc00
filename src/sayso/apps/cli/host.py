"""`sayso host`: being the one whose time is booked."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.host_acts import COMMANDS
from sayso.apps.cli.host_contacts import contacts
from sayso.apps.cli.host_passphrase import ask_passphrase
from sayso.apps.cli.host_place import at_desk_of, desk_option
from sayso.apps.cli.host_rules import rules
from sayso.apps.cli.host_text import booking_lines
from sayso.apps.cli.host_walk_ins import WALK_INS
from sayso.apps.cli.logs import log_to_stderr
from sayso.apps.cli.main import DONE
from sayso.apps.cli.options import home_option, read_resolve, resolve_option
from sayso.apps.cli.passphrase import read_new_passphrase
from sayso.apps.host_home import OpenDesk, make_host, opening_desk, rotate_key
from sayso.apps.serving import run_server, settle_in
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.net.listen import LOOPBACK, serving
from sayso.scheduling.host.http import host_app
from sayso.scheduling.host.returning import keeping_returned
from sayso.scheduling.host.staff_acts import read_bookings
from sayso.scheduling.host.telling import keeping_told
from sayso.scheduling.host.tidying import keeping_tidy

__all__ = ("host",)

_settings = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group()
def host() -> None:
    """Be a host: serve your calendar to your guests' agents, and answer them."""


@host.command()
@click.argument("settings", type=_settings)
@click.option("--unprotected", is_flag=True, help="Keep the keys without a passphrase. For trying things out.")
@home_option
def init(settings: Path, home: Path, *, unprotected: bool) -> None:
    """Make a host of a home: its keys, and a copy of its SETTINGS (one TOML file)."""
    passphrase = None if unprotected else read_new_passphrase()
    if passphrase is None and not unprotected:
        raise Refused.because(
            "no_passphrase",
            "No passphrase was given, so no key was made",
            help="Run it on a terminal and type the same passphrase twice, or try things out with --unprotected.",
        )
    if unprotected:
        click.echo("Warning: the keys have no passphrase. Whoever reads this home can sign as this host.", err=True)
    config, thumbprint = make_host(home, settings, passphrase)
    click.echo(plain(f"{config.title} is {config.id}@{config.domain}; its key is {thumbprint}."))
    click.echo(f"Serve it: sayso host serve {settings}")


@host.command()
@click.argument("settings", type=_settings, required=False)
@click.option("--addr", metavar="HOST:PORT", default=f"{LOOPBACK}:0", show_default=True, help="Port 0 takes any.")
@resolve_option
@home_option
def serve(settings: Path | None, addr: str, resolve: tuple[str, ...], home: Path) -> int:
    """Serve discovery and bookings on loopback until stopped, with these SETTINGS or the home's own copy.

    A TLS terminator in front of it forwards https://DOMAIN here; guests on this machine use
    --resolve DOMAIN=127.0.0.1:PORT instead.
    """
    port = _port(addr)
    log_to_stderr()

    entries = read_resolve(resolve)
    with opening_desk(home, settings, ask_passphrase, to_serve=True) as opened:
        run_server(partial(_serve, opened, port, entries))
    return DONE


async def _serve(opened: OpenDesk, port: int, entries: Mapping[str, str]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop.set)
    app = host_app(opened.config, opened.desk, opened.store, opened.clock)
    async with (
        Fetcher(entries) as fetcher,
        keeping_tidy(opened.store, opened.clock, opened.desk),
        keeping_told(opened.store, opened.clock, opened.desk, fetcher),
        keeping_returned(opened.store, opened.clock, opened.desk, fetcher),
        serving(app, LOOPBACK, port) as address,
    ):
        opened.is_published()
        opened.desk.statuses.ask_through(fetcher, opened.clock)
        settle_in()
        click.echo(plain(f"{opened.config.title}: https://{opened.config.domain} is served at {address.url}"))
        click.echo(f"On this machine: --resolve {opened.config.domain}={LOOPBACK}:{address.port}")
        sys.stdout.flush()
        await stop.wait()


def _port(addr: str) -> int:
    name, _, port = addr.rpartition(":")
    if name not in (LOOPBACK, "localhost") or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise click.UsageError(f"--addr {addr}: a host listens on {LOOPBACK} only, write {LOOPBACK}:PORT")
    return int(port)


@host.command(name="rotate-key")
@home_option
def rotate(home: Path) -> None:
    """Make a new key, with which the host signs once it is served again.

    The one before stays published: for signing until the last offer that is open then has ended, and for checking as
    long as the records of your bookings are kept. Guests notice nothing.
    """
    thumbprint = rotate_key(home, ask_passphrase)
    click.echo(f"The new key is {thumbprint}. It signs from the next start on.")
    click.echo("Stop the host and serve it again: sayso host serve")


@host.command()
@click.option("--all", "everything", is_flag=True, help="Those that are over as well.")
@desk_option
def bookings(home: Path, *, everything: bool) -> None:
    """List the bookings to come, those waiting for an answer first."""
    with at_desk_of(home) as opened:
        found = opened.store.run(lambda unit: read_bookings(unit, opened.desk, everything=everything))
    for each in found:
        for line in booking_lines(each):
            click.echo(plain(line))
    if not found:
        click.echo("No bookings yet." if everything else "No bookings to come.", err=True)


for _command in (*COMMANDS, *WALK_INS):
    host.add_command(_command)
host.add_command(contacts)
host.add_command(rules)
