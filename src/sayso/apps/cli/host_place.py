"""Whose desk a command of `sayso host` stands at: the home's own host, or a host of its sample world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from sayso.apps.cli.host_passphrase import ask_passphrase
from sayso.apps.cli.options import home_option
from sayso.apps.host_home import OpenDesk, opening_desk, opening_world_desk

__all__ = ("at_desk_of", "desk_option")

_WORLD = "sayso.world_host"


def desk_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--home`, and `--world-host HOST_ID` for one of the sample world's hosts there."""
    option = click.option(
        "--world-host",
        metavar="HOST_ID",
        expose_value=False,
        callback=_note,
        help="Stand at the desk of a host of the sample world, such as rosies-nails.",
    )
    return option(home_option(command))


def _note(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    context.meta[_WORLD] = value


@contextmanager
def at_desk_of(home: Path) -> Iterator[OpenDesk]:
    """The desk the command was given. Refused: as the home or the world refuses to be opened."""
    world_host = click.get_current_context().meta.get(_WORLD)
    if world_host is None:
        with opening_desk(home, None, ask_passphrase) as opened:
            yield opened
        return
    with opening_world_desk(home, world_host) as opened:
        yield opened
