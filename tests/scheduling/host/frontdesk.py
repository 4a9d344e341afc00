"""The shop as a host that answers each request, and the program at its front desk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.net.fetch import Response
from sayso.net.signing import SignedClient
from sayso.proof.jws import read_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.config import HostConfig, StaffConfig
from sayso.scheduling.terms.discovery import Confirmation
from tests.scheduling.host.town import BASE, Town, one_bay

DESK = PrivateKey.from_seed(b"d" * 32)
TWO_HOURS = Confirmation(mode="approval", answer_within="PT2H")


def with_staff(config: HostConfig) -> HostConfig:
    """The shop with a program at its front desk."""
    return replace(config, staff=(StaffConfig(id="front-desk", key=DESK.public.thumbprint),))


def approving(**policies: Any) -> HostConfig:
    """One bay, every request answered within two hours."""
    return with_staff(one_bay(**{"confirmation": TWO_HOURS, **policies}))


@dataclass
class FrontDesk:
    """Signs with a key of the settings, or with one that is not."""

    client: SignedClient
    ids: SystemIds = field(default_factory=SystemIds)

    async def act(self, act: str, booking_id: str, **body: Any) -> Response:
        sent = {"idempotency_key": self.ids.new("i"), **body}
        return await self.client.send("POST", f"{BASE}/host/bookings/{booking_id}/{act}", strictjson.encode(sent))

    async def read(self, path: str = "") -> Response:
        return await self.client.send("GET", f"{BASE}/host/bookings{path}", b"")


def front_desk(town: Town, key: PrivateKey = DESK) -> FrontDesk:
    return FrontDesk(SignedClient(town.fetcher, key, town.clock, SystemIds()))


def claims(token: str) -> dict[str, Any]:
    """What a token says."""
    value = strictjson.parse(read_jws(token).payload)
    assert isinstance(value, dict)
    return value
