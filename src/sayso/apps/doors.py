"""Everything of a house that other programs reach over HTTP, on one listener (design, Processes, ports, names).

    /api/protocols/...            outside agents, by four protocols
    /.well-known/agent-card.json  how they come in (also agent.json)
    /api/receipts/...             what anybody may read of the receipts
    /api/openapi.json             the REST doors, described
    a host's own domain           its discovery and bookings, where this home is a host
    the key app's own domain      what was taken back, where the person's settings name one

The doors answer to loopback names and to the public origin in the settings; a host and the key app to their own domain
alone. Which application a request is for is told by its Host, and each judges that again itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Never, TypeAlias
from urllib.parse import urlsplit

import anyio
import structlog
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from sayso.apps.gateway_home import GatewayHouse
from sayso.apps.keys import LEDGER
from sayso.core.clock import Clock
from sayso.core.refusal import Refusal
from sayso.core.strictjson import encode
from sayso.gateway.doors.a2a.routes import A2a
from sayso.gateway.doors.acp import endpoint as acp
from sayso.gateway.doors.door import public_app
from sayso.gateway.doors.mcp import endpoint as mcp
from sayso.gateway.doors.tasks import door as feed
from sayso.gateway.knowledge.surface import KnowledgeSurface
from sayso.gateway.openapi import openapi_routes
from sayso.gateway.published import Published, published_routes
from sayso.gateway.pushing import Pusher
from sayso.governance.execution import Executor
from sayso.net.edge import LOOPBACK_HOSTS, Edge
from sayso.store.failures import Unavailable

__all__ = ("ByHost", "gateway_routes", "going_on", "open_doors", "working")

_log = structlog.get_logger(__name__)
_AWAY = timedelta(seconds=5)
Work: TypeAlias = Callable[[], Coroutine[Any, Any, Never]]


@asynccontextmanager
async def open_doors(opened: GatewayHouse, *, origin: str | None = None) -> AsyncIterator[ASGIApp]:
    """The gateway's doors as one application, with what works behind them, while the block runs."""
    with TemporaryDirectory(prefix="sayso-export-") as folder:
        published = _published(opened, Path(folder))
        a2a = A2a(opened.gateway, fetcher=opened.house.fetcher, hosts=_hosts(origin), origin=origin)
        try:
            async with anyio.create_task_group() as tasks:
                for work in (*working(opened), a2a.notices.run):
                    tasks.start_soon(going_on, work, opened.house.home.clock)
                yield _router(opened, published, a2a, origin)
                tasks.cancel_scope.cancel()
        finally:
            published.close()


def working(opened: GatewayHouse) -> list[Work]:
    """What works behind the doors, in any number of processes: acts that were approved, messages to be pushed."""
    house = opened.house
    executor = Executor(store=house.store, gate=opened.gate, clock=house.home.clock, worker=house.ids.new("worker"))
    pusher = Pusher(house.store, house.ledger, house.fetcher, house.home.clock, house.ids.new("worker"))
    return [executor.run, pusher.run]


async def going_on(work: Work, clock: Clock) -> Never:
    """Works, and begins again a little later where the database was away: the house stands, and knocks are answered
    503 meanwhile. Anything else is a bug, and ends the house.
    """
    while True:
        try:
            await work()
        except* Unavailable as away:
            _log.warning("work waits for the database", work=work.__qualname__, failures=len(away.exceptions))
        await clock.sleep_until(clock.now() + _AWAY)


def gateway_routes(
    opened: GatewayHouse, published: Published, a2a: A2a, hosts: Iterable[str], origin: str | None
) -> list[Route]:
    """Every route of the gateway: each is a door or says why it needs no key (GTW-007)."""
    gateway = opened.gateway
    surface = KnowledgeSurface(opened.knowledge, opened.house.ledger)
    return [
        *mcp.routes(gateway, mcp.McpDoor(gateway, surfaces=[surface]), hosts=sorted(hosts)),
        *a2a.routes(),
        *acp.routes(gateway, registry=gateway.governor.registry, gate=opened.gate, hosts=hosts),
        *feed.routes(gateway, opened.tasks, hosts=hosts),
        *published_routes(published, hosts=hosts),
        *openapi_routes(gateway.clock, hosts=hosts, origin=origin or "/"),
    ]


class ByHost:
    """One listener for several domains: whoever knocks is sent to the application of the Host they named, and to
    `otherwise` where none has that name. Each application judges the Host itself.
    """

    def __init__(self, otherwise: ASGIApp, domains: Mapping[str, ASGIApp]) -> None:
        self._otherwise = otherwise
        self._domains = {name.lower().encode(): app for name, app in domains.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = [value for name, value in scope.get("headers", ()) if name == b"host"]
        name = named[0].lower().partition(b":")[0] if len(named) == 1 else b""
        await self._domains.get(name, self._otherwise)(scope, receive, send)


def _router(opened: GatewayHouse, published: Published, a2a: A2a, origin: str | None) -> ASGIApp:
    hosts = _hosts(origin)
    router = Router(gateway_routes(opened, published, a2a, hosts, origin), redirect_slashes=False)
    router.default = public_app(
        Edge(_Nowhere(), hosts=hosts, body_cap=0), "nothing is served there, and it says no more than that"
    )
    return router


def _published(opened: GatewayHouse, folder: Path) -> Published:
    house = opened.house
    return Published(house.store, house.ledger, house.vault.public(LEDGER), house.home.clock, folder)


def _hosts(origin: str | None) -> frozenset[str]:
    return LOOPBACK_HOSTS if origin is None else LOOPBACK_HOSTS | {urlsplit(origin).hostname or ""}


class _Nowhere:
    """Every path that is none of ours."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = encode({"error": Refusal(code="no_such_path", message="There is nothing at this address")})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 404, "headers": headers})
        await send({"type": "http.response.body", "body": body})
