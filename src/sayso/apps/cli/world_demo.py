"""`sayso world demo`: the walkthrough, every message printed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from sayso.apps.cli.main import DONE, REFUSED

__all__ = ("demo",)


@click.command()
@click.option("--home", type=click.Path(file_okay=False, path_type=Path), help="Keep the world in this home.")
def demo(home: Path | None) -> int:
    """Book an oil change in the sample world, and show every message on the way.

    The world is made new and is gone afterwards, unless --home keeps it.
    """
    from sayso.apps.demo.story import tell

    return DONE if asyncio.run(tell(home, sys.stdout)) else REFUSED
