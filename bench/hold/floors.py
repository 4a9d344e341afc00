"""What nobody can leave out of a hold: the crypto, the hashes, the rows, the bytes.

The rows are the product's: nonce, its count, replay slot, its answer, hold, two allocations, log head, record; written
straight on the driver's cursor. On SQLite by the shortest group commit there is: one thread, whatever waits
in one transaction. On Postgres by as many connections as the product has, a transaction each, its statements sent in
one go. Nobody is answered before COMMIT.
"""

from __future__ import annotations

import asyncio
import hashlib
import queue
import threading
from collections.abc import Callable
from typing import Any

import psycopg
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from bench.hold.shops import START
from sayso.scheduling.rules.spans import micros
from sayso.store.engines import sqlite_library

CONNECTIONS = 8

_AT = micros(START)
_PUT = {
    "nonces": ("scope", "nonce", "keep_until"),
    "nonce_scopes": ("scope", "kept"),
    "replay_slots": ("scope", "fingerprint", "keep_until"),
    "host_hold": (
        "host", "hold_id", "state", "version", "service_id", "agent", "principal", "mandate", "proven", "expires_us",
        "until_us", "offer", "offer_sha256", "callback_url", "booking_id", "attester",
    ),
    "host_allocation": ("host", "start_us", "seat", "owner", "family", "end_us", "expires_us", "origin"),
    "ledger_head": ("log", "size", "head", "frontier", "leaves", "sealed", "waiting_since"),
    "ledger_record": ("log", "seq", "prev", "data"),
}  # fmt: skip
_INSERT = {
    name: f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})"
    for name, columns in _PUT.items()
}
_MOVE = "ON CONFLICT (log) DO UPDATE SET size = excluded.size, head = excluded.head, frontier = excluded.frontier"
_STATEMENTS = (
    _INSERT["nonces"],
    _INSERT["nonce_scopes"],
    _INSERT["replay_slots"],
    _INSERT["host_hold"],
    _INSERT["host_allocation"],
    _INSERT["host_allocation"],
    f"{_INSERT['ledger_head']} {_MOVE}",
    _INSERT["ledger_record"],
    "UPDATE replay_slots SET status = ?, body = ? WHERE scope = ?",
)
_SQL = {"sqlite": _STATEMENTS, "postgres": tuple(each.replace("?", "%s") for each in _STATEMENTS)}
_OFFER, _HEAD, _EDGE, _RECORD = "t" * 1600, b"h" * 32, b"f" * 320, b"r" * 620
_ASKED, _ANSWER, _AGENT, _PRINCIPAL = b"f" * 64, b"a" * 2010, "a" * 43, "p" * 77


def floor_app(writer: Any, path: str) -> Router:
    """Answers `path` as the product would, and checks nothing but two signatures."""
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
        await writer.write(hashlib.sha256(host.sign(offer + body)).hexdigest())
        return Response(answer, status_code=201, media_type="application/json")

    return Router([Route(path, hold, methods=["POST"])])


def rows(digest: str, number: int, log: str) -> tuple[tuple[Any, ...], ...]:
    """Every row of one hold, in the order of the statements."""
    at = _AT + number
    return (
        ("agent", digest, at),
        (digest, 1),
        (digest, _ASKED, at),
        (
            log, digest, "held", 1, "oil-change", _AGENT, _PRINCIPAL, digest, 1, at, at, _OFFER, digest, None, None,
            None,
        ),
        (log, at, "bay", digest, digest, at + 1, at, "agent"),
        (log, at, "technician", digest, digest, at + 1, at, "agent"),
        (log, number, _HEAD, _EDGE, 0, 0, None),
        (log, number, digest.encode(), _RECORD),
        (201, _ANSWER, digest),
    )  # fmt: skip


class _Queue:
    """Jobs on their way to the threads that write, and the answers back."""

    def __init__(self, hosts: int, threads: int) -> None:
        self.hosts = hosts
        self.number = 0
        self.queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.threads = [threading.Thread(target=self.serve) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    async def write(self, digest: str) -> None:
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self.number += 1
        self.queue.put((digest, self.number, f"log {self.number % self.hosts}", done, loop))
        await done

    def close(self) -> None:
        for _ in self.threads:
            self.queue.put(None)
        for thread in self.threads:
            thread.join()

    def serve(self) -> None:
        raise NotImplementedError


class SqliteFloor(_Queue):
    def __init__(self, database: str, hosts: int) -> None:
        self.connection = sqlite_library.connect(database)
        super().__init__(hosts, 1)

    def serve(self) -> None:
        run = self.connection.cursor().execute
        while (job := self.queue.get()) is not None:
            jobs = []
            run("BEGIN IMMEDIATE")
            while job is not None:
                for sql, values in zip(_SQL["sqlite"], rows(*job[:3]), strict=True):
                    run(sql, values)
                jobs.append(job)
                job = None if self.queue.empty() else self.queue.get()
            run("COMMIT")
            for *_, done, loop in jobs:
                loop.call_soon_threadsafe(done.set_result, None)
        self.connection.close()


class PostgresFloor(_Queue):
    def __init__(self, database: str, hosts: int) -> None:
        self.database = database
        super().__init__(hosts, CONNECTIONS)

    def serve(self) -> None:
        with psycopg.connect(self.database) as connection:
            while (job := self.queue.get()) is not None:
                with connection.pipeline(), connection.cursor() as cursor:
                    for sql, values in zip(_SQL["postgres"], rows(*job[:3]), strict=True):
                        cursor.execute(sql, values)
                    connection.commit()
                *_, done, loop = job
                loop.call_soon_threadsafe(done.set_result, None)


FLOORS: dict[str, Callable[[str, int], _Queue]] = {"sqlite": SqliteFloor, "postgres": PostgresFloor}
