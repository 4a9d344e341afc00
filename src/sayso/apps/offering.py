"""Which adapters a `serve` command offers: those of a registry document, one backend of it, or the default.

Our own loop needs a house, with keys and receipts; it is opened only where an entry asks for that loop.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sayso.control.hub.registry import Registry
from sayso.control.hub.registry_document import AdapterEntry, RegistryDocument, not_valid
from sayso.control.hub.registry_loading import build_registry, read_registry, type_of
from sayso.core.clock import Clock, SystemClock
from sayso.core.ids import Ids, SystemIds

__all__ = ("Served", "Wanted", "open_offer")

LOOP = "sayso"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for: a document or none, and one backend of it or all."""

    home: Path
    is_world: bool = False
    config: Path | None = None
    backend: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What is served, by which clock and ids."""

    registry: Registry
    clock: Clock
    ids: Ids


@asynccontextmanager
async def open_offer(wanted: Wanted) -> AsyncIterator[Served]:
    """Constructs every adapter. Refused `config_invalid`; with the loop also what a house is refused with."""
    document = _document(wanted)
    if not any(type_of(name, entry) == LOOP for name, entry in document.adapters.items()):
        clock, ids = SystemClock(), SystemIds()
        registry = build_registry(document, os.environ, clock=clock, ids=ids)
        yield Served(registry=registry, clock=clock, ids=ids)
        return
    from sayso.apps.agent_home import AgentWishes, open_loop  # noqa: PLC0415
    from sayso.apps.house import Wishes  # noqa: PLC0415 - a house is slow to import, and most registries need none
    from sayso.apps.place import open_place  # noqa: PLC0415

    async with (
        open_place(wanted.home, is_world=wanted.is_world, wishes=Wishes(), told=sys.stderr) as house,
        open_loop(house.home, AgentWishes(is_offline=wanted.is_world), house=house) as loop,
    ):
        registry = build_registry(
            document,
            os.environ,
            clock=house.home.clock,
            ids=house.ids,
            builders={LOOP: lambda _plan: loop},
        )
        yield Served(registry=registry, clock=house.home.clock, ids=house.ids)


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
