"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

from sayso.apps.settings import HOME_VARIABLE, default_home

__all__ = ("home_option", "json_option", "world_option")

home_option = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    default=default_home,
    show_default=f"${HOME_VARIABLE}, else ~/.sayso",
    help="Your home: keys, receipts and settings.",
)
world_option = click.option("--world", is_flag=True, help="Use the sample world, never your real home.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
