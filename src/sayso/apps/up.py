"""The whole house in one process: hub, doors and console on their three listeners (design, Processes, ports, names).

6270 is the hub (agent control), 6271 the doors (outside agents, and the home's own host and key app where it has them),
6272 the console. All are on loopback; 6271 is the one that a TLS proxy may lead to. What works behind them (approved
acts, messages to be pushed, seals, checkpoints) works here too, and any number of such processes may share a database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

import anyio
import msgspec
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.types import ASGIApp, Receive, Scope, Send

from sayso.apps.agent_home import AgentWishes, open_agent
from sayso.apps.console.app import console_app
from sayso.apps.doors import ByHost, open_doors
from sayso.apps.gateway_home import GatewayHouse, open_gateway
from sayso.apps.home import SESSIONS_FILE
from sayso.apps.host_home import OpenDesk
from sayso.apps.house import House
from sayso.apps.keys import status_key
from sayso.control.hub.bindings.http import serving_hub
from sayso.control.hub.history_file import HistoryFile
from sayso.core.refusal import Refused
from sayso.net.edge import LOOPBACK_HOSTS, Edge
from sayso.net.listen import LOOPBACK, serving
from sayso.scheduling.host.http import host_app
from sayso.scheduling.host.returning import keeping_returned
from sayso.scheduling.host.telling import keeping_told
from sayso.scheduling.host.tidying import keeping_tidy
from sayso.scheduling.keyapp.service import status_app
from sayso.store.failures import Unavailable

__all__ = ("PORT_BASE", "Addresses", "serving_doors", "serving_house")

PORT_BASE = 6270
METRICS = "/metrics"
_SIGNED_EVERY = timedelta(seconds=10)


class Addresses(msgspec.Struct, frozen=True, kw_only=True):
    """Where the house answers; `served` are domains of its own that the doors' listener answers to as well."""

    hub: str | None
    doors: str
    console: str | None
    served: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The three ports; 0 takes any free one."""

    hub: int
    doors: int
    console: int

    @classmethod
    def above(cls, base: int) -> Ports:
        """Three in a row; any free ones for 0."""
        return cls(hub=base, doors=base and base + 1, console=base and base + 2)


@asynccontextmanager
async def serving_house(
    house: House, base: int, *, environ: Mapping[str, str], host: OpenDesk | None = None
) -> AsyncIterator[Addresses]:
    """Everything, while the block runs. Refused: `port_in_use`, `settings_invalid`, `file_not_private`."""
    ports = Ports.above(base)
    opened = open_gateway(house, environ)
    async with AsyncExitStack() as stack:
        doors, served = await stack.enter_async_context(_doors(opened, ports.doors, host))
        console = _with_metrics(console_app(opened.desk, hosts=LOOPBACK_HOSTS), opened.metrics)
        shown = await stack.enter_async_context(serving(console, LOOPBACK, ports.console))
        history = HistoryFile(house.home.path / SESSIONS_FILE, issuer=house.ids.new("hub"))
        stack.callback(history.close)
        wishes = AgentWishes(is_confined=True, is_offline=house.home.is_world, stays=not house.home.is_world)
        agent = await stack.enter_async_context(open_agent(house.home, wishes, house=house, history=history))
        bound = await stack.enter_async_context(serving_hub(agent.hub, house.ids, port=ports.hub))
        yield Addresses(hub=bound.url, doors=doors, console=shown.url, served=served)


@asynccontextmanager
async def serving_doors(
    house: House, port: int, *, environ: Mapping[str, str], host: OpenDesk | None = None
) -> AsyncIterator[Addresses]:
    """The doors alone, with what works behind them, while the block runs. Refused: as `serving_house`."""
    async with _doors(open_gateway(house, environ), port, host) as (url, served):
        yield Addresses(hub=None, doors=url, console=None, served=served)


@asynccontextmanager
async def _doors(opened: GatewayHouse, port: int, host: OpenDesk | None) -> AsyncIterator[tuple[str, tuple[str, ...]]]:
    house = opened.house
    keys, origin = house.home.settings.keyapp_origin, house.home.settings.gateway_origin
    own = [host.config.domain] if host is not None else []
    _refuse_shared([*own, *(each.removeprefix("https://") for each in (keys, origin) if each is not None)])
    await opened.knowledge.open()
    async with AsyncExitStack() as stack:
        domains: dict[str, ASGIApp] = {}
        if host is not None:
            domains[host.config.domain] = await stack.enter_async_context(_hosting(house, host))
        if keys is not None:
            key = status_key(house.vault)
            domains[keys.removeprefix("https://")] = status_app(keys, key, house.store, house.home.clock, house.fetcher)
        gateway = await stack.enter_async_context(open_doors(opened, origin=origin))
        address = await stack.enter_async_context(serving(ByHost(gateway, domains), LOOPBACK, port))
        tasks = await stack.enter_async_context(anyio.create_task_group())
        tasks.start_soon(_keep_signed, house)
        stack.callback(tasks.cancel_scope.cancel)
        yield address.url, tuple(domains)


def _refuse_shared(names: Sequence[str]) -> None:
    """One listener tells its applications apart by name, so each needs its own: of two under one name, the first would
    answer and the other be out of reach. Refused: `settings_invalid`.
    """
    shared = {name for name in names if names.count(name) > 1 or name in LOOPBACK_HOSTS}
    if shared:
        raise Refused.because(
            "settings_invalid",
            f"{min(shared)} stands for more than one of gateway_origin, keyapp_origin and the host's domain, or is a "
            "name of this machine",
            help="Give each a name of its own; one TLS proxy may lead them all here.",
        )


@asynccontextmanager
async def _hosting(house: House, host: OpenDesk) -> AsyncIterator[ASGIApp]:
    """The home as a host: its calendar, and what keeps it tidy, tells guests and reads what was taken back."""
    fetcher = house.fetcher
    async with (
        keeping_tidy(host.store, host.clock, host.desk),
        keeping_told(host.store, host.clock, host.desk, fetcher),
        keeping_returned(host.store, host.clock, host.desk, fetcher),
    ):
        host.is_published()
        host.desk.statuses.ask_through(fetcher, host.clock)
        yield host_app(host.config, host.desk, host.store, host.clock)


async def _keep_signed(house: House) -> None:
    """Signs a checkpoint over what is new, whenever the person's keys are open (or unprotected)."""
    signed = -1
    while True:
        with suppress(Unavailable):  # a database that is away now is asked again
            size = (await house.ledger.standing()).records
            if size != signed and await house.sign_checkpoint():
                signed = (await house.ledger.standing()).records
        await house.home.clock.sleep_until(house.home.clock.now() + _SIGNED_EVERY)


def _with_metrics(console: ASGIApp, registry: CollectorRegistry) -> ASGIApp:
    """The console's listener, which shows its metrics to whoever is on this machine."""
    metrics = Edge(_Metrics(registry), hosts=LOOPBACK_HOSTS, body_cap=0)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        chosen = metrics if scope.get("path") == METRICS else console
        await chosen(scope, receive, send)

    return app


class _Metrics:
    """Counts, in Prometheus's text form."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = generate_latest(self._registry) if scope["method"] == "GET" else b""
        status = 200 if scope["method"] == "GET" else 405
        headers = [(b"content-type", CONTENT_TYPE_LATEST.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
