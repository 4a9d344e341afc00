"""The route walk finds what leads past the guard, however it is mounted."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from sayso.core.clock import ManualClock
from sayso.core.refusal import Misuse
from sayso.gateway.doors.door import door_app, public_app
from sayso.net.edge import Edge
from sayso.testing.gateway import ToyDoor, open_gateway
from sayso.testing.routes import public_paths, ungoverned
from sayso.testing.store import START


async def loose(_request: Request) -> PlainTextResponse:
    return PlainTextResponse("hello")


async def asgi(scope: object, receive: object, send: object) -> None:
    raise AssertionError("never called")


@pytest.mark.anyio
@pytest.mark.req("GTW-007")
async def test_only_doors_and_declared_public_routes_are_governed(tmp_path: Path) -> None:
    """Routes, mounts, mounts in mounts and wrappers are all walked."""
    async with open_gateway(tmp_path, clock=ManualClock(START)) as bench:
        door = door_app(bench.gateway, ToyDoor())
        card = public_app(asgi, "a card that every client reads before it has a key")
        good = [
            Route("/mcp", endpoint=door),
            Mount("/a", routes=[Route("/card", endpoint=card)]),
            Mount("/b", app=door),
        ]
        edge = Edge(door, hosts={"localhost"}, body_cap=10)
        app = Starlette(routes=[*good, Mount("/c", app=edge)], middleware=[Middleware(Edge, hosts=None, body_cap=10)])
        assert ungoverned(app) == []
        assert public_paths(app) == {"/a/card": "a card that every client reads before it has a key"}
        bad = Starlette(
            routes=[
                *good,
                Route("/loose", endpoint=loose),
                Mount("/d", routes=[Mount("/e", routes=[Route("/f", endpoint=loose)])]),
                Mount("/g", app=Edge(asgi, hosts={"localhost"}, body_cap=10)),
            ]
        )
        assert ungoverned(bad) == ["/loose", "/d/e/f", "/g"]


def test_a_walk_of_nothing_is_no_proof() -> None:
    """An application without any route is not found governed."""
    assert ungoverned(Starlette()) == ["/"]
    assert ungoverned(asgi) == ["/"]


def test_a_public_route_says_why() -> None:
    """A reason of white space is none."""
    with pytest.raises(Misuse):
        public_app(asgi, "  ")
