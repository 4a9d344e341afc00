"""Where the door of the Agent Communication Protocol stands in the house (GTW-004)."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.routing import Route

from sayso.gateway.beneath import beneath
from sayso.gateway.doors.acp.door import AcpDoor
from sayso.gateway.doors.acp.read import PREFIX
from sayso.gateway.doors.door import door_app
from sayso.gateway.gateway import Gateway
from sayso.governance.acts import Registry
from sayso.governance.gate import Gate
from sayso.net.edge import LOOPBACK_HOSTS

__all__ = ("routes",)


def routes(
    gateway: Gateway, *, registry: Registry, gate: Gate, hosts: Iterable[str] | None = LOOPBACK_HOSTS
) -> list[Route]:
    """Every address of the protocol, what is none of its paths included: that is refused in its own shape too."""
    door = AcpDoor(store=gateway.store, registry=registry, gate=gate, owner=gateway.owner, ids=gateway.ids)
    app = door_app(gateway, door, hosts=hosts)
    return beneath(PREFIX.decode(), app)
