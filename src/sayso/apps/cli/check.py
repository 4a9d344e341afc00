"""`sayso check`: whether this build holds together, offline (OAP-031, OAP-207)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sayso.apps.cli.main import DONE, REFUSED
from sayso.apps.cli.version import version_option

if TYPE_CHECKING:
    from sayso.apps.checks.part import Part

__all__ = ("check",)


@click.command(
    epilog="Exit codes: 0 all good, 1 something is wrong, 2 called wrongly. "
    "The catalog of harnesses, their ledgers and corpora are not built, so nothing is said of them."
)
@click.option(
    "--format",
    "-format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or an array of {name, looked, good, faults, skipped} for programs.",
)
@click.option(
    "--fixtures",
    "-fixtures",
    "folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="The folder with upstream's fixtures. [default: beside the checkout, where it is]",
)
@version_option
def check(form: str, folder: Path | None) -> int:
    """Check this build against itself, without a network.

    Fixtures with known verdicts, the reference adapter's path through conformance, the printed schemas, names of the
    protocol in the source, the public modules, and the catalog of model providers.
    """
    from sayso.core import strictjson

    parts = [look() for look in _looks(folder)]
    if form == "json":
        click.echo(strictjson.encode([_row(part) for part in parts]))
    else:
        click.echo(_written(parts), nl=False)
    return DONE if all(part.is_good for part in parts) else REFUSED


def _looks(folder: Path | None) -> Sequence[Callable[[], Part]]:
    from sayso.apps.checks.catalog import catalog
    from sayso.apps.checks.fixtures import own, upstream, upstream_folder
    from sayso.apps.checks.literals import literals
    from sayso.apps.checks.modules import modules
    from sayso.apps.checks.reference import reference
    from sayso.apps.checks.schemas import schemas

    return (own, lambda: upstream(folder or upstream_folder()), reference, schemas, literals, modules, catalog)


def _row(part: Part) -> dict[str, object]:
    return {
        "name": part.name,
        "looked": part.looked,
        "good": part.is_good,
        "faults": list(part.faults),
        "skipped": part.skipped,
    }


def _written(parts: Sequence[Part]) -> str:
    lines = []
    for part in parts:
        verdict = "skip" if part.skipped else "good" if part.is_good else "fail"
        lines.append(f"{verdict}  {part.name:9}  {part.skipped or part.looked}".rstrip())
        lines += [f"      {fault}" for fault in part.faults]
    return "".join(f"{line}\n" for line in lines)
