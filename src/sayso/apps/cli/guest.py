"""`sayso guest`: which hosts the assistant may speak to, and everything it can do, done by hand."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli import guest_acts
from sayso.apps.cli.guest_listen import listen
from sayso.apps.cli.options import home_option, read_resolve, resolve_option
from sayso.apps.home import open_home
from sayso.apps.house import open_house
from sayso.apps.person_zone import person_zone
from sayso.scheduling.terms.quoted import named

__all__ = ("guest",)


@click.group()
def guest() -> None:
    """The hosts your assistant may book with, and booking by hand.

    Whatever is signed is shown first, word for word, and Enter is no. Times are the host's own local time
    (2026-10-15T13:00), or carry an offset.

    \b
      sayso guest add https://shop.example
      sayso guest slots shop.example oil-change 2026-10-15
      sayso guest hold shop.example oil-change 2026-10-15T13:00
      sayso guest confirm HOLD_ID
    """


@guest.command()
@click.argument("url")
@resolve_option
@home_option
def add(url: str, resolve: tuple[str, ...], home: Path) -> None:
    """Verify the host at URL and remember it.

    Its own domain has to publish what it offers and authorise the endpoint; otherwise nothing is remembered.
    """
    place = open_home(home, is_world=False)

    async def run() -> None:
        async with open_house(place, zone=person_zone(place.settings.zone), resolve=read_resolve(resolve)) as house:
            document = await house.guest.add_host(url)
            click.echo(plain(f"{named(document.title)}: {document.host}"))
            for service in document.services:
                click.echo(plain(f"  {named(service.title)}"))

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


for command in (*guest_acts.COMMANDS, listen):
    guest.add_command(command)
