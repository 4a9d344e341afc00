"""Opening a SQLite file: one engine a file and process, however often it is opened; migrated before the first unit."""

from __future__ import annotations

import threading
from pathlib import Path

from sqlalchemy import Connection as AlchemyConnection
from sqlalchemy import NullPool, create_engine, event

from sayso.core.clock import Clock
from sayso.store.engines import sqlite_library as library
from sayso.store.engines.sqlite import SqliteEngine, SqliteStore
from sayso.store.migrations import HEAD, refuse_newer

__all__ = ("open_sqlite",)

_lock = threading.Lock()
# Invariant: guarded by _lock; counts the open stores of each engine, and an engine without any is closed and gone.
_engines: dict[Path, SqliteEngine] = {}
_uses: dict[Path, int] = {}


def open_sqlite(path: Path, clock: Clock) -> SqliteStore:
    """As `open_store`, for a path."""
    library.require_version()
    path = path.absolute().resolve()
    with _lock:
        engine = _engines.get(path)
        if engine is None:
            library.prepare_file(path)
            _migrate(path)
            engine = _engines[path] = SqliteEngine(path)
            _uses[path] = 0
        _uses[path] += 1
    return SqliteStore(engine, clock, lambda: _release(path))


def _release(path: Path) -> None:
    with _lock:
        _uses[path] -= 1
        if _uses[path]:
            return
        del _uses[path]
        engine = _engines.pop(path)
    engine.close()


def _migrate(path: Path) -> None:
    connection = library.connect(path)
    try:
        stored = _stored_revision(connection)
    finally:
        connection.close()
    refuse_newer(stored)
    if stored == HEAD:
        return
    from sayso.store.migrations.upgrade import upgrade  # noqa: PLC0415 - loaded only when the database is older than the code

    # The dialect gets our library handed in, so that it never looks for the standard one.
    engine = create_engine(
        "sqlite://", module=library.driver, creator=lambda: library.connect(path), poolclass=NullPool
    )
    event.listen(engine, "begin", _begin_immediate)
    with engine.begin() as alchemy:
        upgrade(alchemy)
    engine.dispose()


def _begin_immediate(connection: AlchemyConnection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _stored_revision(connection: library.Connection) -> str | None:
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'alembic_version'").fetchall()
    if not found:
        return None
    rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    return str(rows[0][0]) if rows else None
