"""`sayso host contacts`: who may book where only contacts may."""

from __future__ import annotations

import re
from pathlib import Path

import click

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.host_passphrase import ask_passphrase
from sayso.apps.cli.options import home_option
from sayso.apps.host_home import opening_desk
from sayso.core.refusal import Refused
from sayso.scheduling.host.contacts import add_contact, remove_contact
from sayso.scheduling.host.contacts import contacts as read_contacts

__all__ = ("contacts",)

_PRINCIPAL = re.compile("urn:schcp:principal:jwk-thumbprint:[A-Za-z0-9_-]{43}")


@click.group()
def contacts() -> None:
    """Who may look and book, where policies.access is "contacts". Nobody else ever sees the list."""


@contacts.command(name="list")
@home_option
def list_contacts(home: Path) -> None:
    """Everybody on the list, by name."""
    with opening_desk(home, None, ask_passphrase) as opened:
        found = opened.store.run(lambda unit: read_contacts(unit, opened.desk.host))
    for each in found:
        click.echo(plain(f"{each.name}  {each.principal}"))
    if not found:
        click.echo("Nobody yet.", err=True)


@contacts.command()
@click.argument("principal")
@click.argument("name")
@home_option
def add(principal: str, name: str, home: Path) -> None:
    """Put somebody on the list: their `sayso keyapp show` tells their PRINCIPAL, NAME is your word for them."""
    if not _PRINCIPAL.fullmatch(principal):
        raise Refused.because(
            "not_a_principal", f"{principal[:80]!r} is nobody.", help="They find theirs with: sayso keyapp show"
        )
    with opening_desk(home, None, ask_passphrase) as opened:
        opened.store.run(lambda unit: add_contact(unit, opened.desk.host, principal, name))
    click.echo(plain(f"{name} may look and book now."))


@contacts.command()
@click.argument("principal")
@home_option
def remove(principal: str, home: Path) -> None:
    """Take somebody off the list. What they hold cannot be confirmed any more; what they booked stays booked."""
    with opening_desk(home, None, ask_passphrase) as opened:
        was_there = opened.store.run(lambda unit: remove_contact(unit, opened.desk.host, principal))
    click.echo("Taken off the list." if was_there else "They were not on the list.")
