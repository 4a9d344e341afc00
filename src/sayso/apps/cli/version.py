"""`--version` of a command: the version of all of sayso, because one tag releases everything."""

from __future__ import annotations

import click

from sayso import __version__

__all__ = ("version_option",)

version_option = click.version_option(
    __version__, "-V", "--version", prog_name="sayso", message="%(prog)s %(version)s", help="Show the version and exit."
)
