"""SQLite: units go to the one writer of the file, readings to connections of their own, which wait for nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from sayso.core.clock import Clock
from sayso.core.refusal import Misuse
from sayso.store.engines import sqlite_library as library
from sayso.store.engines.jobs import Job
from sayso.store.engines.sqlite_writer import Writer
from sayso.store.statements import DialectName
from sayso.store.unit import Reading, Store, Unit, forbid_nesting, perform

__all__ = ("SqliteEngine", "SqliteStore")

T = TypeVar("T")

_READERS = 4


class SqliteEngine:
    """Writer and readers of one file; shared by every store this process opens on it."""

    def __init__(self, path: Path) -> None:
        self.writer = Writer(path)
        self.readers = Readers(path)

    def close(self) -> None:
        """Finishes what was accepted; the last connection to close folds the log into the file."""
        self.readers.close()
        self.writer.close()


class Readers:
    """Threads that each keep one connection which cannot write; also what the readings on it ask of their engine."""

    dialect: DialectName = "sqlite"
    errors = library.ERRORS

    def __init__(self, path: Path) -> None:
        self.pool = ThreadPoolExecutor(_READERS, thread_name_prefix="sayso-read")
        self._path = path
        self._local = threading.local()
        self._open: list[library.Connection] = []

    @staticmethod
    def translate(error: Exception) -> Exception:
        """A reading that writes is a bug; a unit that cannot write has a file system in its way."""
        if library.is_read_only(error):
            return Misuse(f"SQLite refused a statement of a reading: {error}")
        return library.translate(error)

    def read(self, body: Callable[[Reading], T], clock: Clock) -> T:
        """Runs on a thread of the pool: one snapshot, begun by the first statement and ended here."""
        connection = self._connection()
        cursor = connection.cursor()
        cursor.execute("BEGIN")
        try:
            return perform(Reading(self, cursor, clock), body)
        finally:
            if connection.in_transaction:
                cursor.execute("ROLLBACK")
            cursor.close()

    def close(self) -> None:
        """Waits for the readings under way."""
        self.pool.shutdown()
        for connection in self._open:
            connection.close()

    def _connection(self) -> library.Connection:
        found: library.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = self._local.connection = library.connect(self._path, read_only=True)
            self._open.append(found)
        return found


class SqliteStore(Store):
    """A store on one SQLite file."""

    dialect: DialectName = "sqlite"

    def __init__(self, engine: SqliteEngine, clock: Clock, release: Callable[[], None]) -> None:
        """`release` gives the engine back; it is called once."""
        self.clock = clock
        self.wake = engine.writer.wake
        self._engine = engine
        self._release = release
        self._gate = threading.Lock()
        self._closed = False

    def run(self, body: Callable[[Unit], T]) -> T:
        forbid_nesting()
        job = Job(body, self.clock, None)
        self._open().writer.submit(job)
        return job.wait()

    async def unit(self, body: Callable[[Unit], T]) -> T:
        job = Job(body, self.clock, asyncio.get_running_loop())
        self._open().writer.submit(job)
        return await job.arrival

    def read(self, body: Callable[[Reading], T]) -> T:
        forbid_nesting()
        readers = self._open().readers
        return readers.pool.submit(readers.read, body, self.clock).result()

    async def reading(self, body: Callable[[Reading], T]) -> T:
        readers = self._open().readers
        return await asyncio.get_running_loop().run_in_executor(readers.pool, readers.read, body, self.clock)

    def close(self) -> None:
        with self._gate:
            if self._closed:
                return
            self._closed = True
        self._release()

    def _open(self) -> SqliteEngine:
        if self._closed:
            raise Misuse("the store is closed")
        return self._engine
