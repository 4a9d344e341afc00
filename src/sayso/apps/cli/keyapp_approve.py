"""`sayso keyapp approve`: what waits for the signature of the person whose calendar it is."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from sayso.apps.cli.options import home_option, read_resolve, resolve_option
from sayso.apps.home import open_home
from sayso.apps.keys import has_keys
from sayso.apps.own_calendar import sign_at_terminal
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.store.vault import Vault

__all__ = ("approve",)


@click.command()
@click.argument("document", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="Where what you sign goes.")
@click.option("--agent", metavar="KEY", help="The key a rule may name, where that is not this home's agent.")
@resolve_option
@home_option
def approve(document: Path, out: Path, agent: str | None, resolve: tuple[str, ...], home: Path) -> None:
    """Sign the answer or the rule in DOCUMENT, for your own calendar.

    You are shown what it means, in words written from the document itself; Enter is no. The calendar's own domain is
    asked who it is.
    """
    place = open_home(home, is_world=False)
    vault = Vault(place.path, place.clock)
    if not has_keys(vault):
        raise Refused.because("no_keys", f"{place.path} has no keys yet", help="Make them: sayso keyapp init")

    data = document.read_bytes()

    async def run() -> str:
        async with Fetcher({**place.settings.resolve, **read_resolve(resolve)}) as fetcher:
            return await sign_at_terminal(vault, place.clock, fetcher, sys.stdout, data, agent=agent)

    token = asyncio.run(run())
    out.write_text(f"{token}\n", encoding="ascii")
    click.echo(f"Signed: {out}. Hand it in at the calendar.")
