"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

from sayso.apps.settings import HOME_VARIABLE, default_home

__all__ = ("home_option", "json_option", "read_port", "read_resolve", "resolve_option", "world_option", "yes_option")

_LOOPBACK = "127.0.0.1"

home_option = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    default=default_home,
    show_default=f"${HOME_VARIABLE}, else ~/.sayso",
    help="Your home: keys, receipts and settings.",
)
world_option = click.option("--world", is_flag=True, help="Use the sample world, never your real home.")
json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help='Print one JSON object and nothing else; {"failed": ...} where it could not start.',
)
resolve_option = click.option(
    "--resolve",
    multiple=True,
    metavar="NAME=127.0.0.1:PORT",
    help="Reach a name of a test internet at a loopback port, this time only; settings.toml keeps such entries.",
)
yes_option = click.option(
    "--yes", is_flag=True, help="Answer yes beforehand. What is signed then says that nobody was asked."
)


def read_resolve(entries: tuple[str, ...]) -> dict[str, str]:
    """The entries of `--resolve` as a map. Raises a usage error for one of another form."""
    found = {}
    for each in entries:
        name, is_entry, target = each.partition("=")
        if not is_entry or not name or not target:
            raise click.UsageError(f"--resolve {each}: write it as NAME=127.0.0.1:PORT")
        found[name] = target
    return found


def read_port(addr: str) -> int:
    """The port of `127.0.0.1:PORT`. Raises a usage error for any other address: nothing of ours listens elsewhere."""
    name, _, port = addr.rpartition(":")
    if name not in (_LOOPBACK, "localhost") or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise click.UsageError(f"--addr {addr}: this listens on {_LOOPBACK} only, write {_LOOPBACK}:PORT")
    return int(port)
