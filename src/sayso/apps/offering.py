"""Which adapters a `serve` command offers: those of a registry document, one backend of it, or the default.

Our own loop is opened only where an entry asks for it, over the home's models or a provider service somewhere else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sayso.control.hub.registry import Registry
from sayso.control.hub.registry_document import AdapterEntry, RegistryDocument, not_valid
from sayso.control.hub.registry_loading import build_registry, read_registry, type_of
from sayso.control.loop.contract import PermissionMode
from sayso.control.provider.bindings.service_address import SECURITY_VARIABLE, URL_VARIABLE, ServiceAddress
from sayso.core.clock import Clock, SystemClock
from sayso.core.ids import Ids, SystemIds
from sayso.core.refusal import Refused

if TYPE_CHECKING:
    from sayso.apps.home import Home
    from sayso.apps.house import House

__all__ = ("Served", "Wanted", "open_offer")

LOOP = "sayso"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for: a document or none, one backend of it or all, and the provider service that the loop asks in
    place of the home's own.

    `workspace` and `permission` are what a session of the loop gets that elects nothing; with `is_confined` none gets
    more.
    """

    home: Path
    is_world: bool = False
    config: Path | None = None
    backend: str | None = None
    remote: ServiceAddress | None = None
    workspace: Path | None = None
    permission: PermissionMode = "ask"
    is_confined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What is served, by which clock and ids."""

    registry: Registry
    clock: Clock
    ids: Ids


@asynccontextmanager
async def open_offer(wanted: Wanted) -> AsyncIterator[Served]:
    """Constructs every adapter. Refused `config_invalid`; with the loop also what its home, its house and its remote
    provider service are refused with.
    """
    document = _document(wanted)
    async with AsyncExitStack() as stack:
        if any(type_of(name, entry) == LOOP for name, entry in document.adapters.items()):
            yield await _with_loop(stack, wanted, document)
        elif wanted.remote is not None:
            raise Refused.because(
                "config_invalid",
                "a provider service was named, and no adapter that is offered here asks one",
                reason="provider_service",
                help=f"Only the backend {LOOP} does: unset {URL_VARIABLE} and {SECURITY_VARIABLE}.",
            )
        else:
            clock, ids = SystemClock(), SystemIds()
            registry = build_registry(document, os.environ, clock=clock, ids=ids)
            yield Served(registry=registry, clock=clock, ids=ids)


async def _with_loop(stack: AsyncExitStack, wanted: Wanted, document: RegistryDocument) -> Served:
    from sayso.apps.agent_home import AgentWishes, open_loop  # noqa: PLC0415 - slow to import, and few registries need it
    from sayso.control.mcp_sources.operators import operators_of  # noqa: PLC0415

    operators = operators_of(document.tool_sources, os.environ)
    home, house = await _open_house(stack, wanted)
    service, model = None, None
    if wanted.remote is not None:
        from sayso.apps.remote_models import open_remote  # noqa: PLC0415

        service, model = await stack.enter_async_context(open_remote(wanted.remote, home))
    wishes = AgentWishes(
        model=model,
        permission=wanted.permission,
        workspace=wanted.workspace,
        is_confined=wanted.is_confined,
        is_offline=wanted.is_world,
        keeps=True,
    )
    opening = open_loop(home, wishes, house=house, service=service, operators=operators)
    loop, ids = await stack.enter_async_context(opening), SystemIds()
    registry = build_registry(document, os.environ, clock=home.clock, ids=ids, builders={LOOP: lambda _plan: loop})
    return Served(registry=registry, clock=home.clock, ids=ids)


async def _open_house(stack: AsyncExitStack, wanted: Wanted) -> tuple[Home, House | None]:
    """The loop needs no keys: a home that has them gives it the house's tools besides."""
    from sayso.apps.home import open_home  # noqa: PLC0415
    from sayso.apps.keys import has_keys  # noqa: PLC0415
    from sayso.store.vault import Vault  # noqa: PLC0415

    home = open_home(wanted.home, is_world=False)
    if not wanted.is_world and not has_keys(Vault(home.path, home.clock)):
        return home, None
    from sayso.apps.house import Wishes  # noqa: PLC0415 - a house is slow to import, and a home without keys has none
    from sayso.apps.place import open_place  # noqa: PLC0415

    opening = open_place(wanted.home, is_world=wanted.is_world, wishes=Wishes(), told=sys.stderr)
    house = await stack.enter_async_context(opening)
    return house.home, house


def _document(wanted: Wanted) -> RegistryDocument:
    if wanted.config is None:
        if wanted.backend is not None:
            return RegistryDocument({wanted.backend: AdapterEntry()})
        # The sample world was asked for by name, so its loop is offered as well.
        names = ("memory", LOOP) if wanted.is_world else ("memory",)
        return RegistryDocument({name: AdapterEntry() for name in names})
    document = read_registry(wanted.config)
    if wanted.backend is None:
        return document
    entry = document.adapters.get(wanted.backend)
    if entry is None:
        place = f"adapters.{wanted.backend}"
        raise not_valid("missing_member", f"the document has no entry named {wanted.backend}", place=place)
    return RegistryDocument({wanted.backend: entry}, document.tool_sources)
