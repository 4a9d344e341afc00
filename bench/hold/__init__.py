"""A signed hold over HTTP beside its floor, on SQLite and on Postgres, and how it grows with the bookings there are.

    python -m bench.hold [--quick] [--engine sqlite|postgres] [--folder DIR] [--json FILE]

Product: one host process (uvicorn, uvloop, httptools), run as `sayso host serve` runs one, on SQLite at
synchronous=FULL or on Postgres with fsync and synchronous_commit on; every request carries its own signature, nonce,
mandate and idempotency key and takes another slot; all of it is checked, allocated, signed, receipted and committed
before the answer. With 1,000 hosts they stand behind one operator, and every request asks another one.
Floor: the same server, its process settled alike, and a router; per request two Ed25519 verifications, one signature,
three SHA-256, and the same rows into the very same tables (`floors`), the same number of bytes back.
Client, concurrency, request bytes and rounds are the same for both; requests are signed before the watch starts.
"""

from __future__ import annotations


def measure(*, quick: bool = False) -> list[dict[str, object]]:
    """Every table; what they need is loaded here, since the servers that are measured need none of it."""
    from bench.hold import tables

    return tables.measure(quick=quick)
