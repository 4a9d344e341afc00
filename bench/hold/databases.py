"""Databases with bookings in them, made once a size, and a fresh copy of one for every round."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import psycopg

from bench.hold.shops import PEOPLE, START, doors
from sayso.core.clock import ManualClock
from sayso.proof.keys import PrivateKey
from sayso.scheduling.rules.spans import DAY, micros
from sayso.scheduling.terms.identity import principal_urn
from sayso.store.open import open_store
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_allocation, host_booking
from sayso.testing.postgres import PostgresServer

_BATCH = 10_000
_HOUR = DAY // 24
_FIRST = micros(START - timedelta(days=3))


def seed(location: str, bookings: int, hosts: int) -> None:
    """Bookings of the past, an hour each on two bays, going back as far as it takes; everybody has kept some."""
    people = [principal_urn(PrivateKey.from_seed(bytes([n]) * 32).public) for n in range(1, PEOPLE + 1)]
    names = [door.name for door in doors(hosts)]

    def booking(n: int) -> dict[str, Any]:
        at = _start(n // hosts)
        return dict.fromkeys(host_booking.c.keys()) | {
            "host": names[n % hosts],
            "booking_id": f"b_{n}",
            "hold_id": f"h_{n}",
            "state": "completed",  # they are past, and their documents are filler that nobody may need to read
            "sequence": 0,
            "version": 1,
            "agent": "agent",
            "principal": people[n % PEOPLE],
            "mandate": f"m_{n}",
            "start_us": at,
            "until_us": at + _HOUR,
            "open_end": 0,
            "owner": f"h_{n}",
            "offer": "o" * 1600,
            "offer_sha256": "s" * 43,
            "receipt": "r" * 2600,
        }

    def allocations(n: int) -> Iterator[dict[str, Any]]:
        at, side = _start(n // hosts), n // hosts % 2
        for seat in (f"bay-{side + 1}", ("alex", "robin")[side]):
            yield dict.fromkeys(host_allocation.c.keys()) | {
                "host": names[n % hosts],
                "start_us": at,
                "seat": seat,
                "owner": f"h_{n}",
                "family": f"h_{n}",
                "end_us": at + _HOUR,
                "origin": "agent",
            }

    def write(unit: Any, numbers: range) -> None:
        unit.many(statement(insert(host_booking)), (booking(n) for n in numbers))
        unit.many(statement(insert(host_allocation)), (row for n in numbers for row in allocations(n)))

    with open_store(location, ManualClock(START)) as store:
        for start in range(0, bookings, _BATCH):
            numbers = range(start, min(start + _BATCH, bookings))
            store.run(lambda unit, numbers=numbers: write(unit, numbers))


def _start(number: int) -> int:
    return _FIRST - number // 2 * _HOUR


class Databases(Protocol):
    """Where the databases of one engine come from."""

    def fresh(self, bookings: int, hosts: int) -> Any:
        """A context: the location of a database of its own with so many bookings in it."""
        ...


class SqliteFiles:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seeded: dict[tuple[int, int], Path] = {}

    @contextmanager
    def fresh(self, bookings: int, hosts: int) -> Iterator[str]:
        kept = self.seeded.get((bookings, hosts))
        if kept is None:
            kept = self.seeded[bookings, hosts] = self.folder / f"seeded-{bookings}-{hosts}.db"
            seed(str(kept), bookings, hosts)
        with tempfile.TemporaryDirectory(dir=self.folder) as made:
            path = Path(made) / "bench.db"
            shutil.copy(kept, path)
            yield str(path)


class PostgresDatabases:
    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.seeded: dict[tuple[int, int], str] = {}

    @contextmanager
    def fresh(self, bookings: int, hosts: int) -> Iterator[str]:
        kept = self.seeded.get((bookings, hosts))
        if kept is None:
            location = self.server.fresh()
            seed(location, bookings, hosts)
            # What autovacuum does for a server that runs for longer than a bench.
            with psycopg.connect(location, autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")
            kept = self.seeded[bookings, hosts] = location.partition("?")[0].rpartition("/")[2]
        url = self.server.fresh(template=kept)
        try:
            yield url
        finally:
            self.server.drop(url)
