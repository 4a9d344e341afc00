"""`sayso gateway memory`: what is known, searched and added to (GTW-043, GTW-061)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.gateway_place import at_desk, of_a_house
from sayso.apps.cli.options import json_option
from sayso.core import strictjson
from sayso.core.refusal import Refused

if TYPE_CHECKING:
    from sayso.apps.console.desk import Desk
    from sayso.gateway.knowledge.memory import Found, Kept

__all__ = ("memory",)


@click.group()
def memory() -> None:
    """What is known here, with where it came from. Agents search it, and bring back more."""


@memory.command()
@click.argument("title")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@click.option("--domain", "domain_keys", multiple=True, metavar="KEY", help="A domain it is about; several are fine.")
@json_option
@of_a_house
def add(title: str, file: Path, domain_keys: tuple[str, ...], home: Path, *, as_json: bool, world: bool) -> None:
    """Add the text in FILE (UTF-8; - is standard input) under TITLE, as yours."""
    data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Refused.because("malformed_text", f"{file} is not UTF-8 text", help="Save it as UTF-8 first.") from None

    async def work(desk: Desk) -> Kept:
        await desk.knowledge.open()
        return await desk.knowledge.ingest(title=title, text=text, domain_keys=domain_keys, by=desk.owner)

    kept = at_desk(home, work, is_world=world)
    if as_json:
        click.echo(strictjson.encode(msgspec.to_builtins(kept)))
        return
    click.echo(f"{kept.document}: {kept.observations} passages, {kept.repeated} of them known already.")


@memory.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--domain", "domain_key", metavar="KEY", help="Only in this domain and those below it.")
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="At most so many.")
@json_option
@of_a_house
def search(
    words: tuple[str, ...], domain_key: str | None, limit: int, home: Path, *, as_json: bool, world: bool
) -> None:
    """Search for WORDS, across all domains or in one: by words and by meaning."""

    async def work(desk: Desk) -> Found:
        await desk.knowledge.open()
        return await desk.knowledge.search(" ".join(words), domain_key=domain_key, limit=limit)

    found = at_desk(home, work, is_world=world)
    if as_json:
        click.echo(strictjson.encode(msgspec.to_builtins(found)))
        return
    for hit in found.hits:
        click.echo(plain(f"{hit.title}  ({hit.source} by {hit.by}, receipt {hit.receipt})"))
        click.echo(plain(f"  {hit.text}"))
    if found.note:
        click.echo(plain(found.note), err=True)
    if not found.hits:
        click.echo("Nothing was found.", err=True)


@memory.command()
@click.argument("words", nargs=-1)
@json_option
@of_a_house
def domains(words: tuple[str, ...], home: Path, *, as_json: bool, world: bool) -> None:
    """List the domains' keys and titles, or those whose key or title has all of WORDS."""
    from sayso.gateway.knowledge.domains import load_domains

    wanted = [word.lower() for word in words]
    found = [each for each in load_domains().all() if all(w in f"{each.key} {each.title}".lower() for w in wanted)]
    if as_json:
        click.echo(strictjson.encode({"domains": [msgspec.to_builtins(each) for each in found]}))
        return
    for each in found:
        click.echo(f"{each.key:<40} {each.title}")
    if not found:
        click.echo("There is no such domain.", err=True)
