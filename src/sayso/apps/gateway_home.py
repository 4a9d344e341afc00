"""The gateway of one house put together: governance over every act it offers, the guard, and the desk of its owner.

As in `house`, nothing here decides anything. What outside agents are offered is registered here and nowhere else: what
is known, and the scheduling of this person.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from sayso.apps.console.desk import Desk, with_the_house
from sayso.apps.gateway_settings import read_ceilings, read_deadlines, read_limits
from sayso.apps.home import Home
from sayso.apps.house import House, open_house
from sayso.apps.keys import LEDGER, PRINCIPAL, make_keys
from sayso.apps.person_zone import person_zone
from sayso.gateway.gateway import Gateway
from sayso.gateway.guard.agents import Agents, standing_of
from sayso.gateway.guard.metrics import PrometheusMetrics
from sayso.gateway.knowledge import acts as knowing
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.gateway.tasks import Tasks
from sayso.governance.acts import Registry
from sayso.governance.constitution import Constitution
from sayso.governance.gate import Gate
from sayso.governance.governor import Governor
from sayso.scheduling.tools.at_doors import register_at_doors
from sayso.store.vault import Vault
from sayso.world.people import SAM
from sayso.world.process import find_world

__all__ = ("GatewayHouse", "open_gateway", "opening_desk")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayHouse:
    """A house with its gateway. `metrics` is what is counted of crossings."""

    house: House
    gateway: Gateway
    knowledge: Knowledge
    tasks: Tasks
    desk: Desk
    metrics: CollectorRegistry

    @property
    def gate(self) -> Gate:
        """The queue of people."""
        return self.desk.gate


def open_gateway(house: House, environ: Mapping[str, str] = os.environ) -> GatewayHouse:
    """Puts the gateway of an open house together. Refused: `settings_invalid`, naming the variable."""
    owner, store, ledger, clock, ids = house.principal, house.store, house.ledger, house.home.clock, house.ids
    limits = read_limits(environ)
    registry, metrics = Registry(), CollectorRegistry()
    knowledge = Knowledge(store, ledger, owner=owner, clock=clock, ids=ids)
    knowing.register(registry, knowledge)
    sources = register_at_doors(registry, house.open_assistant)
    constitution = Constitution.load(read_ceilings(environ))
    gate = Gate(
        store=store,
        ledger=ledger,
        registry=registry,
        sources=sources,
        constitution=constitution,
        owner=owner,
        clock=clock,
        ids=ids,
        standing=with_the_house(standing_of(owner)),
        deadlines=read_deadlines(environ),
    )
    gateway = Gateway(
        store=store,
        ledger=ledger,
        governor=Governor(registry, gate, constitution),
        owner=owner,
        clock=clock,
        ids=ids,
        limits=limits,
        metrics=PrometheusMetrics(metrics),
    )
    tasks = Tasks(store, ledger, knowledge.memory, owner, ids, knowledge.domains)
    desk = Desk(
        owner=owner,
        title=house.home.settings.name or "sayso",
        zone=house.zone,
        clock=clock,
        ids=ids,
        store=store,
        ledger=ledger,
        ledger_key=house.vault.public(LEDGER),
        registry=registry,
        gate=gate,
        agents=Agents(store, ledger, owner, clock, ids, limits),
        tasks=tasks,
        knowledge=knowledge,
        limits=limits,
        vault=house.vault,
        key=PRINCIPAL,
        open_key_app=house.open_key_app,
    )
    return GatewayHouse(house=house, gateway=gateway, knowledge=knowledge, tasks=tasks, desk=desk, metrics=metrics)


@asynccontextmanager
async def opening_desk(home: Home, *, resolve: Mapping[str, str] | None = None) -> AsyncIterator[Desk]:
    """The desk of a home for one command. In the sample world hosts are reached where they run now, if they do.

    Refused: `no_keys`, and as `open_house`.
    """
    zone = person_zone(SAM.timezone if home.is_world else home.settings.zone)
    if home.is_world:
        make_keys(Vault(home.path, home.clock), None)
        resolve = {**(await find_world(home.path.parent) or {}), **(resolve or {})}
    async with open_house(home, zone=zone, resolve=resolve) as house:
        yield open_gateway(house).desk
