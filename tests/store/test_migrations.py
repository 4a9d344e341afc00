"""Migrations bring any older database to exactly the shape the code describes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, text

import sayso.store.migrations
from sayso.core.clock import ManualClock
from sayso.core.refusal import Refused
from sayso.store.engines import sqlite_library
from sayso.store.migrations import HEAD
from sayso.store.open import open_store
from sayso.store.tables import every_table
from sayso.store.unit import Store, statement
from sayso.testing.postgres import PostgresServer
from tests.store.processes import answers

SHAPE = {
    "sqlite": "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name <> 'alembic_version' ORDER BY 1, 2",
    "postgresql": """
        SELECT 'column', table_name || '.' || column_name, data_type, is_nullable || coalesce(column_default, '')
        FROM information_schema.columns WHERE table_schema = 'public'
        UNION ALL SELECT 'index', indexname, tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT 'constraint', conname, conrelid::regclass::text, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace
        ORDER BY 1, 2, 3
    """,
}

# What only one engine can say and no MetaData holds: it is derived from the tables and can be made again from them.
SEARCH_OBJECTS = ("knowledge_words", "knowledge_near")


@pytest.fixture
def empty(location: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a database of the same engine is in which nothing has ever been made."""
    if location.startswith("postgresql"):
        server: PostgresServer = request.getfixturevalue("postgres_server")
        return server.fresh(template="template1")
    return str(tmp_path / "new.db")


@contextmanager
def alchemy(location: str) -> Iterator[Connection]:
    """SQLAlchemy's own connection, which reflection needs."""
    if location.startswith("postgresql"):
        engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(location), poolclass=NullPool)
    else:
        path = Path(location)
        engine = create_engine(
            "sqlite://", module=sqlite_library.driver, creator=lambda: sqlite_library.connect(path), poolclass=NullPool
        )
    with engine.connect() as connection:
        yield connection


def shape(connection: Connection) -> list[tuple[object, ...]]:
    """All there is in a database, as its own catalogue tells it."""
    rows = connection.execute(text(SHAPE[connection.dialect.name]))
    told = [tuple(" ".join(each.split()) if isinstance(each, str) else each for each in row) for row in rows]
    beside = ("alembic_version", *SEARCH_OBJECTS)
    return [row for row in told if not any(each in str(row) for each in beside)]


def is_in_metadata(name: str | None, kind: str, parents: object) -> bool:
    """Whether the MetaData is what decides about a thing of this name."""
    return kind != "table" or name is None or not name.startswith(SEARCH_OBJECTS)


def test_what_search_needs_is_made_with_the_tables(location: str) -> None:
    """Full text and distances are there on a fresh database of either engine."""
    with alchemy(location) as migrated:
        found = migrated.execute(text(SHAPE[migrated.dialect.name])).all()
        assert any("knowledge_words" in str(row) for row in found)
        if migrated.dialect.name == "postgresql":
            assert any("pk_knowledge_near" in str(row) for row in found)


def test_the_code_expects_the_newest_migration() -> None:
    """The number that decides without loading Alembic is the one that Alembic would say."""
    config = Config()
    config.set_main_option("script_location", str(Path(sayso.store.migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


def test_a_migrated_database_is_what_the_tables_say(location: str, empty: str) -> None:
    """Column for column, index for index and rule for rule, against one made straight from the MetaData."""
    with alchemy(empty) as made, alchemy(location) as migrated:
        if made.dialect.name == "postgresql":
            made.execute(text("CREATE EXTENSION IF NOT EXISTS btree_gist"))
        every_table().create_all(made)
        beside = MigrationContext.configure(migrated, opts={"include_name": is_in_metadata})
        assert compare_metadata(beside, every_table()) == []
        assert shape(migrated) == shape(made)
        made.rollback()


def test_a_new_database_is_made_by_whoever_comes_first(empty: str) -> None:
    """Four processes that find nothing there all end up with the same database."""
    assert answers("count", empty, [["counter", "1"]] * 4) == [1] * 4


def test_a_database_of_a_newer_sayso_is_left_alone(location: str, store: Store, clock: ManualClock) -> None:
    """An older program would write what the newer one no longer understands."""
    newer = statement(text("UPDATE alembic_version SET version_num = '9999'"))
    store.run(lambda unit: unit.execute(newer))
    store.close()
    with pytest.raises(Refused) as caught:
        open_store(location, clock)
    assert caught.value.refusal.code == "database_newer"
