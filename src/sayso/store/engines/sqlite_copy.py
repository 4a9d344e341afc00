"""A copy of a SQLite database as it stands at one instant, taken while others write to it."""

from __future__ import annotations

from pathlib import Path

from sayso.store.engines import sqlite_library as library

__all__ = ("copy_database",)


def copy_database(source: Path, target: Path) -> None:
    """Copies `source` to the new file `target`, through SQLite itself: never half a transaction, and with no journal
    left beside it. Raises `Unavailable`, `Corrupt`.
    """
    library.require_version()
    library.prepare_file(target)
    reading = library.connect(source, read_only=True)
    try:
        writing = library.driver.connect(str(target))
        try:
            reading.backup(writing)
            # A file on its own: whoever opens it turns the journal on again.
            writing.execute("PRAGMA journal_mode = DELETE")
        finally:
            writing.close()
    except library.ERRORS as error:
        raise library.translate(error) from error
    finally:
        reading.close()
