"""SQLite's one writer: a thread a file and process, which commits many waiting units at once.

It takes whatever units wait, runs them one after another in ONE `BEGIN IMMEDIATE ... COMMIT` at synchronous=FULL, and
answers them all after that COMMIT: one fsync pays for all. Each unit stands under a savepoint, so that its exception
undoes it alone; a COMMIT that fails fails every unit of the batch, those included that were refused, since what they
were refused for may never have happened. Other processes take turns by SQLite's own write lock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from sayso.core.clock import SystemClock
from sayso.core.refusal import Misuse
from sayso.store.engines import sqlite_library as library
from sayso.store.engines.jobs import Job, deliver
from sayso.store.failures import Unavailable
from sayso.store.statements import DialectName
from sayso.store.unit import Unit, perform
from sayso.store.wake import Wake

__all__ = ("Writer",)

_BATCH = 256
_POLL_SECONDS = 0.05
_TOUCHES = 0x7FFFFFFF

# Two jobs that are never run: one lifts the writer out of a wait without an end, the other ends it.
_NUDGE: Job[Any] = Job(lambda unit: None, SystemClock(), None)
_STOP: Job[Any] = Job(lambda unit: None, SystemClock(), None)


class _BatchLost(Exception):
    """The transaction as a whole is gone."""


class Writer:
    """The thread, its connection and its queue; also what the units on it ask of their engine."""

    dialect: DialectName = "sqlite"
    errors = library.ERRORS
    translate = staticmethod(library.translate)

    def __init__(self, path: Path) -> None:
        self.wake = Wake(self._attend)
        self._path = path
        self._connection = library.connect(path)
        self._cursor = self._connection.cursor()
        self._queue: SimpleQueue[Job[Any]] = SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._stopping = False
        self._version = self._data_version()
        self._thread = threading.Thread(target=self._serve, name="sayso-write", daemon=True)
        self._thread.start()

    def submit(self, job: Job[Any]) -> None:
        """Queues a job. Raises `Misuse` once closed: nobody would ever answer it."""
        with self._gate:
            if self._closed:
                raise Misuse("the store is closed")
            self._queue.put(job)

    def close(self) -> None:
        """Runs what is queued, then stops; whoever waits to be woken looks again."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._queue.put(_STOP)
        self._thread.join()
        self._connection.close()
        self.wake.announce_all()

    def _attend(self) -> None:
        with self._gate:
            if self._closed:
                raise Misuse("the store is closed")
            self._queue.put(_NUDGE)

    def _serve(self) -> None:
        try:
            self._work()
        finally:
            # Also after a bug of ours: nobody waits for a thread that is gone.
            with self._gate:
                self._closed = True
            for job in self._waiting():
                job.error = Misuse("the store's writer has ended")
                deliver([job])

    def _work(self) -> None:
        while not self._stopping:
            try:
                job = self._queue.get(timeout=_POLL_SECONDS if self.wake.is_awaited else None)
            except Empty:
                self._look_around()
                continue
            if job is _STOP:
                return
            if job is _NUDGE:
                self._look_around()
            else:
                self._batch(job)

    def _batch(self, first: Job[Any]) -> None:
        """Runs `first` and what waits behind it in one transaction, and answers them all after its COMMIT."""
        jobs: list[Job[Any]] = []
        kept: list[Job[Any]] = []
        job: Job[Any] | None = first
        changes = self._connection.total_changes
        try:
            self._begin()
            while job is not None:
                jobs.append(job)
                self._one(job, kept)
                job = self._next() if len(jobs) < _BATCH else None
            self._commit(kept, changes)
        except (library.Error, _BatchLost) as error:
            if not jobs:
                # The file stayed locked: whoever waits behind has waited as long, and gets the same answer.
                jobs = [first, *self._waiting()]
            self._fail(jobs, error)
            deliver(jobs)
        else:
            self._settle(kept)
            deliver(jobs)

    def _next(self) -> Job[Any] | None:
        """Another job that already waits, if there is one."""
        while True:
            try:
                job = self._queue.get_nowait()
            except Empty:
                return None
            if job is _STOP:
                self._stopping = True
                return None
            if job is not _NUDGE:
                return job

    def _waiting(self) -> Iterator[Job[Any]]:
        while (job := self._next()) is not None:
            yield job

    def _begin(self) -> None:
        self._cursor.execute("BEGIN IMMEDIATE")
        if self.wake.is_awaited:
            self._look_around()

    def _one(self, job: Job[Any], kept: list[Job[Any]]) -> None:
        cursor = self._cursor
        # The first unit of a transaction needs no savepoint: undoing it undoes nothing else.
        alone = not kept
        if not alone:
            cursor.execute("SAVEPOINT unit")
        unit = job.unit = Unit(self, cursor, job.clock)
        try:
            job.keep(perform(unit, job.body))
        except BaseException as error:  # noqa: BLE001 - it is handed to the unit's caller, whatever it is
            job.error = error
            self._undo(alone=alone)
            return
        if not alone:
            cursor.execute("RELEASE unit")
        kept.append(job)

    def _undo(self, *, alone: bool) -> None:
        # Some errors (disk full, I/O) make SQLite roll back everything by itself; then the batch is lost.
        if alone:
            if self._connection.in_transaction:
                self._cursor.execute("ROLLBACK")
            self._cursor.execute("BEGIN IMMEDIATE")
        elif not self._connection.in_transaction:
            raise _BatchLost("SQLite rolled the whole transaction back")
        else:
            self._cursor.execute("ROLLBACK TO unit")
            self._cursor.execute("RELEASE unit")

    def _commit(self, kept: list[Job[Any]], changes: int) -> None:
        # Other processes see that something was written, not what is announced: a wake alone has to write something.
        if self._connection.total_changes == changes and any(job.unit and job.unit.channels for job in kept):
            (touched,) = self._connection.execute("PRAGMA user_version").fetchall()[0]
            self._cursor.execute(f"PRAGMA user_version = {(touched + 1) & _TOUCHES}")
        self._cursor.execute("COMMIT")

    def _fail(self, jobs: list[Job[Any]], error: Exception) -> None:
        try:
            if self._connection.in_transaction:
                self._cursor.execute("ROLLBACK")
        except library.Error:
            self._reconnect()
        for job in jobs:
            job.error = library.translate(error) if isinstance(error, library.Error) else Unavailable(str(error))
            job.error.__cause__ = error

    def _reconnect(self) -> None:
        # Closing a connection undoes what it left open, also where ROLLBACK itself fails.
        self._connection.close()
        self._connection = library.connect(self._path)
        self._cursor = self._connection.cursor()

    def _settle(self, kept: list[Job[Any]]) -> None:
        channels: dict[str, None] = {}
        for job in kept:
            unit = job.unit
            assert unit is not None
            job.error = unit.settle()
            channels.update(dict.fromkeys(unit.channels))
        if channels:
            self.wake.announce(channels)

    def _look_around(self) -> None:
        """Wakes everybody where another process has committed; this connection's own commits do not count."""
        version = self._data_version()
        if version != self._version:
            self._version = version
            self.wake.announce_all()

    def _data_version(self) -> int:
        return int(self._connection.execute("PRAGMA data_version").fetchall()[0][0])
