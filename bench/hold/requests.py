"""Signed requests as bytes, made before anything is timed, and the client that sends them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import uvloop

from bench.hold.shops import PEOPLE, START, Door, doors, starts
from bench.measure import stopwatch
from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.instants import epoch, write_instant
from sayso.proof.httpsig import sign_request
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.identity import jwk_of, principal_urn
from sayso.scheduling.terms.mandate import MANDATE_TYP

CALLERS = 64
STATUSES = {"hold": b"201", "availability": b"200"}
_PATHS = {"hold": "/holds", "availability": "/availability"}


class Requests:
    """`count` of one kind, by a hundred people in turn, at every host in turn."""

    def __init__(self, count: int, of: str = "hold", hosts: int = 1) -> None:
        self.ids = SystemIds()
        self.people = [PrivateKey.from_seed(bytes([n]) * 32) for n in range(1, PEOPLE + 1)]
        self.agents = [PrivateKey.from_seed(bytes([n, 1]) * 16) for n in range(1, PEOPLE + 1)]
        at = doors(hosts)
        slots = list(islice(starts(), -(-count // hosts)))
        make = self.hold if of == "hold" else self.availability
        self.data = [make(at[n % hosts], n % PEOPLE, slots[n // hosts]) for n in range(count)]

    def mandate(self, host: str, who: int) -> str:
        now, person = epoch(START), self.people[who].public
        claims = {
            "iss": principal_urn(person),
            "aud": host,
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

    def hold(self, door: Door, who: int, start: datetime) -> bytes:
        body = strictjson.encode(
            {
                "idempotency_key": self.ids.new("i"),
                "service_id": "oil-change",
                "start": write_instant(start),
                "ttl": "PT10M",
            }
        )
        return self.signed(door, who, "hold", body, ("SchCP-Mandate", self.mandate(door.name, who)))

    def availability(self, door: Door, who: int, start: datetime) -> bytes:
        window = {"start": write_instant(start), "end": write_instant(start + timedelta(hours=8))}
        body = strictjson.encode({"service_id": "oil-change", "window": window})
        return self.signed(door, who, "availability", body)

    def signed(self, door: Door, who: int, of: str, body: bytes, *more: tuple[str, str]) -> bytes:
        path = door.base + _PATHS[of]
        headers = [
            ("Host", door.origin.removeprefix("https://")),
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            *sign_request(
                "POST", door.origin + path, body, key=self.agents[who], created=epoch(START), nonce=self.ids.token()
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
