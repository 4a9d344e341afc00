"""The hosts that are measured: Maple Street alone, or a thousand shops like it behind one operator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from sayso.core.clock import Clock
from sayso.core.ids import SystemIds
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.config import HostConfig, endpoint_path, host_name, public_origin
from sayso.scheduling.host.desk import open_desk
from sayso.scheduling.host.http import host_app
from sayso.scheduling.host.operator import OperatorConfig, ServedHost, operator_app
from sayso.store.unit import Store
from sayso.world.maple_street import maple_street_auto

START = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)
HOST_KEY = PrivateKey.from_seed(b"h" * 32)
PEOPLE = 100
MANY = 1_000
_OPERATOR = "plaza.example"


def shop(number: int = 0, hosts: int = 1) -> HostConfig:
    """Maple Street, open to a year ahead and without caps that a bench would run into."""
    config = maple_street_auto()
    holds = replace(config.policies.holds, max_active_per_agent=1000)
    config = replace(config, policies=replace(config.policies, holds=holds, horizon="P360D"))
    return config if hosts == 1 else replace(config, id=f"shop-{number}", domain=_OPERATOR, operator=_OPERATOR)


@dataclass(frozen=True)
class Door:
    """Where one host is asked."""

    name: str
    origin: str
    base: str


def doors(hosts: int) -> list[Door]:
    configs = (shop(number, hosts) for number in range(hosts))
    return [Door(host_name(each), public_origin(each), endpoint_path(each)) for each in configs]


def application(hosts: int, store: Store, clock: Clock):
    if hosts == 1:
        return host_app(shop(), open_desk(shop(), HOST_KEY, SystemIds()), store, clock)
    configs = [shop(number, hosts) for number in range(hosts)]
    served = [ServedHost(each, open_desk(each, HOST_KEY, SystemIds()), store) for each in configs]
    return operator_app(OperatorConfig(domain=_OPERATOR, name="Plaza", contact=shop().contact), served, clock)


def starts() -> Iterator[datetime]:
    """Every weekday hour from 8:00 to 16:00 Toronto, twice: as often as two bays can take it."""
    day = datetime(2026, 10, 19, tzinfo=UTC)
    while True:
        if day.weekday() < 5:
            for hour in range(13, 22):
                yield day + timedelta(hours=hour)
                yield day + timedelta(hours=hour)
        day += timedelta(days=1)
