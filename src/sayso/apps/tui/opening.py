"""Which agent a conversation is with: our own loop in this home, another backend in this process, or a running hub."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from sayso.apps.tui.seat import Seat, Wanted
from sayso.core.refusal import Refused

if TYPE_CHECKING:
    from sayso.apps.agent_home import Agent
    from sayso.apps.home import Home
    from sayso.apps.house import House
    from sayso.control.client.agent import AgentClient
    from sayso.control.loop.saved import SavedConversations
    from sayso.control.provider.contract import ProviderService

__all__ = ("open_wanted",)

_LOOP = "sayso"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSeat:
    """A seat at a hub that is not our loop's."""

    client: AgentClient
    adapter: str
    notice: str | None = None
    house: House | None = None
    providers: None = None
    conversations: None = None

    async def session_of(self, native_id: str) -> str | None:
        """A hub knows sessions by their own ids alone."""
        return native_id

    async def native_of(self, session_id: str) -> str | None:
        """What it keeps of them it keeps to itself."""
        return None

    async def is_sandboxed(self) -> bool:
        """Its tools are its own; nothing is known of them here."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSeat:
    """A seat at our own loop, with what this home keeps."""

    agent: Agent
    notice: str | None

    @property
    def client(self) -> AgentClient:
        return self.agent.client

    @property
    def adapter(self) -> str:
        return self.agent.adapter

    @property
    def house(self) -> House | None:
        return self.agent.house

    @property
    def providers(self) -> ProviderService:
        return self.agent.models.service

    @property
    def conversations(self) -> SavedConversations | None:
        return self.agent.conversations

    async def session_of(self, native_id: str) -> str | None:
        """A conversation of another hub of this home is taken up too."""
        return await self.agent.session_of(native_id)

    async def native_of(self, session_id: str) -> str | None:
        """As the hub recorded it."""
        return await self.agent.native_of(session_id)

    async def is_sandboxed(self) -> bool:
        """Found out by trying."""
        return self.agent.wishes.workspace is None or await self.agent.folder_tools.is_sandboxed()


@asynccontextmanager
async def open_wanted(wanted: Wanted) -> AsyncIterator[Seat]:
    """The agent that was asked for. Refused: what opening it is refused with; slow to import, which a thread does."""
    if wanted.attach is not None:
        async with _attached(wanted, wanted.attach) as seat:
            yield seat
        return
    if wanted.backend not in (None, _LOOP):
        async with _backend(wanted) as seat:
            yield seat
        return
    async with _own(wanted) as seat:
        yield seat


@asynccontextmanager
async def _own(wanted: Wanted) -> AsyncIterator[Seat]:
    """Our own loop, its bookings too where the home has keys. In a folder that is no workspace it goes without one."""
    agent_home = await _imported("sayso.apps.agent_home")
    async with _house(wanted) as (home, house):
        unfit = agent_home.open_folder_tools(home).unfit(wanted.workspace)
        wishes = agent_home.AgentWishes(
            model=wanted.model,
            permission=wanted.permission,
            workspace=None if unfit else wanted.workspace,
            keeps=True,
            stays=True,
        )
        async with agent_home.open_agent(home, wishes, house=house) as agent:
            offer = "From here: /login" if agent.notice else None
            said = [agent.notice, offer, f"No file tools here: {unfit}" if unfit else None]
            yield OwnSeat(agent=agent, notice="\n".join(filter(None, said)) or None)


@asynccontextmanager
async def _attached(wanted: Wanted, url: str) -> AsyncIterator[Seat]:
    http = await _imported("sayso.control.client.http")
    async with http.HubClient(url) as client:
        names = [each.name for each in (await client.adapters()).adapters if each.error is None]
        adapter = wanted.backend or (_LOOP if _LOOP in names else next(iter(names), ""))
        if adapter not in names:
            raise Refused.because(
                "unknown_adapter",
                f"the hub at {url} has no adapter named {adapter}" if adapter else f"the hub at {url} has no adapter",
                help=f"It has {', '.join(names)}: choose one with --backend." if names else None,
            )
        async with _house(wanted) as (_, house):
            yield HubSeat(client=client, adapter=adapter, house=house)


@asynccontextmanager
async def _backend(wanted: Wanted) -> AsyncIterator[Seat]:
    offering = await _imported("sayso.apps.offering")
    hub_module = await _imported("sayso.control.hub.hub")
    history_file = await _imported("sayso.control.hub.history_file")
    local = await _imported("sayso.control.client.local")
    asked = offering.Wanted(home=wanted.home, config=wanted.config, backend=wanted.backend)
    async with offering.open_offer(asked) as served:
        history = history_file.HistoryFile(
            wanted.home / "tui" / f"{wanted.backend}.jsonl", issuer=served.ids.new("hub")
        )
        hub = hub_module.Hub(served.registry, clock=served.clock, ids=served.ids, history=history)
        async with hub, local.LocalClient(hub, ids=served.ids) as client:
            yield HubSeat(client=client, adapter=str(wanted.backend))


@asynccontextmanager
async def _house(wanted: Wanted) -> AsyncIterator[tuple[Home, House | None]]:
    """The home and its house, for its key app; None when the home has no keys: then nothing can be signed here."""
    home_module, keys, vault = [
        await _imported(name) for name in ("sayso.apps.home", "sayso.apps.keys", "sayso.store.vault")
    ]
    home = await anyio.to_thread.run_sync(lambda: home_module.open_home(wanted.home, is_world=False))
    if not keys.has_keys(vault.Vault(home.path, home.clock)):
        yield home, None
        return
    house, zones = await _imported("sayso.apps.house"), await _imported("sayso.apps.person_zone")
    async with house.open_house(home, zone=zones.person_zone(home.settings.zone)) as opened:
        yield home, opened


async def _imported(name: str) -> Any:
    """A module, read in a thread: the screen goes on taking keys."""
    return await anyio.to_thread.run_sync(importlib.import_module, name)
