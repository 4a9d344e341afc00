"""`sayso backup` and `sayso restore`: a home in one file, and back."""

from __future__ import annotations

from pathlib import Path

import click

from sayso.apps.cli.options import home_option

__all__ = ("backup", "restore")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@home_option
def backup(file: Path, home: Path) -> None:
    """Write your home to a new FILE: keys, database, settings.

    It can run while everything else does. Locked keys stay under their passphrase in it; keep the file as you would
    keep the home. The sample world is left out.
    """
    from sayso.apps.backup import write_backup
    from sayso.apps.home import open_home
    from sayso.core.refusal import Refused

    if not home.is_dir():
        raise Refused.because("no_home", f"There is no home at {home}", help="Name yours: --home FOLDER.")
    manifest = write_backup(open_home(home, is_world=False), file)
    click.echo(f"{file}: your home as it stood at {manifest.taken_at}")
    if manifest.database == "elsewhere":
        click.echo("The database is on Postgres and not in it: back that up with pg_dump, right after this.")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, exists=True, path_type=Path))
@home_option
def restore(file: Path, home: Path) -> None:
    """Make a home of a backup FILE, in a folder that is new or empty."""
    from sayso.apps.backup import restore_home

    manifest = restore_home(file, home)
    click.echo(f"{home}: as it stood at {manifest.taken_at}")
    if manifest.database == "elsewhere":
        click.echo("Its database was on Postgres and is not in the backup: restore that, and set SAYSO_DATABASE_URL.")
    click.echo(f"See that its receipts are whole: sayso receipts verify --home {home}")
    click.echo("It does not know what was done since: before you start it, look at the Gate for what was approved")
    click.echo(f"then and may be done already (sayso gate list --home {home}), and never run it beside the old home.")
