"""How fast receipts are appended and verified, each beside its floor.

    python -m bench.receipts [--quick] [--folder DIR] [--json FILE]

Appended: 64 callers on one event loop, every receipt a unit of work of its own, SQLite at synchronous=FULL, nobody
answered before COMMIT. Its floors write the very same rows, made beforehand: the store's group commit with the same
64 callers and no ledger, and a bare loop on one connection that commits once for 64.
Verified: an export read from a file by the whole verifier. Its floor reads the same file, parses each line strictly and
takes the two hashes a record needs, and compares nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jiter
import uvloop

from bench.measure import Row, compare, report, stopwatch, table, write_report
from sayso.core.clock import SystemClock
from sayso.ledger.heads import move
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules import export
from sayso.ledger.rules.chain import START, Tip, extend
from sayso.ledger.rules.checkpoint import sign_checkpoint
from sayso.ledger.rules.record import Draft, Link, Record
from sayso.ledger.rules.verify import verify_export
from sayso.proof.keys import PrivateKey
from sayso.store.engines import sqlite_library
from sayso.store.open import open_store
from sayso.store.statements import insert, statement
from sayso.store.tables.ledger import ledger_record
from sayso.store.unit import Unit

CALLERS = 64
FOLDER = Path("/var/tmp")  # not /tmp, which is often in memory, where a commit costs nothing
LOG = "bench.example"
KEY = PrivateKey.from_seed(b"b" * 32)
HASH = "n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"
DRAFT = Draft(
    kind="act.done",
    actor="agent:planner",
    article="II",
    inputs_sha256=HASH,
    output_sha256=HASH,
    links=(Link("consent", HASH),),
    body={"act": "hold_slot", "call": "c_mfrggzdfmztwq2lknnwg23tpoa", "class": "execution"},
)
INSERT = statement(insert(ledger_record))


def make_records(count: int) -> list[tuple[Record, Tip, Tip]]:
    """Finished records with the tips before and after, so that a floor has nothing left to compute."""
    at = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)
    tip, found = START, []
    for _ in range(count):
        record, new = extend(tip, DRAFT, log=LOG, at=at)
        found.append((record, tip, new))
        tip = new
    return found


class Appending:
    """The three ways to put `count` receipts into a fresh file."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        self.count = count
        self.records = make_records(count)

    def with_ledger(self) -> float:
        """The product."""

        async def callers(path: Path) -> float:
            with open_store(path, SystemClock()) as store:
                ledger = Ledger(store, LOG, SystemClock())
                await ledger.append(DRAFT)
                with stopwatch() as watch:
                    await self._spread(lambda: ledger.append(DRAFT))
                return watch.rate(self.count)

        return self._fresh(lambda path: uvloop.run(callers(path)))

    def with_store(self) -> float:
        """The store's group commit, the same statements, no ledger."""

        async def callers(path: Path) -> float:
            with open_store(path, SystemClock()) as store:
                waiting = iter(self.records)

                def body(unit: Unit) -> None:
                    record, old, new = next(waiting)
                    move(unit, LOG, old, new)
                    row = {"log": LOG, "seq": record.seq, "prev": record.prev, "data": record.data}
                    unit.execute(INSERT, row)

                with stopwatch() as watch:
                    await self._spread(lambda: store.unit(body))
                return watch.rate(self.count)

        return self._fresh(lambda path: uvloop.run(callers(path)))

    def bare(self) -> float:
        """One connection, one thread, one commit for 64."""

        def loop(path: Path) -> float:
            with open_store(path, SystemClock()) as store:
                store.run(lambda unit: move(unit, LOG, START, self.records[0][1]))
            connection = sqlite_library.connect(path)
            run = connection.cursor().execute
            with stopwatch() as watch:
                for start in range(0, self.count, CALLERS):
                    run("BEGIN IMMEDIATE")
                    for record, old, new in self.records[start : start + CALLERS]:
                        run(
                            "UPDATE ledger_head SET size=?, head=?, frontier=? WHERE log=? AND size=? AND head=?",
                            (new.size, new.head, new.frontier.to_bytes(), LOG, old.size, old.head),
                        )
                        run(
                            "INSERT INTO ledger_record (log, seq, prev, data) VALUES (?, ?, ?, ?)",
                            (LOG, record.seq, record.prev, record.data),
                        )
                    run("COMMIT")
            connection.close()
            return watch.rate(self.count)

        return self._fresh(loop)

    async def _spread(self, act: Callable[[], Coroutine[Any, Any, object]]) -> None:
        async def caller() -> None:
            for _ in range(self.count // CALLERS):
                await act()

        async with asyncio.TaskGroup() as tasks:
            for _ in range(CALLERS):
                tasks.create_task(caller())

    def _fresh(self, case: Callable[[Path], float]) -> float:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            return case(folder / "bench.db")
        finally:
            shutil.rmtree(folder)


class Verifying:
    """The verifier and its floor, on one exported file."""

    def __init__(self, folder: Path, count: int) -> None:
        self.path = folder / "export.jsonl"
        self.count = count
        records = make_records(count)
        with self.path.open("wb") as file:
            file.write(export.write_header(LOG, with_evidence=False))
            for record, _, _ in records:
                file.write(export.write_record_line(record.data))
            note = sign_checkpoint(records[-1][2], log=LOG, at=datetime(2026, 10, 13, 13, 0, tzinfo=UTC), key=KEY)
            file.write(export.write_checkpoint_line(note.decode()))
            file.write(export.write_end(export.End(checkpoints=1, disclosures=0, evidence=0, records=count)))

    def verify(self) -> float:
        """The product."""
        with stopwatch() as watch, self.path.open("rb") as file:
            verdict = verify_export(file, key=KEY.public)
        assert verdict.records == self.count
        return watch.rate(self.count)

    def floor(self) -> float:
        """Read, parse strictly, hash twice."""
        with stopwatch() as watch, self.path.open("rb") as file:
            for line in file:
                data = line[10:-2]
                jiter.from_json(line, allow_inf_nan=False, catch_duplicate_keys=True)
                hashlib.sha256(b"sayso/receipt/v1\n" + data).digest()
                hashlib.sha256(b"\x00" + data).digest()
        return watch.rate(self.count)


def fsyncs(folder: Path) -> float:
    """How many times a second this folder's disk makes 4 KB durable: what a commit costs here at the least."""
    path = folder / "fsync"
    with path.open("wb") as file, stopwatch() as watch:
        for _ in range(200):
            file.write(b"\0" * 4096)
            file.flush()
            os.fdatasync(file.fileno())
    path.unlink()
    return watch.rate(200)


def run(folder: Path, *, quick: bool = False) -> list[dict[str, object]]:
    """Both comparisons; prints their tables."""
    rounds, count = (3, 6_400) if quick else (5, 32_000)
    appending, verifying = Appending(folder, count), Verifying(folder, 20_000 if quick else 100_000)
    found: list[tuple[str, list[Row], str]] = [
        (
            "receipts appended, 64 callers, synchronous=FULL",
            compare(
                {
                    "sayso ledger": appending.with_ledger,
                    "group commit, no ledger": appending.with_store,
                    "bare loop, 64 a commit": appending.bare,
                },
                rounds=rounds,
            ),
            "bare loop, 64 a commit",
        ),
        (
            "receipts verified",
            compare({"sayso verify": verifying.verify, "parse and hash": verifying.floor}, rounds=rounds),
            "parse and hash",
        ),
    ]
    for title, rows, floor in found:
        print(table(title, rows, floor=floor))
    print(f"one fdatasync of 4 KB here: {1e6 / fsyncs(folder):,.0f} us")
    return [report(title, rows, floor=floor) for title, rows, floor in found]


def measure(*, quick: bool = False, folder: Path = FOLDER) -> list[dict[str, object]]:
    """For `python -m bench`: both comparisons, in a folder of their own below `folder`."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        return run(Path(place), quick=quick)


def main() -> None:
    parser = argparse.ArgumentParser(description="Receipts appended and verified, each beside its floor.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, fewer receipts")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the databases are made: a real disk")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    reports = measure(quick=options.quick, folder=options.folder)
    if options.json:
        write_report(options.json, reports)


if __name__ == "__main__":
    main()
