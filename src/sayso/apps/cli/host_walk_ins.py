"""`sayso host walk-in` and `give-up`: time for people who came or called without an agent, and its end."""

from __future__ import annotations

from pathlib import Path

import click

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.host_place import at_desk_of, desk_option
from sayso.core.ids import SystemIds
from sayso.core.instants import parse_instant, write_local
from sayso.core.zones import find_zone
from sayso.scheduling.host.walking_in import at_counter
from sayso.scheduling.terms.spoken import spoken_span
from sayso.scheduling.terms.walk_in import GiveUpWalkInRequest, WalkInRequest
from sayso.scheduling.tools.moments import read_moment

__all__ = ("WALK_INS",)


@click.command(name="walk-in")
@click.argument("service")
@click.argument("start", required=False)
@click.option("--with", "resource_id", metavar="ID", help="Somebody in particular, among those guests can choose.")
@desk_option
def walk_in(service: str, start: str | None, resource_id: str | None, home: Path) -> None:
    """Take time for somebody who walked in or called: SERVICE now, or at START.

    What policies.walk_ins keeps back from agents is for them.
    """
    with at_desk_of(home) as opened:
        zone = find_zone(opened.config.timezone)
        begins = opened.clock.now().replace(microsecond=0) if start is None else read_moment(start, zone, "start")
        request = WalkInRequest(
            idempotency_key=SystemIds().new("i"),
            service_id=service,
            start=write_local(begins, zone),
            resource_id=resource_id,
        )
        taken = opened.store.run(lambda unit: at_counter(unit, opened.desk, request))
    until = None if taken.until is None else parse_instant(taken.until)
    click.echo(plain(f"Taken: {taken.walk_in_id}, {spoken_span(begins, until, zone)}."))


@click.command(name="give-up")
@click.argument("walk_in_id", metavar="WALK_IN")
@desk_option
def give_up(walk_in_id: str, home: Path) -> None:
    """Free the time of a WALK_IN who did not wait, or did not come."""
    request = GiveUpWalkInRequest(idempotency_key=SystemIds().new("i"))
    with at_desk_of(home) as opened:
        opened.store.run(lambda unit: at_counter(unit, opened.desk, request, walk_in_id))
    click.echo(plain(f"Free again: {walk_in_id}."))


WALK_INS = (walk_in, give_up)
