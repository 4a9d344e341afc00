"""A signed hold over HTTP beside its floor, and how it grows with the bookings a host has.

    python -m bench.hold [--quick] [--folder DIR] [--json FILE]

Product: one host process (uvicorn, uvloop, httptools) on SQLite at synchronous=FULL; every request carries its own
signature, nonce, mandate and idempotency key and takes another slot; all of it is checked, allocated, signed,
receipted and committed before the answer.
Floor: the same server and router; per request two Ed25519 verifications, one signature, three SHA-256, and the same
nine writes (nonce, its count, replay slot, its answer, hold, two allocations, log head, record) into a file with the
very same tables, one group commit for whatever waits, the same number of bytes back.
Client, concurrency, request bytes and rounds are the same for both; requests are signed before the watch starts.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import uvloop
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from bench.measure import Row, compare, report, stopwatch, table, write_report
from sayso.core import strictjson
from sayso.core.clock import ManualClock
from sayso.core.ids import SystemIds
from sayso.core.instants import epoch, write_instant
from sayso.net.listen import serving
from sayso.proof.httpsig import sign_request
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.config import HostConfig
from sayso.scheduling.host.desk import open_desk
from sayso.scheduling.host.http import host_app
from sayso.scheduling.rules.spans import micros
from sayso.scheduling.terms.identity import jwk_of, principal_urn
from sayso.scheduling.terms.mandate import MANDATE_TYP
from sayso.store.engines import sqlite_library
from sayso.store.open import open_store
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_allocation, host_booking
from sayso.world.maple_street import maple_street_auto

START = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)
HOST_KEY = PrivateKey.from_seed(b"h" * 32)
CALLERS = 64
PEOPLE = 100
ORIGIN = "https://maplestreetauto.example"
PATHS = {"hold": "/schcp/v0/holds", "availability": "/schcp/v0/availability"}


def shop() -> HostConfig:
    """Maple Street, open to a year ahead and without caps that a bench would run into."""
    config = maple_street_auto()
    holds = replace(config.policies.holds, max_active_per_agent=1000)
    return replace(config, policies=replace(config.policies, holds=holds, horizon="P360D"))


def starts() -> Iterator[datetime]:
    """Every weekday hour from 8:00 to 16:00 Toronto, twice: as often as two bays can take it."""
    day = datetime(2026, 10, 19, tzinfo=UTC)
    while True:
        if day.weekday() < 5:
            for hour in range(13, 22):
                yield day + timedelta(hours=hour)
                yield day + timedelta(hours=hour)
        day += timedelta(days=1)


class Requests:
    """Signed requests as bytes, made before anything is timed."""

    def __init__(self, count: int, of: str = "hold") -> None:
        self.ids = SystemIds()
        self.people = [PrivateKey.from_seed(bytes([n]) * 32) for n in range(1, PEOPLE + 1)]
        self.agents = [PrivateKey.from_seed(bytes([n, 1]) * 16) for n in range(1, PEOPLE + 1)]
        slots = starts()
        make = self.hold if of == "hold" else self.availability
        self.data = [make(number % PEOPLE, next(slots)) for number in range(count)]

    def mandate(self, who: int) -> str:
        now, person = epoch(START), self.people[who].public
        claims = {
            "iss": principal_urn(person),
            "aud": "maple-street-auto@maplestreetauto.example",
            "iat": now,
            "exp": now + 3600,
            "jti": self.ids.new("m"),
            "cnf": {"jkt": self.agents[who].public.thumbprint},
            "principal_jwk": jwk_of(person),
            "scope": ["hold", "book", "cancel", "reschedule"],
            "constraints": {
                "services": ["oil-change"],
                "window": {"not_before": "2026-10-14T00:00:00-04:00", "not_after": "2028-10-14T00:00:00-04:00"},
                "max_price": {"amount": "100.00", "currency": "CAD"},
                "max_bookings": 1,
            },
            "consent": {"mode": "human_present", "statement": "Book my oil change Thursday around 1 PM, under $100."},
        }
        return sign_jws(claims, self.people[who], typ=MANDATE_TYP)

    def hold(self, who: int, start: datetime) -> bytes:
        body = strictjson.encode(
            {
                "idempotency_key": self.ids.new("i"),
                "service_id": "oil-change",
                "start": write_instant(start),
                "ttl": "PT10M",
            }
        )
        return self.signed(who, "hold", body, ("SchCP-Mandate", self.mandate(who)))

    def availability(self, who: int, start: datetime) -> bytes:
        window = {"start": write_instant(start), "end": write_instant(start + timedelta(hours=8))}
        return self.signed(who, "availability", strictjson.encode({"service_id": "oil-change", "window": window}))

    def signed(self, who: int, what: str, body: bytes, *more: tuple[str, str]) -> bytes:
        path = PATHS[what]
        headers = [
            ("Host", "maplestreetauto.example"),
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            *sign_request(
                "POST", ORIGIN + path, body, key=self.agents[who], created=epoch(START), nonce=self.ids.token()
            ),
            *more,
        ]
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


class Connection(asyncio.Protocol):
    """One keep-alive connection that sends the next request as soon as the last one is answered."""

    def __init__(self, waiting: Iterator[bytes], done: asyncio.Future[None], statuses: list[bytes]) -> None:
        self.waiting = waiting
        self.done = done
        self.statuses = statuses
        self.buffer = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.next()

    def next(self) -> None:
        request = next(self.waiting, None)
        if request is None:
            self.transport.close()
            self.done.set_result(None)
        else:
            self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, rest = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        if len(rest) >= length:
            self.statuses.append(head[9:12])
            self.buffer = rest[length:]
            self.next()


async def _load(port: int, requests: Sequence[bytes], callers: int) -> tuple[float, list[bytes]]:
    waiting, statuses = iter(requests), []
    loop = asyncio.get_running_loop()
    ends = [loop.create_future() for _ in range(callers)]
    with stopwatch() as watch:
        for end in ends:
            await loop.create_connection(lambda end=end: Connection(waiting, end, statuses), "127.0.0.1", port)
        await asyncio.gather(*ends)
    return watch.rate(len(requests)), statuses


def load(port: int, requests: Sequence[bytes], expected: bytes, *, callers: int = CALLERS) -> float:
    """Requests a second; every answer must have the expected status."""
    rate, statuses = uvloop.run(_load(port, requests, callers))
    wrong = [status for status in statuses if status != expected]
    assert not wrong, f"{len(wrong)} of {len(statuses)} answers were {wrong[0]!r}"
    return rate


@contextmanager
def server(kind: str, database: Path) -> Iterator[int]:
    """A host or a floor in a process of its own; its port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.hold", "--serve", kind, str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield int(process.stdout.readline())
    finally:
        process.communicate("")


async def serve(kind: str, database: Path) -> None:
    """The child's side."""
    clock = ManualClock(START)
    if kind == "host":
        with open_store(database, clock) as store:
            await _until_eof(host_app(shop(), open_desk(shop(), HOST_KEY, SystemIds()), store, clock))
    else:
        writer = Writer(database)
        await _until_eof(Router([Route(PATHS["hold"], floor(writer), methods=["POST"])]))
        writer.close()


async def _until_eof(app: Any) -> None:
    async with serving(app) as address:
        print(address.port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def floor(writer: Writer) -> Callable[[Request], Any]:
    """What nobody can leave out: the crypto, the hashes, the rows, the bytes."""
    agent, person, host = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2, 3))
    base, claims, offer = b"b" * 330, b"c" * 1250, b"o" * 1150
    agent_key, person_key = (key.public_key().public_bytes_raw() for key in (agent, person))
    signature, mandate_signature = agent.sign(base), person.sign(claims)
    answer = b"{" + b" " * 2010 + b"}"

    async def hold(request: Request) -> Response:
        body = await request.body()
        mandate = request.headers["schcp-mandate"].encode()
        hashlib.sha256(body).digest()
        hashlib.sha256(mandate).digest()
        Ed25519PublicKey.from_public_bytes(agent_key).verify(signature, base)
        Ed25519PublicKey.from_public_bytes(person_key).verify(mandate_signature, claims)
        digest = hashlib.sha256(host.sign(offer + body)).hexdigest()
        await writer.write(digest, mandate)
        return Response(answer, status_code=201, media_type="application/json")

    return hold


class Writer:
    """The shortest group commit there is: one thread, whatever waits in one transaction, answers after COMMIT."""

    def __init__(self, database: Path) -> None:
        self.connection = sqlite_library.connect(database)
        self.queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.number = 0
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    async def write(self, digest: str, mandate: bytes) -> None:
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self.queue.put((digest, mandate, done, loop))
        await done

    def close(self) -> None:
        self.queue.put(None)
        self.thread.join()
        self.connection.close()

    def serve(self) -> None:
        run = self.connection.cursor().execute
        while (job := self.queue.get()) is not None:
            jobs = []
            run("BEGIN IMMEDIATE")
            while job is not None:
                self.rows(run, job[0])
                jobs.append(job)
                job = None if self.queue.empty() else self.queue.get()
            run("COMMIT")
            for _, _, done, loop in jobs:
                loop.call_soon_threadsafe(done.set_result, None)

    def rows(self, run: Callable[..., Any], digest: str) -> None:
        self.number += 1
        n, token, at = self.number, "t" * 1600, micros(START) + self.number
        run("INSERT INTO nonces VALUES (?, ?, ?)", ("agent", digest, at))
        run("INSERT INTO nonce_scopes VALUES (?, ?)", (digest, 1))
        run("INSERT INTO replay_slots VALUES (?, ?, ?, NULL, NULL)", (digest, b"f" * 64, at))
        run("UPDATE replay_slots SET status = ?, body = ? WHERE scope = ?", (201, b"a" * 2010, digest))
        run(
            "INSERT INTO host_hold VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ("h", digest, "held", 1, "oil", "agent", "principal", digest, 1, at, at, token, digest, None, None, None),
        )
        for seat in ("bay", "technician"):
            run(
                "INSERT INTO host_allocation VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                ("h", at, seat, digest, digest, at + 1, at, "agent"),
            )
        run(
            "INSERT OR REPLACE INTO ledger_head VALUES (?, ?, ?, ?, ?, ?, ?)",
            ("log", n, b"h" * 32, b"f" * 320, 0, 0, None),
        )
        run("INSERT INTO ledger_record VALUES (?, ?, ?, ?)", ("log", n, digest.encode(), b"r" * 620))


def seed(database: Path, bookings: int) -> None:
    """Bookings of the past, an hour each on two bays, going back as far as it takes; everybody has kept some."""
    clock = ManualClock(START)
    people = [principal_urn(PrivateKey.from_seed(bytes([n]) * 32).public) for n in range(1, PEOPLE + 1)]
    host = "maple-street-auto@maplestreetauto.example"
    hour = micros(START) - micros(START - timedelta(hours=1))
    first = micros(START - timedelta(days=3))

    def rows(start: int) -> None:
        numbers = range(start, min(start + 10_000, bookings))
        with_store.many(statement(insert(host_booking)), (booking(n) for n in numbers))
        with_store.many(statement(insert(host_allocation)), (row for n in numbers for row in allocation(n)))

    def booking(n: int) -> dict[str, Any]:
        at = first - n // 2 * hour
        return {
            "host": host,
            "booking_id": f"b_{n}",
            "hold_id": f"h_{n}",
            "state": "completed",  # they are past, and their documents are filler that nobody may need to read
            "sequence": 0,
            "version": 1,
            "agent": "agent",
            "principal": people[n % PEOPLE],
            "mandate": f"m_{n}",
            "start_us": at,
            "until_us": at + hour,
            "open_end": 0,
            "owner": f"h_{n}",
            "offer": "o" * 1600,
            "offer_sha256": "s" * 43,
            "receipt": "r" * 2600,
            "answer_us": None,
            "message": None,
        }

    def allocation(n: int) -> Iterator[dict[str, Any]]:
        at = first - n // 2 * hour
        for seat in (f"bay-{n % 2 + 1}", ("alex", "robin")[n % 2]):
            yield {
                "host": host,
                "start_us": at,
                "seat": seat,
                "owner": f"h_{n}",
                "family": f"h_{n}",
                "end_us": at + hour,
                "expires_us": None,
                "origin": "agent",
            }

    with open_store(database, clock) as store:
        for start in range(0, bookings, 10_000):

            def body(unit: Any, start: int = start) -> None:
                nonlocal with_store
                with_store = unit
                rows(start)

            with_store: Any = None
            store.run(body)


class Holding:
    """One round of a case: a fresh copy of a seeded file, a fresh server, requests nobody has seen."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        self.count = count
        self.seeded: dict[int, Path] = {}

    def database(self, bookings: int) -> Path:
        if bookings not in self.seeded:
            path = self.folder / f"seeded-{bookings}.db"
            seed(path, bookings)
            self.seeded[bookings] = path
        fresh = Path(tempfile.mkdtemp(dir=self.folder)) / "bench.db"
        shutil.copy(self.seeded[bookings], fresh)
        return fresh

    def case(self, kind: str, bookings: int, *, of: str = "hold") -> Callable[[], float]:
        def once() -> float:
            database = self.database(bookings)
            requests = Requests(self.count, of).data
            try:
                with server(kind, database) as port:
                    return load(port, requests, b"201" if of == "hold" else b"200")
            finally:
                shutil.rmtree(database.parent)

        return once


def measure(*, quick: bool = False, folder: Path = Path("/var/tmp")) -> list[dict[str, object]]:
    """All three tables, printed; the same as data."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        return run(Path(made), quick=quick)


def run(folder: Path, *, quick: bool = False) -> list[dict[str, object]]:
    rounds, count = (3, 600) if quick else (5, 1_500)
    sizes = (100, 10_000) if quick else (100, 10_000, 100_000)
    holding, looking = Holding(folder, count), Holding(folder, count)
    looking.seeded = holding.seeded
    found: list[tuple[str, list[Row], str]] = [
        (
            f"signed hold over HTTP, {CALLERS} callers, synchronous=FULL",
            compare(
                {"sayso host": holding.case("host", 100), "floor": holding.case("floor", 100)},
                rounds=rounds,
            ),
            "floor",
        ),
        (
            "its growth: holds at a host that has had so many bookings",
            compare({f"{size:,} bookings": holding.case("host", size) for size in sizes}, rounds=rounds),
            "100 bookings",
        ),
        (
            "availability of a day, at the same hosts",
            compare(
                {f"{size:,} bookings": looking.case("host", size, of="availability") for size in sizes}, rounds=rounds
            ),
            "100 bookings",
        ),
    ]
    for title, rows, base in found:
        print(table(title, rows, floor=base))
    return [report(title, rows, floor=base) for title, rows, base in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, fewer requests")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="where the databases are made")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--serve", nargs=2, metavar=("KIND", "DATABASE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        uvloop.run(serve(options.serve[0], Path(options.serve[1])))
        return
    reports = measure(quick=options.quick, folder=options.folder)
    if options.json:
        write_report(options.json, reports)


if __name__ == "__main__":
    main()
