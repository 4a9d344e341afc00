"""Stores for tests: real databases, made in milliseconds from a migrated template. There is no in-memory store.

In a conftest.py, import the fixtures that its tests use:

    from sayso.testing.postgres import postgres, postgres_server
    from sayso.testing.store import clock, location, store

`store` and `location` run a test on both engines; `fresh_store` gives a SQLite store to whoever needs just one.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from sayso.core.clock import Clock, ManualClock, SystemClock
from sayso.store.open import open_store
from sayso.store.unit import Store
from sayso.testing.postgres import Database

__all__ = ("START", "clock", "fresh_file", "fresh_store", "location", "store")

START = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)
"""When tests begin, so that real time shows at once."""


def fresh_file(path: Path) -> Path:
    """An empty, migrated SQLite file at `path`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(_template())
    return path


def fresh_store(folder: Path, clock: Clock, *, name: str = "sayso.db") -> Store:
    """A store on a new SQLite file in `folder`; the caller closes it."""
    return open_store(fresh_file(folder / name), clock)


@cache
def _template() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "template.db"
        open_store(path, SystemClock()).close()
        return path.read_bytes()


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands at `START` until a test moves it."""
    return ManualClock(START)


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a fresh, migrated database is, once for each engine; what `open_store` takes."""
    if request.param == "sqlite":
        return str(fresh_file(tmp_path / "sayso.db"))
    database: Database = request.getfixturevalue("postgres")
    return database.url


@pytest.fixture
def store(location: str, clock: ManualClock) -> Iterator[Store]:
    """A store on a fresh database, once for each engine."""
    with open_store(location, clock) as opened:
        yield opened
