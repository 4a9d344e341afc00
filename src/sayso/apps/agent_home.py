"""A person's own agent: our loop over the models they can use, with the tools they give it (design, The main job).

The one place where models, tools and saved conversations meet. `ask` gives it the house's tools, `run` a workspace, the
terminal UI both. It needs no keys: only a house does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sayso.apps.home import Home
from sayso.apps.house import House
from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.local import LocalClient
from sayso.control.hub.history import History
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry as Adapters
from sayso.control.loop.contract import PermissionMode
from sayso.control.provider.planner.provider import MODEL, OfflinePlanner
from sayso.core.ids import Ids, SystemIds

__all__ = ("LOOP", "Agent", "AgentWishes", "open_agent", "open_loop")

LOOP = "sayso"
"""The name under which the hub lists our own loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWishes:
    """What somebody asked of an agent when they opened it."""

    model: str | None = None
    permission: PermissionMode = "ask"
    workspace: Path | None = None
    is_offline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An open agent behind a hub of its own. `notice` is what its person has to know about its model."""

    loop: OwnLoop
    hub: Hub
    client: LocalClient
    ids: Ids
    model_ref: str
    notice: str | None
    house: House | None
    adapter: str = LOOP


@asynccontextmanager
async def open_agent(
    home: Home, wishes: AgentWishes, *, house: House | None = None, history: History | None = None
) -> AsyncIterator[Agent]:
    """Opens an agent and its hub; both end with the block."""
    async with (
        open_loop(home, wishes, house=house) as loop,
        Hub(Adapters({LOOP: loop}), clock=home.clock, ids=SystemIds(), history=history) as hub,
        LocalClient(hub) as client,
    ):
        yield Agent(loop=loop, hub=hub, client=client, ids=SystemIds(), model_ref=MODEL, notice=None, house=house)


@asynccontextmanager
async def open_loop(home: Home, wishes: AgentWishes, *, house: House | None = None) -> AsyncIterator[OwnLoop]:
    """The loop alone, for whoever brings a hub."""
    ids = SystemIds()
    yield OwnLoop(
        OfflinePlanner(ids),
        [house.tools] if house is not None else [],
        clock=home.clock,
        ids=ids,
        model_ref=MODEL,
        system=house.system if house is not None else None,
    )
