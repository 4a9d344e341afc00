"""`sayso host contacts`: who may book where only contacts may."""

from __future__ import annotations

import re
from pathlib import Path

import click

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.host_place import at_desk_of, desk_option
from sayso.core.refusal import Refused
from sayso.scheduling.host.contacts import add_contact, remove_contact
from sayso.scheduling.host.contacts import contacts as read_contacts

__all__ = ("contacts",)

_PRINCIPAL = re.compile("urn:schcp:principal:jwk-thumbprint:[A-Za-z0-9_-]{43}")


@click.group()
def contacts() -> None:
    """Who may look and book, where policies.access is "contacts". Nobody else ever sees the list."""


@contacts.command(name="list")
@desk_option
def list_contacts(home: Path) -> None:
    """Everybody on the list, by name."""
    with at_desk_of(home) as opened:
        found = opened.store.run(lambda unit: read_contacts(unit, opened.desk.host))
    for each in found:
        click.echo(plain(f"{each.name}  {each.principal}"))
    if not found:
        click.echo("Nobody yet.", err=True)


@contacts.command()
@click.argument("principal")
@click.argument("name")
@desk_option
def add(principal: str, name: str, home: Path) -> None:
    """Put somebody on the list: their `sayso keyapp show` tells their PRINCIPAL, NAME is your word for them."""
    if not _PRINCIPAL.fullmatch(principal):
        raise Refused.because(
            "not_a_principal", f"{principal[:80]!r} is nobody.", help="They find theirs with: sayso keyapp show"
        )
    with at_desk_of(home) as opened:
        opened.store.run(lambda unit: add_contact(unit, opened.desk.host, principal, name))
    click.echo(plain(f"{name} may look and book now."))


@contacts.command()
@click.argument("principal")
@desk_option
def remove(principal: str, home: Path) -> None:
    """Take somebody off the list. What they hold cannot be confirmed any more; what they booked stays booked."""
    with at_desk_of(home) as opened:
        was_there = opened.store.run(lambda unit: remove_contact(unit, opened.desk.host, principal))
    click.echo("Taken off the list." if was_there else "They were not on the list.")
