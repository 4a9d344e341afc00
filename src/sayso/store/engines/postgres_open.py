"""Opening a Postgres database: migrated under an advisory lock before the first unit."""

from __future__ import annotations

from sqlalchemy import Connection as AlchemyConnection
from sqlalchemy import NullPool, create_engine, event

from sayso.core.clock import Clock
from sayso.store.engines import postgres_library as library
from sayso.store.engines.postgres import PostgresStore
from sayso.store.migrations import HEAD, refuse_newer

__all__ = ("open_postgres",)


def open_postgres(url: str, clock: Clock) -> PostgresStore:
    """As `open_store`, for a postgresql:// URL."""
    with library.connect_reader(url) as connection:
        stored = _stored_revision(connection)
    refuse_newer(stored)
    if stored != HEAD:
        _migrate(url)
    return PostgresStore(url, clock)


def _migrate(url: str) -> None:
    from sayso.store.migrations.upgrade import upgrade  # noqa: PLC0415 - loaded only when the database is older than the code

    engine = create_engine("postgresql+psycopg://", creator=lambda: library.connect(url), poolclass=NullPool)
    event.listen(engine, "begin", _wait_for_others)
    with engine.begin() as connection:
        upgrade(connection)
    engine.dispose()


def _wait_for_others(connection: AlchemyConnection) -> None:
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (library.lock_number("sayso migration"),))


def _stored_revision(connection: library.Connection) -> str | None:
    if connection.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,):
        return None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(row[0]) if row else None
