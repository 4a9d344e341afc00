"""An operator with two hosts on one origin, one of which has a domain of its own: real sockets, three keys."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from sayso.core.clock import Clock
from sayso.core.ids import CountingIds, SystemIds
from sayso.core.refusal import PeerUnreachable
from sayso.net.fetch import Fetcher, Response
from sayso.net.listen import serving
from sayso.net.signing import SignedClient
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.config import HostConfig
from sayso.scheduling.host.desk import Desk, open_desk
from sayso.scheduling.host.http import document_app
from sayso.scheduling.host.operator import OperatorConfig, ServedHost, operator_app
from sayso.scheduling.terms.discovery import Contact
from sayso.store.unit import Store
from sayso.testing.store import fresh_store
from sayso.world.harbourview_dental import harbourview_dental
from tests.scheduling.guest.hostile import Rule
from tests.scheduling.host.town import Guest, one_bay

OPERATOR = "chairly.example"
SHOP = f"corner-garage@{OPERATOR}"
SHOP_BASE = f"https://{OPERATOR}/hosts/corner-garage/schcp/v0"
DENTIST = "harbourview-dental@harbourviewdental.example"
DENTIST_SITE = "harbourviewdental.example"
DENTIST_BASE = f"https://{OPERATOR}/hosts/harbourview-dental/schcp/v0"
LIST = f"https://{OPERATOR}/.well-known/scheduling-operator.json"
SHOP_DOCUMENT = f"https://{OPERATOR}/hosts/corner-garage/scheduling.json"
DENTIST_DOCUMENT = f"https://{DENTIST_SITE}/.well-known/scheduling.json"
CHAIRLY = OperatorConfig(domain=OPERATOR, name="Chairly", contact=Contact(email="help@chairly.example"))


def corner_garage() -> HostConfig:
    """The one-bay garage as a shop without a domain."""
    return msgspec.structs.replace(
        one_bay(),
        id="corner-garage",
        domain=OPERATOR,
        operator=OPERATOR,
        title="Corner Garage",
        contact=Contact(phone="+1 416 555 0100"),
    )


class Wire(Fetcher):
    """Applies the rule whose key ends the URL, and writes down what went out."""

    def __init__(self, resolve: Mapping[str, str]) -> None:
        super().__init__(resolve)
        self.rules: dict[str, Rule] = {}
        self.sent: list[tuple[str, str]] = []
        self.dead: str | None = None

    async def request(
        self, method: str, url: str, *, headers: Iterable[tuple[str, str]] = (), body: bytes = b"", **settings: Any
    ) -> Response:
        self.sent.append((method, url))
        if self.dead is not None and url.endswith(self.dead):
            raise PeerUnreachable(url, "nobody is there")
        response = await super().request(method, url, headers=headers, body=body, **settings)
        for end, rule in self.rules.items():
            if url.endswith(end):
                return rule(response)
        return response

    def count(self, end: str) -> int:
        return sum(url.endswith(end) for _, url in self.sent)


@dataclass
class Plaza:
    """The running operator."""

    shop: Desk
    dentist: Desk
    store: Store
    clock: Clock
    wire: Wire
    ids: SystemIds = field(default_factory=SystemIds)

    def guest(self, host: str, base: str, agent: PrivateKey | None = None, key: PrivateKey | None = None) -> Guest:
        machine = agent or PrivateKey.generate()
        client = SignedClient(self.wire, machine, self.clock, self.ids)
        return Guest(client, key or PrivateKey.generate(), machine, self.clock, host=host, base=base)


@asynccontextmanager
async def open_plaza(folder: Path, clock: Clock) -> AsyncIterator[Plaza]:
    """The operator on one port, the dentist's own site on another."""
    folder.mkdir(exist_ok=True)
    shop, dentist = corner_garage(), harbourview_dental()
    with fresh_store(folder, clock, name="operator.db") as store:
        shop_desk = open_desk(shop, PrivateKey.from_seed(b"g" * 32), CountingIds())
        dentist_desk = open_desk(dentist, PrivateKey.from_seed(b"d" * 32), CountingIds())
        served = [ServedHost(shop, shop_desk, store), ServedHost(dentist, dentist_desk, store)]
        async with (
            serving(operator_app(CHAIRLY, served, clock)) as origin,
            serving(document_app(dentist, dentist_desk, clock)) as site,
            Wire({OPERATOR: f"127.0.0.1:{origin.port}", DENTIST_SITE: f"127.0.0.1:{site.port}"}) as wire,
        ):
            yield Plaza(shop_desk, dentist_desk, store, clock, wire)
