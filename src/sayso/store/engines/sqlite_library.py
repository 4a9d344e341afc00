"""The one SQLite library of the process: its minimum version, how a connection is set up, what its errors mean.

Two SQLite libraries in one process on one file break each other's locks, so every connection is made here.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from pysqlite3 import _sqlite3
from pysqlite3 import dbapi2 as driver

from sayso.core.refusal import Corrupt, Misuse, Refused
from sayso.store.failures import Taken, Unavailable
from sayso.store.statements import Row

__all__ = (
    "ERRORS",
    "Connection",
    "Cursor",
    "Error",
    "connect",
    "driver",
    "is_read_only",
    "prepare_file",
    "require_version",
    "translate",
)

Error: type[Exception] = driver.Error
ERRORS: tuple[type[Exception], ...] = (Error, OverflowError, UnicodeError)
"""What a statement may raise: the driver's own errors, and Python's for values the driver cannot spell."""


class Connection(Protocol):
    """The part of the driver's connection that is used; the driver itself has no types."""

    in_transaction: bool
    total_changes: int

    def cursor(self) -> Cursor: ...
    def execute(self, sql: str, /) -> Cursor: ...
    def enable_load_extension(self, enabled: bool, /) -> None: ...  # noqa: FBT001 - the driver's own signature
    def load_extension(self, path: str, /) -> None: ...
    def set_busy_handler(self, handler: Callable[[int], int], /) -> None: ...
    def backup(self, target: Any, /) -> None: ...
    def close(self) -> None: ...


class Cursor(Protocol):
    """The part of the driver's cursor that is used."""

    rowcount: int

    def execute(self, sql: str, arguments: Sequence[Any] = (), /) -> object: ...
    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object: ...
    def fetchall(self) -> list[Row]: ...
    def close(self) -> None: ...


# Before 3.51.3 a WAL reset at the wrong moment can lose committed transactions.
_OLDEST = (3, 51, 3)
_BUSY_TRIES = 4000
_BUSY_PAUSE = 0.0025

_CONSTRAINT, _CORRUPT, _NOT_A_DATABASE = 19, 11, 26
_BUSY, _READ_ONLY = 5, 8
_PRIMARY_KEY, _UNIQUE, _ROWID = 1555, 2067, 2579
# BUSY, LOCKED, NOMEM, READONLY, INTERRUPT, IOERR, FULL, CANTOPEN, PROTOCOL
_PASSING = frozenset({_BUSY, 6, 7, _READ_ONLY, 9, 10, 13, 14, 15})


def require_version(found: tuple[int, ...] = driver.sqlite_version_info) -> None:
    """Raises `Refused` (`sqlite_too_old`) where the library is older than the store can be trusted on."""
    if found < _OLDEST:
        raise Refused.because(
            "sqlite_too_old",
            f"SQLite {'.'.join(map(str, found))} is too old: the store needs {'.'.join(map(str, _OLDEST))} or newer",
            help="Install a newer pysqlite3 wheel.",
        )


def prepare_file(path: Path) -> None:
    """Makes the file, and the folder it stands in, readable by its owner alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def connect(path: Path, *, read_only: bool = False) -> Connection:
    """A connection that makes no transaction of its own. Raises `Unavailable`, `Corrupt`."""
    try:
        connection = _open(str(path))
        connection.set_busy_handler(_pause)
        _turn_on_journal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        if read_only:
            _learn_distances(connection)
            connection.execute("PRAGMA query_only = ON")
    except Error as error:
        raise translate(error) from error
    return connection


def _turn_on_journal(connection: Connection) -> None:
    """WAL. Several processes that meet at a new file change its mode at once, and SQLite answers all but one of them
    with BUSY without asking their busy handler.
    """
    tries = 0
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != _BUSY or not _pause(tries):
                raise
            tries += 1
        else:
            return


def translate(error: Exception) -> Exception:
    """The portable exception for one of the driver's, by extended result code."""
    code = getattr(error, "sqlite_errorcode", 0)
    if code in (_PRIMARY_KEY, _UNIQUE, _ROWID):
        return Taken()
    primary = code & 0xFF
    if primary in _PASSING:
        return Unavailable(str(error))
    if primary in (_CORRUPT, _NOT_A_DATABASE):
        return Corrupt("the SQLite file is damaged", str(error))
    if primary == _CONSTRAINT:
        return Misuse(f"a row breaks a rule of its table: {error}")
    return Misuse(f"SQLite refused a statement: {error}")


def is_read_only(error: Exception) -> bool:
    """Whether a statement was refused because its connection must not write."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == _READ_ONLY


def _pause(tries: int) -> int:
    """Waits for another process's transaction in short even steps; SQLite's own handler grows them to 100 ms, which
    starves whoever is unlucky. Gives up after ten seconds.
    """
    if tries >= _BUSY_TRIES:
        return 0
    time.sleep(_BUSY_PAUSE)
    return 1


@cache
def _distances() -> str | None:
    if find_spec("sqlite_vec") is None:
        return None
    return str(import_module("sqlite_vec").loadable_path())


def _learn_distances(connection: Connection) -> None:
    """Loads `sqlite-vec` into this very library, where it is installed (the `semantic` extra): readings may then order
    rows by the distance of vectors. No other extension can be loaded, before or after.
    """
    path = _distances()
    if path is None:
        return
    connection.enable_load_extension(True)
    try:
        connection.load_extension(path)
    finally:
        connection.enable_load_extension(False)


# The driver leaves SQLite's extended result codes off and has no switch for them, so a taken key and a missing value
# would look alike. SQLite calls an automatic extension with every new connection's handle; ours turns the codes on.
_library = ctypes.CDLL(_sqlite3.__file__)
_opening = threading.Lock()
_seen: list[int] = []


def _turn_on_extended_codes(handle: int, message: int, routines: int) -> int:
    _seen.append(handle)
    return int(_library.sqlite3_extended_result_codes(ctypes.c_void_p(handle), 1))


# Kept here for good: SQLite holds the pointer for as long as a connection is being opened.
_entry_point = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
    _turn_on_extended_codes
)


def _open(path: str) -> Connection:
    with _opening:
        _seen.clear()
        _library.sqlite3_auto_extension(_entry_point)
        try:
            connection: Connection = driver.connect(
                path, isolation_level=None, check_same_thread=False, cached_statements=512
            )
        finally:
            _library.sqlite3_cancel_auto_extension(_entry_point)
        if not _seen:
            connection.close()
            raise Misuse("this build of pysqlite3 hides SQLite's result codes")
    return connection
