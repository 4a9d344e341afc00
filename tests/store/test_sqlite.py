"""What only the SQLite engine does: batches with one COMMIT, error codes, the file itself."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from pysqlite3 import dbapi2 as driver
from sqlalchemy import text

from sayso.core.clock import ManualClock
from sayso.core.refusal import Corrupt, Misuse, Refused
from sayso.store.engines import sqlite_library
from sayso.store.open import open_store
from sayso.store.unit import Reading, Store, Unavailable, Unit, statement
from sayso.testing.store import fresh_file
from tests.store.rows import add, keys

UNIQUE_IN_THE_END = """
CREATE TABLE parent (id INTEGER PRIMARY KEY);
CREATE TABLE child (parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
"""
ORPHAN = statement(text("INSERT INTO child VALUES (1)"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return fresh_file(tmp_path / "sayso.db")


@pytest.fixture
def store(path: Path, clock: ManualClock) -> Iterator[Store]:
    with open_store(path, clock) as opened:
        yield opened


@contextmanager
def one_batch(store: Store, *bodies: Callable[[Unit], object]) -> Iterator[list[Future[object]]]:
    """Units that were all waiting when the writer came to them, behind one that holds it until then."""
    entered, leave = threading.Event(), threading.Event()

    def hold(unit: Unit) -> None:
        entered.set()
        leave.wait()

    with ThreadPoolExecutor(len(bodies) + 1) as callers:
        callers.submit(store.run, hold)
        entered.wait()
        queue = store._engine.writer._queue  # type: ignore[attr-defined]
        waiting: list[Future[object]] = []
        for body in bodies:
            waiting.append(callers.submit(store.run, body))
            while queue.qsize() < len(waiting):
                # The queue itself says when a caller has joined it; one at a time, so that their order is known.
                pass
        leave.set()
        yield waiting


def committed(path: Path) -> list[str]:
    """The keys that another connection sees."""
    connection = driver.connect(str(path))
    try:
        return [key for (key,) in connection.execute("SELECT key FROM buckets ORDER BY key").fetchall()]
    finally:
        connection.close()


def test_units_that_wait_together_share_one_commit(store: Store, path: Path) -> None:
    """While the last of them runs, none of those before it is committed."""
    seen: list[list[str]] = []

    def last(unit: Unit) -> list[str]:
        seen.append(committed(path))
        return keys(unit)

    bodies = [lambda unit, key=key: add(unit, key) for key in "abc"]
    with one_batch(store, *bodies, last) as waiting:
        assert [each.result() for each in waiting] == [1, 1, 1, ["a", "b", "c"]]
    assert (seen, committed(path)) == ([[]], ["a", "b", "c"])


def test_a_failed_unit_undoes_itself_alone_within_its_batch(store: Store) -> None:
    """Its savepoint is rolled back; the units before and after it stand."""

    def fail(unit: Unit) -> None:
        add(unit, "lost")
        raise Refused.because("no", "no")

    with one_batch(store, lambda unit: add(unit, "a"), fail, lambda unit: add(unit, "b"), fail) as waiting:
        assert [each.exception() is not None for each in waiting] == [False, True, False, True]
    assert store.read(keys) == ["a", "b"]


def test_a_batch_whose_first_unit_fails_goes_on(store: Store) -> None:
    """The first has no savepoint, and needs none."""

    def fail(unit: Unit) -> None:
        add(unit, "lost")
        raise Refused.because("no", "no")

    def fail_to_write(unit: Unit) -> None:
        add(unit, "twice")
        add(unit, "twice")

    with one_batch(store, fail, fail_to_write, lambda unit: add(unit, "a")) as waiting:
        assert [each.exception() is not None for each in waiting] == [True, True, False]
    assert store.read(keys) == ["a"]


@pytest.mark.req("GTW-053")
def test_a_failed_commit_fails_every_unit_of_the_batch(path: Path, clock: ManualClock) -> None:
    """Also those that were answered no: what they were refused for never happened."""
    connection = driver.connect(str(path))
    connection.executescript(UNIQUE_IN_THE_END)
    connection.close()

    def refuse(unit: Unit) -> None:
        raise Refused.because("taken", "a is taken")

    with open_store(path, clock) as store:
        bodies = (lambda unit: add(unit, "a"), refuse, lambda unit: unit.execute(ORPHAN), lambda unit: add(unit, "b"))
        with one_batch(store, *bodies) as waiting:
            assert [type(each.exception()) for each in waiting] == [Misuse] * 4
        assert store.read(keys) == []
        assert store.run(lambda unit: add(unit, "c")) == 1


def test_a_batch_is_bounded(store: Store, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """However many wait, the first of them are answered before the last have run."""
    monkeypatch.setattr("sayso.store.engines.sqlite_writer._BATCH", 4)
    seen: list[list[str]] = []
    bodies = [lambda unit, key=key: (seen.append(committed(path)), add(unit, key)) for key in "abcdefgh"]
    with one_batch(store, *bodies) as waiting:
        for each in waiting:
            each.result()
    # The unit that held the writer is the first of its batch, so three follow it.
    assert seen == [[]] * 3 + [["a", "b", "c"]] * 4 + [["a", "b", "c", "d", "e", "f", "g"]]


def test_a_file_that_stays_locked_is_unavailable(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody who waited is told at once, and the store works again when the lock is gone."""
    other = driver.connect(str(path), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(3) as callers:
        waiting = [callers.submit(store.run, lambda unit, key=key: add(unit, key)) for key in "abc"]
        while store._engine.writer._queue.qsize() < 2:  # type: ignore[attr-defined]
            # One of them waits for the lock, the others for it.
            pass
        monkeypatch.setattr(sqlite_library, "_BUSY_TRIES", 0)
        assert [type(each.exception()) for each in waiting] == [Unavailable] * 3
    other.execute("ROLLBACK")
    other.close()
    assert store.run(lambda unit: add(unit, "a")) == 1


def test_durability_and_foreign_keys_are_on(store: Store) -> None:
    """A commit is answered after the fsync of the log."""
    pragmas = {name: statement(text(f"PRAGMA {name}")) for name in ("journal_mode", "synchronous", "foreign_keys")}
    found = store.run(lambda unit: {name: unit.one(stmt) for name, stmt in pragmas.items()})
    assert found == {"journal_mode": ("wal",), "synchronous": (2,), "foreign_keys": (1,)}


def test_an_old_library_is_refused() -> None:
    """3.51.3 is the first that never loses a committed transaction in a WAL reset."""
    sqlite_library.require_version((3, 51, 3))
    with pytest.raises(Refused) as caught:
        sqlite_library.require_version((3, 51, 2))
    assert caught.value.refusal.code == "sqlite_too_old"


def test_the_file_and_its_folder_are_the_owners_alone(tmp_path: Path, clock: ManualClock) -> None:
    """Also a file that was readable by others before."""
    path = tmp_path / "home" / "sayso.db"
    with open_store(path, clock) as store:
        store.run(lambda unit: add(unit, "a"))
        assert {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()} == {
            "sayso.db": 0o600, "sayso.db-wal": 0o600, "sayso.db-shm": 0o600,
        }  # fmt: skip
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.chmod(0o644)
    open_store(path, clock).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_opened_twice_has_one_writer(path: Path, clock: ManualClock) -> None:
    """Two writers in one process would wait for each other by polling. The last to close ends it."""
    before = threading.active_count()
    first, second = open_store(path, clock), open_store(path.parent / "." / path.name, clock)
    assert threading.active_count() == before + 1
    first.close()
    assert second.run(lambda unit: add(unit, "a")) == 1
    with pytest.raises(Misuse, match="the store is closed"):
        first.run(keys)
    second.close()
    assert threading.active_count() == before


def test_a_file_that_is_no_database_is_corrupt(tmp_path: Path, clock: ManualClock) -> None:
    """It is left as it was."""
    path = tmp_path / "notes.txt"
    path.write_bytes(b"dear diary " * 200)
    with pytest.raises(Corrupt):
        open_store(path, clock)
    assert path.read_bytes() == b"dear diary " * 200


@pytest.mark.anyio
async def test_a_loop_that_closes_under_its_unit_harms_nobody(store: Store) -> None:
    """The answer has nowhere to go, and the writer goes on."""
    entered, leave = threading.Event(), threading.Event()

    def body(unit: Unit) -> None:
        add(unit, "a")
        entered.set()
        leave.wait()

    def abandon() -> None:
        loop = asyncio.new_event_loop()
        waiting = loop.create_task(store.unit(body))
        loop.run_until_complete(asyncio.sleep(0))
        entered.wait()
        waiting.cancel()
        loop.run_until_complete(asyncio.wait([waiting]))
        loop.close()

    await asyncio.to_thread(abandon)
    leave.set()
    assert await store.unit(keys) == ["a"]


def test_opening_a_migrated_file_loads_only_what_it_uses(path: Path) -> None:
    """No Alembic, no driver of the other engine, and never a second SQLite library."""
    script = (
        "import sys\n"
        "from sayso.core.clock import SystemClock\n"
        "from sayso.store.open import open_store\n"
        f"open_store({str(path)!r}, SystemClock()).close()\n"
        "print(sorted({'alembic', 'psycopg', 'sqlite3', 'apsw'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_new_file_is_made_without_a_second_sqlite_library(tmp_path: Path) -> None:
    """Alembic and SQLAlchemy would bring the standard one along if they were let."""
    script = (
        "import sys\n"
        "from sayso.core.clock import SystemClock\n"
        "from sayso.store.open import open_store\n"
        f"open_store({str(tmp_path / 'new.db')!r}, SystemClock()).close()\n"
        "print('alembic' in sys.modules, 'sqlite3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


def test_readings_run_side_by_side(store: Store) -> None:
    """Four snapshots can be open at once, each its own."""
    together = threading.Barrier(4)

    def body(view: Reading) -> list[str]:
        found = keys(view)
        together.wait()
        return found

    store.run(lambda unit: add(unit, "a"))
    with ThreadPoolExecutor(4) as callers:
        assert list(callers.map(lambda _: store.read(body), range(4))) == [["a"]] * 4
