"""`sayso guest`: which hosts the assistant may speak to."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.options import home_option
from sayso.apps.home import open_home
from sayso.apps.house import open_house
from sayso.apps.person_zone import person_zone

__all__ = ("guest",)


@click.group()
def guest() -> None:
    """The hosts your assistant may book with."""


@guest.command()
@click.argument("url")
@click.option(
    "--resolve",
    multiple=True,
    metavar="NAME=127.0.0.1:PORT",
    help="Reach a name of a test internet at a loopback port, this time only; settings.toml keeps such entries.",
)
@home_option
def add(url: str, resolve: tuple[str, ...], home: Path) -> None:
    """Verify the host at URL and remember it.

    Its own domain has to publish what it offers and authorise the endpoint; otherwise nothing is remembered.
    """
    place = open_home(home, is_world=False)

    async def run() -> None:
        async with open_house(place, zone=person_zone(place.settings.zone), resolve=_entries(resolve)) as house:
            document = await house.guest.add_host(url)
            click.echo(plain(f"{document.title}: {document.host}"))
            for service in document.services:
                click.echo(plain(f"  {service.title}"))

    asyncio.run(run())


@guest.command(name="list")
@home_option
def list_hosts(home: Path) -> None:
    """The hosts you added."""
    place = open_home(home, is_world=False)

    async def run() -> None:
        async with open_house(place, zone=person_zone(place.settings.zone)) as house:
            hosts = await house.guest.book.hosts()
        for host in hosts:
            click.echo(plain(host.host))
        if not hosts:
            sys.stderr.write("None yet. Add one: sayso guest add https://shop.example\n")

    asyncio.run(run())


def _entries(resolve: tuple[str, ...]) -> dict[str, str]:
    entries = {}
    for each in resolve:
        name, found, target = each.partition("=")
        if not found or not name or not target:
            raise click.UsageError(f"--resolve {each}: write it as NAME=127.0.0.1:PORT")
        entries[name] = target
    return entries
