"""A shop on a real socket, and guests who sign: what the host's tests are played with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.ids import CountingIds, SystemIds
from sayso.core.instants import epoch
from sayso.ledger.reading import read_records
from sayso.net.fetch import Fetcher, Response
from sayso.net.listen import serving
from sayso.net.signing import SignedClient
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.config import HostConfig
from sayso.scheduling.host.desk import Desk, open_desk
from sayso.scheduling.host.http import host_app
from sayso.scheduling.terms.discovery import WELL_KNOWN, Discovery
from sayso.scheduling.terms.discovery_checks import verify_discovery
from sayso.scheduling.terms.identity import jwk_of, principal_urn
from sayso.scheduling.terms.mandate import MANDATE_TYP
from sayso.store.statements import statement
from sayso.store.tables.scheduling import host_allocation, host_booking, host_change, host_hold
from sayso.store.unit import Store
from sayso.testing.store import fresh_store
from sayso.world.maple_street import maple_street_auto

HOST = "maple-street-auto@maplestreetauto.example"
DOMAIN = "maplestreetauto.example"
BASE = f"https://{DOMAIN}/schcp/v0"
ONE = "2026-10-15T13:00:00-04:00"
WINDOW = {"not_before": "2026-10-15T11:00:00-04:00", "not_after": "2026-10-15T15:45:00-04:00"}
HOST_KEY = PrivateKey.from_seed(b"h" * 32)


def one_bay(**policies: Any) -> HostConfig:
    """Maple Street with a single bay and no caps in the way."""
    config = maple_street_auto()
    holds = msgspec.structs.replace(config.policies.holds, max_active_per_agent=1000, max_active_unproven=100_000)
    return msgspec.structs.replace(
        config,
        units=tuple(unit for unit in config.units if unit.id in ("bay-1", "alex")),
        services=tuple(msgspec.structs.replace(service, choose_from=()) for service in config.services),
        policies=msgspec.structs.replace(config.policies, holds=holds, **policies),
    )


@dataclass
class Guest:
    """A person and their agent: two keys, and requests signed by the second."""

    client: SignedClient
    key: PrivateKey
    agent: PrivateKey
    clock: Clock
    host: str = HOST
    base: str = BASE
    ids: SystemIds = field(default_factory=SystemIds)

    @property
    def principal(self) -> str:
        return principal_urn(self.key.public)

    def claims(self, *, constraints: dict[str, Any] | None = None, **changed: Any) -> dict[str, Any]:
        """A buying mandate's claims for the walkthrough, with members replaced."""
        now = epoch(self.clock.now())
        claims = {
            "iss": self.principal,
            "aud": self.host,
            "iat": now,
            "exp": now + 3600,
            "jti": self.ids.new("m"),
            "cnf": {"jkt": self.agent.public.thumbprint},
            "principal_jwk": strictjson.parse(strictjson.encode(jwk_of(self.key.public))),
            "scope": ["hold", "book", "cancel", "reschedule"],
            "constraints": {
                "services": ["oil-change"],
                "window": WINDOW,
                "max_price": {"amount": "100.00", "currency": "CAD"},
                "max_bookings": 1,
                **(constraints or {}),
            },
            "consent": {"mode": "human_present", "statement": "Book my oil change."},
            **changed,
        }
        claims["constraints"] = {name: value for name, value in claims["constraints"].items() if value is not None}
        return claims

    def sign(self, claims: dict[str, Any]) -> str:
        return sign_jws(claims, self.key, typ=MANDATE_TYP)

    def mandate(self, *, constraints: dict[str, Any] | None = None, **changed: Any) -> str:
        return self.sign(self.claims(constraints=constraints, **changed))

    def closed(self, offer: str, **constraints: Any) -> str:
        scope = ["reschedule"] if "bookings" in constraints else ["book"]
        return self.mandate(
            constraints={
                "services": None,
                "window": None,
                "max_price": None,
                "max_bookings": None,
                "offer_sha256": sha256_b64u(offer),
                **constraints,
            },
            scope=scope,
        )

    def managing(self, booking_id: str, **constraints: Any) -> str:
        named = {"services": None, "max_bookings": None, "bookings": [booking_id], **constraints}
        return self.mandate(constraints=named, scope=["cancel", "reschedule"])

    async def send(
        self, method: str, path: str, body: dict[str, Any] | bytes = b"", mandate: str | None = None, **headers: str
    ) -> Response:
        data = body if isinstance(body, bytes) else strictjson.encode(body)
        extra = [(name.replace("_", "-"), value) for name, value in headers.items()]
        if mandate is not None:
            extra.append(("SchCP-Mandate", mandate))
        return await self.client.send(method, self.base + path, data, extra_headers=extra)

    async def hold(self, mandate: str, **changed: Any) -> Response:
        body = {
            "idempotency_key": self.ids.new("i"),
            "service_id": "oil-change",
            "start": ONE,
            "ttl": "PT5M",
            **changed,
        }
        return await self.send("POST", "/holds", body, mandate)

    async def confirm(self, hold: dict[str, Any], mandate: str, **changed: Any) -> Response:
        body = {"idempotency_key": self.ids.new("i"), "offer_sha256": sha256_b64u(hold["offer"]), **changed}
        return await self.send("POST", f"/holds/{hold['hold_id']}/confirm", body, mandate)

    async def release(self, hold: dict[str, Any]) -> Response:
        return await self.send("POST", f"/holds/{hold['hold_id']}/release", {"idempotency_key": self.ids.new("i")})

    async def cancel(self, booking_id: str, mandate: str, **changed: Any) -> Response:
        body = {"idempotency_key": self.ids.new("i"), **changed}
        return await self.send("POST", f"/bookings/{booking_id}/cancel", body, mandate)

    async def ask_change(self, booking_id: str, start: str, mandate: str, **changed: Any) -> Response:
        body = {"idempotency_key": self.ids.new("i"), "start": start, "ttl": "PT5M", **changed}
        return await self.send("POST", f"/bookings/{booking_id}/changes", body, mandate)

    async def accept(self, change: dict[str, Any], mandate: str, **changed: Any) -> Response:
        body = {"idempotency_key": self.ids.new("i"), "offer_sha256": sha256_b64u(change["offer"]), **changed}
        return await self.send(
            "POST", f"/bookings/{change['booking_id']}/changes/{change['offer_id']}/accept", body, mandate
        )

    async def book(self, mandate: str, **changed: Any) -> dict[str, Any]:
        """Holds and confirms; the booking."""
        hold = read(await self.hold(mandate, **changed), 201)
        return read(await self.confirm(hold, mandate), 201)["booking"]


@dataclass
class Town:
    """A running shop."""

    desk: Desk
    store: Store
    clock: Clock
    port: int
    fetcher: Fetcher
    ids: SystemIds = field(default_factory=SystemIds)

    def guest(self, key: PrivateKey | None = None, agent: PrivateKey | None = None) -> Guest:
        """Somebody new, or somebody's known key with a new agent."""
        person, machine = key or PrivateKey.generate(), agent or PrivateKey.generate()
        return Guest(SignedClient(self.fetcher, machine, self.clock, self.ids), person, machine, self.clock)

    async def document(self) -> Discovery:
        """The discovery document, as a guest reads it."""
        return verify_discovery((await self.fetcher.get(f"https://{DOMAIN}{WELL_KNOWN}")).body, DOMAIN)

    async def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything the host has stored about time, for comparing before and after."""
        return await self.store.reading(
            lambda unit: {
                table.name: sorted(unit.all(statement(table.select())), key=repr)
                for table in (host_allocation, host_booking, host_change, host_hold)
            }
        )

    async def kinds(self) -> list[str]:
        """The kinds of record in the host's own log, in order."""
        records = await self.store.reading(lambda view: read_records(view, self.desk.log, 0, 1_000_000))
        return [record.kind for record in records]


@asynccontextmanager
async def open_town(store: Store, clock: Clock, config: HostConfig | None = None) -> AsyncIterator[Town]:
    """A shop on a loopback port of its own for the length of a block."""
    settings = config or maple_street_auto()
    desk = open_desk(settings, HOST_KEY, CountingIds())
    async with (
        serving(host_app(settings, desk, store, clock)) as address,
        Fetcher({DOMAIN: f"127.0.0.1:{address.port}"}) as fetcher,
    ):
        yield Town(desk, store, clock, address.port, fetcher)


@asynccontextmanager
async def open_town_on_file(folder: Path, clock: Clock, config: HostConfig | None = None) -> AsyncIterator[Town]:
    """The same on a fresh SQLite file."""
    with fresh_store(folder, clock) as store:
        async with open_town(store, clock, config) as town:
            yield town


def read(response: Response, status: int) -> dict[str, Any]:
    """The body of an answer that has to have this status."""
    body = strictjson.parse(response.body)
    assert response.status == status, body
    assert isinstance(body, dict)
    return body


def reason(response: Response, status: int) -> str:
    """The registered reason of a refusal that has to have this status and say how to reach the shop."""
    refusal = read(response, status)["refusal"]
    assert refusal["contact"]["phone"] == "+1 416 555 0134"
    return refusal["reason"]
