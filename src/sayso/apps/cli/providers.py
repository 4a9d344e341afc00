"""`sayso providers`: which model providers there are. No credential is looked for and nothing is asked of anybody."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sayso.apps.cli.main import DONE
from sayso.apps.cli.options import home_option
from sayso.apps.cli.version import version_option

if TYPE_CHECKING:
    from sayso.control.provider.catalog.providers import Providers
    from sayso.control.provider.catalog.rows import Preset, Row

__all__ = ("format_option", "providers", "table")

format_option = click.option(
    "--format",
    "-format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or one JSON object for programs.",
)


@click.command(
    epilog="Exit codes: 0 done, 1 a vendor did not tell its models, 2 called wrongly (no such provider), "
    "3 providers.json cannot be used."
)
@click.argument("id_", metavar="[ID|models]", required=False)
@format_option
@click.option("--provider", metavar="ID", help="With `models`: those of this provider alone.")
@click.option(
    "--refresh", is_flag=True, help="With `models`: ask the vendors you have credentials for, and models.dev."
)
@home_option
@version_option
def providers(id_: str | None, form: str, provider: str | None, refresh: bool, home: Path) -> int:
    """List the model providers there are, what is known of one, or their models.

    Those of the catalog first, then your own out of providers.json in your home. `models` lists models as they were
    last told; with --refresh they are asked for now. `zai-cn` names no provider but the presets of Z.AI's China Coding
    Plan. Without --refresh no network is used, and without `models` no credential is read.

    \b
      sayso providers
      sayso providers kimi
      sayso providers models --provider kimi --refresh
      sayso providers zai-cn --format json
    """
    if id_ == "models":
        from sayso.apps.cli.provider_models import print_models

        return print_models(home, provider, form, refresh=refresh)
    if provider is not None or refresh:
        raise click.UsageError("--provider and --refresh go with: sayso providers models")
    return _print_providers(id_, form, home)


def _print_providers(id_: str | None, form: str, home: Path) -> int:
    from sayso.control.provider.catalog.providers import Providers, open_providers
    from sayso.control.provider.catalog.reading import read_catalog
    from sayso.core.refusal import Refused

    # Presets are the catalog's own: a home that cannot be read has no part in them.
    presets = Providers(read_catalog()).presets(id_) if id_ else ()
    if id_ and presets:
        _print_presets(presets, form)
        return DONE
    known = open_providers(home)
    if id_ is None:
        _print_all(known, form)
        return DONE
    try:
        row = known.find(id_)
    except Refused as refused:
        raise click.UsageError(str(refused)) from None
    _print_one(row, form, is_custom=known.is_custom(row))
    return DONE


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they have to be, without control characters of whoever wrote a name."""
    from sayso.apps.asking.plain_text import plain

    cells = [[plain(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))] if cells else []
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
                   for row in cells)  # fmt: skip


def _print_all(known: Providers, form: str) -> None:
    if form == "json":
        _print_json({"providers": [_object(row, is_custom=known.is_custom(row)) for row in known.offered]})
        return
    rows = [(row.id, row.name, "your own" if known.is_custom(row) else row.offering or "") for row in known.offered]
    click.echo(table(rows), nl=False)


def _print_one(row: Row, form: str, *, is_custom: bool) -> None:
    if form == "json":
        _print_json(_object(row, is_custom=is_custom))
        return
    endpoints = [f"{each.base_url} ({each.wire}{', ' + each.region if each.region else ''})" for each in row.endpoints]
    facts = (
        ("id", row.id),
        ("name", row.name),
        ("offering", "your own" if is_custom else row.offering or ""),
        ("sign in by", ", ".join(row.auth)),
        ("key out of", ", ".join(row.credential_env)),
        ("moved by", ", ".join((*row.base_url_env, *filter(None, (row.region_env,))))),
        *(("reached at", each) for each in endpoints),
        ("documents", row.docs or ""),
    )
    click.echo(table([(name, value) for name, value in facts if value]), nl=False)


def _print_presets(presets: Sequence[Preset], form: str) -> None:
    if form == "json":
        import msgspec

        found = [{**msgspec.to_builtins(each), "url": f"{each.base_url}{each.request_path}"} for each in presets]
        _print_json({"presets": found})
        return
    for each in presets:
        facts = (
            (each.id, ""),
            ("  wire", each.wire),
            ("  url", f"{each.base_url}{each.request_path}"),
            ("  model", each.model),
            ("  evidence", each.evidence.replace("_", " ")),
            ("  documents", each.docs),
        )
        click.echo(table(facts), nl=False)


def _object(row: Row, *, is_custom: bool) -> dict[str, object]:
    import msgspec

    return {**msgspec.to_builtins(row), "is_custom": is_custom}


def _print_json(value: object) -> None:
    from sayso.core import strictjson

    click.echo(strictjson.encode(value))
