"""The unit of work: one synchronous function that runs inside one database transaction and is answered after COMMIT.

Everything a decision changes (state, receipts, nonces, rate buckets, replay slots, outbox rows) is written by one
body in one unit, so that all of it happens or none. Bodies run off the event loop, never await, and never open
another unit; expiry is judged by `Unit.now`, read inside the transaction (SCH-121, SCH-123, SCH-124, GTW-053).
The engines decide how transactions are made; this module fixes what callers may rely on.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from types import AsyncGeneratorType, GeneratorType, TracebackType
from typing import Any, Protocol, Self, TypeVar

from sayso.core.clock import Clock
from sayso.core.refusal import Misuse
from sayso.store.failures import Taken, Unavailable
from sayso.store.statements import DialectName, Parameters, Row, Statement, insert, statement
from sayso.store.wake import Wake

__all__ = (
    "Reading",
    "Row",
    "Statement",
    "Store",
    "Taken",
    "Unavailable",
    "Unit",
    "forbid_nesting",
    "insert",
    "perform",
    "statement",
)

T = TypeVar("T")
R = TypeVar("R", bound="Reading")


class Cursor(Protocol):
    """The part of a DB-API cursor that statements use."""

    rowcount: int

    def execute(self, sql: str, arguments: Sequence[Any], /) -> object: ...
    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object: ...
    def fetchall(self) -> list[Row]: ...


class Engine(Protocol):
    """What a unit asks of the engine it runs on."""

    dialect: DialectName
    errors: tuple[type[Exception], ...]

    def translate(self, error: Exception) -> Exception:
        """The portable exception for the driver's own."""
        ...


class Reading:
    """A consistent view of the database for one body: everything it reads is of one instant."""

    __slots__ = ("_clock", "_cursor", "_engine", "_now", "_over", "dialect")

    def __init__(self, engine: Engine, cursor: Cursor, clock: Clock) -> None:
        self.dialect: DialectName = engine.dialect
        self._engine = engine
        self._cursor = cursor
        self._clock = clock
        self._now: datetime | None = None
        self._over: Exception | None = None

    @property
    def now(self) -> datetime:
        """The instant of this unit, aware UTC: read from the clock at first use and the same ever after.

        A body that serialises itself with `lock` takes the lock first, so that whoever acts later reads a later now.
        """
        if self._now is None:
            self._now = self._clock.now()
        return self._now

    @property
    def failure(self) -> Exception | None:
        """For engines: why no further statement may run, once that is so."""
        return self._over

    def one(self, stmt: Statement, params: Parameters | None = None) -> Row | None:
        """The only row, or None. Raises `Misuse` where there are several."""
        rows = self.all(stmt, params)
        if len(rows) > 1:
            raise Misuse(f"{len(rows)} rows where at most one was expected")
        return rows[0] if rows else None

    def all(self, stmt: Statement, params: Parameters | None = None) -> list[Row]:
        """Every row, as tuples; also the RETURNING rows of a write."""
        self._run(stmt, params)
        return self._cursor.fetchall()

    def _run(self, stmt: Statement, params: Parameters | None) -> None:
        if self._over is not None:
            raise Misuse("the unit is over") from self._over
        sql, arguments = stmt.on(self.dialect)
        values = arguments(params)
        try:
            self._cursor.execute(sql, values)
        except self._engine.errors as error:
            raise self._lose(error) from error

    def _lose(self, error: Exception) -> Exception:
        # Postgres refuses everything after a failed statement; refusing it on SQLite too keeps one behaviour.
        self._over = self._engine.translate(error)
        return self._over


class Unit(Reading):
    """A transaction that writes."""

    __slots__ = ("_after", "_channels")

    def __init__(self, engine: Engine, cursor: Cursor, clock: Clock) -> None:
        super().__init__(engine, cursor, clock)
        self._after: list[Callable[[], None]] | None = None
        self._channels: dict[str, None] | None = None

    def execute(self, stmt: Statement, params: Parameters | None = None) -> int:
        """Runs a write; how many rows it touched. Raises `Taken` on a unique or exclusion conflict."""
        self._run(stmt, params)
        return self._cursor.rowcount

    def many(self, stmt: Statement, rows: Iterable[Parameters]) -> int:
        """Runs a write once for each row of parameters; how many rows were touched in all."""
        if self._over is not None:
            raise Misuse("the unit is over") from self._over
        sql, arguments = stmt.on(self.dialect)
        values = [arguments(row) for row in rows]
        if not values:
            return 0
        try:
            self._cursor.executemany(sql, values)
        except self._engine.errors as error:
            raise self._lose(error) from error
        return self._cursor.rowcount

    def lock(self, key: str) -> None:
        """Serialises units that name the same key until each commits, across processes. SQLite has one writer, so
        there it is already so. Several keys are taken in sorted order, or two units wait for each other.
        """

    def wake(self, channel: str) -> None:
        """After COMMIT, whoever waits on the channel, in any process, looks again."""
        if self._channels is None:
            self._channels = {}
        self._channels[channel] = None

    def after_commit(self, call: Callable[[], None]) -> None:
        """Runs `call` after COMMIT, before the caller is answered, in the order given; never when the unit fails.

        It runs on the engine's thread: it only hands something on. What must survive a crash goes to the outbox.
        """
        if self._after is None:
            self._after = []
        self._after.append(call)

    def settle(self) -> Exception | None:
        """For engines, after COMMIT: runs what was left for then. A call that raises cannot undo the unit; the
        others still run, and the bug is returned to be shown to the unit's caller.
        """
        bug: Exception | None = None
        _here.inside = True
        for call in self._after or ():
            try:
                call()
            except BaseException as error:  # noqa: BLE001 - it is handed to the unit's caller, whatever it is
                bug = Misuse("a call left for after COMMIT raised; the unit itself is committed")
                bug.__cause__ = error
        _here.inside = False
        return bug

    @property
    def channels(self) -> Sequence[str]:
        """For engines: the channels to wake after COMMIT."""
        return tuple(self._channels) if self._channels else ()


class Store(ABC):
    """A database and the ways to run a body in it. Safe to use from any thread and any event loop."""

    dialect: DialectName
    clock: Clock
    wake: Wake

    @abstractmethod
    def run(self, body: Callable[[Unit], T]) -> T:
        """Runs `body` in a transaction and returns its value once that is durable; the calling thread waits.

        Any exception of the body rolls the unit back and is raised here. Raises `Taken`, `Unavailable`, and `Misuse`
        from inside another unit, on an event loop, or where the body returns something that still has to be awaited
        or iterated. On Postgres a serialisation failure or deadlock runs the body again, so a body changes nothing
        but its own rows.
        """

    @abstractmethod
    async def unit(self, body: Callable[[Unit], T]) -> T:
        """`run` for coroutines. Cancelling the await does not undo the unit: it may commit all the same."""

    @abstractmethod
    def read(self, body: Callable[[Reading], T]) -> T:
        """Runs `body` on one snapshot, beside the writers and never behind them; raises as `run`."""

    @abstractmethod
    async def reading(self, body: Callable[[Reading], T]) -> T:
        """`read` for coroutines."""

    @abstractmethod
    def close(self) -> None:
        """Finishes what was accepted and closes; later units raise `Misuse`. Closing twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


_here = threading.local()


def forbid_nesting() -> None:
    """Raises `Misuse` where blocking for a unit would deadlock or stall: inside a body, or on an event loop."""
    if getattr(_here, "inside", False):
        raise Misuse("a unit was opened inside a unit; pass the Unit down instead")
    if asyncio._get_running_loop() is not None:
        raise Misuse("a unit would block the event loop; use `await store.unit(body)`")


def perform(view: R, body: Callable[[R], T]) -> T:
    """For engines: runs a body on its view, with every rule that does not depend on the engine."""
    _here.inside = True
    try:
        value = body(view)
        if hasattr(value, "__await__") or isinstance(value, GeneratorType | AsyncGeneratorType):
            _drop(value)
            raise Misuse("a unit's body must do its work before it returns: it may neither await nor yield")
        if view.failure is not None:
            raise Misuse("a unit's body went on after a statement of its had failed") from view.failure
    except StopIteration as error:
        raise Misuse("a unit's body let a StopIteration out") from error
    else:
        return value
    finally:
        _here.inside = False
        if view._over is None:
            view._over = Misuse("its body has returned")


def _drop(value: object) -> None:
    # A coroutine that is never awaited would warn; closing it is what its caller should have been told to do.
    close = getattr(value, "close", None)
    if close is not None:
        close()
