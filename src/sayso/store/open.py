"""Opening a store: which engine a location means, and whether the database must be migrated first."""

from __future__ import annotations

from pathlib import Path

from sayso.core.clock import Clock
from sayso.core.refusal import Refused
from sayso.store.unit import Store

__all__ = ("open_store",)


def open_store(location: str | Path, clock: Clock) -> Store:
    """Opens the database at `location`, a path of a SQLite file or a `postgresql://` URL, and migrates it.

    A file that is not there is created, with its folders, readable by its owner alone. Raises `Refused` with
    `sqlite_too_old`, `database_newer` (made by a newer sayso), `postgres_missing` (the extra is not installed) or
    `location_not_understood`, and `Unavailable` where the database does not answer.
    """
    if isinstance(location, str) and "://" in location:
        return _open_postgres(location, clock)
    from sayso.store.engines.sqlite_open import open_sqlite  # noqa: PLC0415 - only the engine in use is loaded

    return open_sqlite(Path(location), clock)


def _open_postgres(url: str, clock: Clock) -> Store:
    scheme = url.partition("://")[0]
    if scheme not in ("postgresql", "postgres"):
        raise Refused.because(
            "location_not_understood",
            f"a database location is a path or a postgresql:// URL, not {scheme}://",
        )
    try:
        from sayso.store.engines.postgres_open import open_postgres  # noqa: PLC0415 - only the engine in use is loaded
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        raise Refused.because(
            "postgres_missing",
            "a postgresql:// database needs the `postgres` extra",
            help="Install sayso[postgres].",
        ) from error
    return open_postgres(url, clock)
