"""psycopg: how a connection is set up and what its errors mean. Imported only when a postgresql:// URL is opened."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import psycopg
from psycopg import IsolationLevel
from psycopg.abc import Buffer
from psycopg.adapt import Loader

from sayso.core.refusal import Corrupt, Misuse
from sayso.store.failures import Taken, Unavailable
from sayso.store.statements import Row

__all__ = ("ERRORS", "Again", "Connection", "Error", "connect", "connect_reader", "lock_number", "translate")

Connection: TypeAlias = psycopg.Connection[Row]
Error: type[Exception] = psycopg.Error
ERRORS: tuple[type[Exception], ...] = (Error, OverflowError, UnicodeError)
"""What a statement may raise: the driver's own errors, and Python's for values the driver cannot spell."""

_CONNECT_SECONDS = 10
_TAKEN = frozenset({"23505", "23P01"})
_AGAIN = frozenset({"40001", "40P01"})
# Connection trouble, out of resources, operator intervention, a lock or statement timeout.
_PASSING_CLASSES = frozenset({"08", "53", "57", "58"})
_LOCK_TIMEOUT = "55P03"
_DAMAGED_CLASS = "XX"


class Again(Unavailable):
    """The transaction lost to another one, or its connection broke before COMMIT: running the body again may help."""


class _WholeNumber(Loader):
    """Sums of big integers arrive as numeric; statements carry whole numbers only, so they are read as such."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data))


def connect(url: str) -> Connection:
    """A connection for units: READ COMMITTED, durable at COMMIT. Raises `Unavailable`."""
    connection = _open(url)
    connection.isolation_level = IsolationLevel.READ_COMMITTED
    return connection


def connect_reader(url: str) -> Connection:
    """A connection for readings: one snapshot a transaction, and no writing. Raises `Unavailable`."""
    connection = _open(url)
    connection.isolation_level = IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    return connection


def _open(url: str) -> Connection:
    try:
        connection = psycopg.connect(url, connect_timeout=_CONNECT_SECONDS, application_name="sayso")
        connection.adapters.register_loader("numeric", _WholeNumber)
        # A server set to answer before it is durable is overruled; one set to something stronger is left alone.
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
        connection.commit()
    except psycopg.Error as error:
        raise translate(error) from error
    return connection


def lock_number(key: str) -> int:
    """The advisory lock a key stands for; two keys that collide wait for each other and nothing worse."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big", signed=True)


def translate(error: Exception) -> Exception:
    """The portable exception for one of the driver's, by SQLSTATE."""
    state = getattr(error, "sqlstate", None)
    if state is None:
        # No SQLSTATE: the driver itself complains. What is operational is the connection; the rest is our call.
        if isinstance(error, psycopg.OperationalError):
            return Unavailable(str(error))
        return Misuse(f"psycopg refused a statement: {error}")
    if state in _TAKEN:
        named = isinstance(error, psycopg.Error) and error.diag.constraint_name
        return Taken(named or None)
    if state in _AGAIN:
        return Again(f"the transaction lost to another one ({state})")
    if state[:2] in _PASSING_CLASSES or state == _LOCK_TIMEOUT:
        return Unavailable(str(error))
    if state[:2] == _DAMAGED_CLASS:
        return Corrupt("the Postgres database is damaged", str(error))
    return Misuse(f"Postgres refused a statement ({state}): {error}")
