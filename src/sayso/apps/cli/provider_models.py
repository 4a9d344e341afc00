"""`sayso providers models`: which models there are. Read from what is kept here; asked for anew only when told to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sayso.apps.cli.main import DONE, REFUSED

if TYPE_CHECKING:
    from collections.abc import Callable

    from sayso.control.provider.catalog.rows import Row
    from sayso.control.provider.listings import Listed, Listings
    from sayso.net.fetch import Fetcher

__all__ = ("print_models",)

_PER_THOUSAND = 1000


def print_models(home: Path, provider: str | None, form: str, *, refresh: bool) -> int:
    """Prints the models of one provider, or of all that have any. Raises a usage error for one that is not there."""
    from sayso.apps.cli.providers import table
    from sayso.core import strictjson

    listings, rows, opened = _open(home, provider)
    failed = _refresh(listings, rows, opened, is_told=provider is not None) if refresh else False
    found = [(row, model) for row in rows for model in listings.known(row)]
    if form == "json":
        click.echo(strictjson.encode({"models": [_object(listings, row, model) for row, model in found]}))
    elif found:
        heads = ("model", "name", "context", "output", "from", "")
        click.echo(table([heads, *(_line(listings, row, model) for row, model in found)]), nl=False)
    else:
        click.echo("Nothing is known yet. Ask the vendors: sayso providers models --refresh", err=True)
    return REFUSED if failed else DONE


def _open(home: Path, provider: str | None) -> tuple[Listings, Sequence[Row], Callable[[], Fetcher]]:
    import os

    from sayso.apps.home import open_home
    from sayso.control.provider.catalog.providers import open_providers
    from sayso.control.provider.credentials.resolving import Credentials
    from sayso.control.provider.credentials.store import CredentialStore
    from sayso.control.provider.listings import Listings
    from sayso.core.refusal import Refused
    from sayso.net.fetch import Fetcher

    place = open_home(home, is_world=False)
    known = open_providers(place.path)
    try:
        rows = known.offered if provider is None else (known.find(provider),)
    except Refused as refused:
        raise click.UsageError(str(refused)) from None

    def fetcher() -> Fetcher:
        return Fetcher(place.settings.resolve)

    store = CredentialStore(place.path, os.environ)
    credentials = Credentials(place.path, store, environ=os.environ, clock=place.clock, fetcher=fetcher)
    listings = Listings(place.path, known.catalog, credentials, clock=place.clock, fetcher=fetcher)
    return listings, rows, fetcher


def _refresh(listings: Listings, rows: Sequence[Row], fetcher: Callable[[], Fetcher], *, is_told: bool) -> bool:
    """Asks models.dev and the vendors now. One that was named has to answer; of all, each tells why it did not."""
    from sayso.apps.cli.running import Stopped, run_until_stopped
    from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused

    async def work() -> bool:
        if any(row.models_dev is not None for row in rows):
            async with fetcher() as opened:
                if not await listings.refresh_facts(opened):
                    click.echo("models.dev told nothing new; what it said before still counts.", err=True)
        failed = False
        for row in rows:
            try:
                await listings.refresh(row)
            except (Refused, PeerRefused, PeerUnreachable) as error:
                # Of all of them, most have no credential here, and that is nobody's failure.
                if is_told or not _is_expected(error):
                    click.echo(f"{row.id}: {error}", err=True)
                    failed = True
        return failed

    try:
        return run_until_stopped(work)
    except Stopped:
        raise click.Abort from None


def _is_expected(error: Exception) -> bool:
    from sayso.core.refusal import Refused

    expected = ("credential_missing", "unsupported_feature", "config_invalid")
    return isinstance(error, Refused) and error.refusal.code in expected


def _line(listings: Listings, row: Row, model: Listed) -> tuple[str, ...]:
    said = [
        *(["chosen where none is named"] if listings.default_model(row) == model.id else []),
        *(["deprecated"] if model.is_deprecated else []),
        *(["no tools"] if model.has_tools is False else []),
    ]
    known_from = {"row": "catalog", "listing": "vendor", "models_dev": "models.dev"}[model.source]
    windows = (_tokens(model.context_window), _tokens(model.max_output_tokens))
    return (f"{row.id}/{model.id}", model.display_name or "", *windows, known_from, ", ".join(said))


def _tokens(count: int | None) -> str:
    if count is None:
        return "?"
    return f"{round(count / _PER_THOUSAND)}k" if count >= _PER_THOUSAND else str(count)


def _object(listings: Listings, row: Row, model: Listed) -> dict[str, object]:
    from sayso.core.instants import from_epoch, write_instant

    found: dict[str, object] = {
        "model_ref": f"{row.id}/{model.id}",
        "provider": row.id,
        "id": model.id,
        "name": model.display_name,
        "context_window": model.context_window,
        "max_output_tokens": model.max_output_tokens,
        "created": write_instant(from_epoch(model.created).astimezone(UTC)) if model.created is not None else None,
        "has_tools": model.has_tools,
        "is_deprecated": model.is_deprecated or None,
        "is_default": listings.default_model(row) == model.id or None,
        "source": model.source,
    }
    return {name: value for name, value in found.items() if value is not None}
