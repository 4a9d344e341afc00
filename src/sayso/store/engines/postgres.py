"""Postgres: a small pool of threads, each with a connection of its own; a unit is one READ COMMITTED transaction.

Units run side by side, so whoever needs an order takes it explicitly with `Unit.lock`, a transaction-level advisory
lock. A serialisation failure, a deadlock or a connection that broke before COMMIT runs the body again (`repeat`);
everything else surfaces.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar, cast

from sayso.core.clock import Clock
from sayso.core.refusal import Misuse
from sayso.store.engines import postgres_library as library
from sayso.store.engines.postgres_again import repeat
from sayso.store.engines.postgres_library import Again
from sayso.store.engines.postgres_listen import CHANNEL, Listener
from sayso.store.failures import Unavailable
from sayso.store.statements import DialectName
from sayso.store.unit import Cursor, Reading, Store, Unit, forbid_nesting, perform

__all__ = ("PostgresStore",)

T = TypeVar("T")

_WRITERS = 8
_READERS = 4


class _Engine:
    """What units ask of Postgres."""

    dialect: DialectName = "postgresql"
    errors = library.ERRORS
    translate = staticmethod(library.translate)


_ENGINE = _Engine()


class PostgresUnit(Unit):
    """A unit whose lock and wake are Postgres's own."""

    __slots__ = ()

    def lock(self, key: str) -> None:
        self._send("SELECT pg_advisory_xact_lock(%s)", library.lock_number(key))

    def notify(self) -> None:
        """Queues the notifications that COMMIT sends; last, because NOTIFY makes transactions commit one by one."""
        for channel in self.channels:
            self._send(f"SELECT pg_notify('{CHANNEL}', %s)", channel)

    def _send(self, sql: str, value: int | str) -> None:
        if self.failure is not None:
            raise Misuse("the unit is over") from self.failure
        try:
            self._cursor.execute(sql, (value,))
        except library.ERRORS as error:
            raise self._lose(error) from error


class _Lanes:
    """Threads that each keep one connection, opened at their first body; idle threads are reused before new ones."""

    def __init__(self, connect: Callable[[], library.Connection], size: int, name: str) -> None:
        self._connect = connect
        self._pool = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._local = threading.local()
        self._gate = threading.Lock()
        self._open: list[library.Connection] = []
        self._closed = False

    @property
    def pool(self) -> ThreadPoolExecutor:
        if self._closed:
            raise Misuse("the store is closed")
        return self._pool

    def connection(self) -> library.Connection:
        """The thread's own connection, a fresh one where the last has broken. Raises `Unavailable`."""
        found: library.Connection | None = getattr(self._local, "connection", None)
        if found is None or found.closed:
            fresh = self._connect()
            with self._gate:
                if found is not None:
                    self._open.remove(found)
                self._open.append(fresh)
            found = self._local.connection = fresh
        return found

    def close(self) -> None:
        self._closed = True
        self._pool.shutdown()
        for connection in self._open:
            connection.close()
        self._open.clear()


class PostgresStore(Store):
    """A store on one Postgres database, shared with any number of processes."""

    dialect: DialectName = "postgresql"

    def __init__(self, url: str, clock: Clock) -> None:
        self.clock = clock
        self._writers = _Lanes(lambda: library.connect(url), _WRITERS, "sayso-write")
        self._readers = _Lanes(lambda: library.connect_reader(url), _READERS, "sayso-read")
        self._listener = Listener(url)
        self.wake = self._listener.wake

    def run(self, body: Callable[[Unit], T]) -> T:
        forbid_nesting()
        return self._writers.pool.submit(repeat, partial(self._transact, body)).result()

    async def unit(self, body: Callable[[Unit], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writers.pool, repeat, partial(self._transact, body))

    def read(self, body: Callable[[Reading], T]) -> T:
        forbid_nesting()
        return self._readers.pool.submit(repeat, partial(self._look, body)).result()

    async def reading(self, body: Callable[[Reading], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers.pool, repeat, partial(self._look, body))

    def close(self) -> None:
        self._writers.close()
        self._readers.close()
        self._listener.close()

    def _transact(self, body: Callable[[Unit], T]) -> T:
        connection = self._writers.connection()
        with connection.cursor() as cursor:
            unit = PostgresUnit(_ENGINE, cast(Cursor, cursor), self.clock)

            def body_and_notices(unit: PostgresUnit) -> T:
                value = body(unit)
                unit.notify()
                return value

            try:
                value = perform(unit, body_and_notices)
            except BaseException:
                _roll_back(connection)
                _ask_again(unit, connection)
                raise
        _commit(connection)
        bug = unit.settle()
        if bug is not None:
            raise bug
        return value

    def _look(self, body: Callable[[Reading], T]) -> T:
        connection = self._readers.connection()
        with connection.cursor() as cursor:
            view = Reading(_ENGINE, cast(Cursor, cursor), self.clock)
            try:
                value = perform(view, body)
            except BaseException:
                _roll_back(connection)
                _ask_again(view, connection)
                raise
        _roll_back(connection)
        return value


def _ask_again(view: Reading, connection: library.Connection) -> None:
    """Raises `Again` where the transaction was lost to another one or to its connection, whatever the body made of
    that: nothing was committed, so another attempt repeats nothing.
    """
    lost = view.failure
    if isinstance(lost, Again) or (isinstance(lost, Unavailable) and connection.closed):
        raise Again(lost.why) from lost


def _commit(connection: library.Connection) -> None:
    try:
        connection.commit()
    except library.Error as error:
        if connection.closed:
            raise Unavailable(f"the connection broke during COMMIT: {error}", maybe_committed=True) from error
        _roll_back(connection)
        raise library.translate(error) from error


def _roll_back(connection: library.Connection) -> None:
    try:
        connection.rollback()
    except library.Error:
        # A connection that cannot roll back is dropped; the server undoes what it had begun.
        connection.close()
