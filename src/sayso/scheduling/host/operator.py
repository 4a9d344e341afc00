"""Several hosts on one origin: the operator's list, each host's routes under a path of its own (protocol 4.7).

SCH-035, SCH-044, SCH-047, SCH-055. Requests are signed for the operator's public origin; which host is meant is told by
the path alone, and nothing of one host is reached through the path of another: every door knows one desk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.refusal import Misuse
from sayso.scheduling.host.config import HostConfig, endpoint_path, host_name
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.http import Nowhere, Published, guarded, host_routes
from sayso.scheduling.terms.discovery import Contact
from sayso.scheduling.terms.operator import (
    OPERATOR_WELL_KNOWN,
    ListedHost,
    OperatorDocument,
    document_url,
    endpoint_url,
    listed_document_path,
)
from sayso.scheduling.terms.wire import VERSION, DomainName, Words
from sayso.store.unit import Store

__all__ = ("OperatorConfig", "ServedHost", "listing_of", "operator_app")

_HOSTS = "/hosts/"


class OperatorConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who an operator is: its domain, its name, and how people reach it."""

    domain: DomainName
    name: Words
    contact: Contact


@dataclass(frozen=True, slots=True)
class ServedHost:
    """One host of an operator, ready to answer."""

    config: HostConfig
    desk: Desk
    store: Store


def listing_of(operator: OperatorConfig, hosts: Sequence[HostConfig]) -> OperatorDocument:
    """The operator's list of those hosts, each of which names it."""
    return OperatorDocument(
        versions=(VERSION,),
        operator=operator.domain,
        name=operator.name,
        contact=operator.contact,
        hosts=tuple(_entry(operator.domain, host) for host in hosts),
    )


def _entry(operator: str, host: HostConfig) -> ListedHost:
    if host.operator != operator:
        raise Misuse(f"{host_name(host)} does not name {operator} as its operator")
    name = host_name(host)
    return ListedHost(
        id=host.id,
        title=host.title,
        kind=host.kind,
        document=document_url(name, operator),
        endpoint=endpoint_url(name, operator),
        domain=None if host.domain == operator else host.domain,
    )


def operator_app(operator: OperatorConfig, served: Sequence[ServedHost], clock: Clock) -> ASGIApp:
    """The operator's origin: its list, the documents of hosts without a domain, and every host's endpoint."""
    listing = strictjson.encode(listing_of(operator, [host.config for host in served]))
    published = Route(OPERATOR_WELL_KNOWN, Published(lambda: listing, operator.contact))
    own = Router([published], redirect_slashes=False, default=Nowhere(operator.contact))
    routers = {
        host.config.id: Router(
            _routes(operator, host, clock), redirect_slashes=False, default=Nowhere(host.desk.contact)
        )
        for host in served
    }
    contacts = {host.config.id: host.desk.contact for host in served}

    async def by_host(scope: Scope, receive: Receive, send: Send) -> None:
        host_id = _host_id(scope["path"])
        router = routers.get(host_id)
        if router is None:
            await own(scope, receive, send)
        else:
            # All hosts' routes are spelt alike below their own path, so their patterns are compiled once for all.
            await router({**scope, "root_path": _HOSTS + host_id}, receive, send)

    def contact_of(path: str) -> Contact:
        return contacts.get(_host_id(path), operator.contact)

    return guarded(by_host, f"https://{operator.domain}", contact_of)


def _host_id(path: str) -> str:
    """Whose path it is, found at once however many hosts there are; empty for a path of none."""
    host_id, slash, _ = path.removeprefix(_HOSTS).partition("/")
    return host_id if slash and path.startswith(_HOSTS) else ""


def _routes(operator: OperatorConfig, host: ServedHost, clock: Clock) -> list[BaseRoute]:
    config, desk = host.config, host.desk

    def below(path: str) -> str:
        return path.removeprefix(_HOSTS + config.id)

    routes: list[BaseRoute] = [*host_routes(config, desk, host.store, clock, below(endpoint_path(config)))]
    if config.domain == operator.domain:
        published = Published(lambda: desk.document_at(clock.now()), desk.contact)
        routes.append(Route(below(listed_document_path(config.id)), published))
    return routes
