"""The composition root: the one place that knows all three systems.

It opens a home's store, ledger and keys, registers the acts and the consent sources, and gives an agent's tools their
only way to act. Nothing here decides anything. What drives the tools is opened over it, by `agent_home`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

import anyio

from sayso.apps.attestations import read_attestations
from sayso.apps.governed_tools import GovernedTools
from sayso.apps.home import Home
from sayso.apps.keys import AGENT, LEDGER, PRINCIPAL, has_keys, log_name, status_key
from sayso.apps.settings import Settings
from sayso.apps.watching import Watch, WatchingFetcher
from sayso.control.grants import GrantConsent
from sayso.core.ids import Ids, SystemIds
from sayso.core.instants import write_local
from sayso.core.refusal import Refused
from sayso.governance.acts import Registry
from sayso.governance.consent import ConsentSource
from sayso.governance.kernel import Kernel
from sayso.ledger.ledger import Ledger
from sayso.net.fetch import Fetcher
from sayso.scheduling.guest.party import Guest
from sayso.scheduling.guest.receipting import ledger_recorder
from sayso.scheduling.keyapp.app import KeyApp
from sayso.scheduling.keyapp.issued import Issued, StatusPlace
from sayso.scheduling.terms.guest_details import GuestDetails
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.tools.acts import register
from sayso.scheduling.tools.assistant import Assistant
from sayso.scheduling.tools.consent import SchedulingConsent
from sayso.scheduling.tools.operations import Operations
from sayso.store.open import open_store
from sayso.store.unit import Store
from sayso.store.vault import Vault

__all__ = ("House", "Wishes", "open_house", "open_issued", "system_message")

SCHEDULING = "scheduling"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the person asked of this house as a whole, which no assistant can set.

    `limits_only`: be asked once, for the limits, wherever the host allows it. `details`: what hosts may be told of the
    person once something is booked, instead of what the home's settings say. `said`: what the person tells the host of
    this very booking.
    """

    limits_only: bool = False
    details: GuestDetails | None = None
    said: GuestDetails | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """One person's open house. `key_app` is their surface's, never an agent's; `tools` are the agent's.

    `open_assistant` makes another assistant of the same person, which no limits signed before serve; `open_key_app`
    another key app, which has shown nothing yet.
    """

    home: Home
    zone: ZoneInfo
    ids: Ids
    vault: Vault
    store: Store
    ledger: Ledger
    guest: Guest
    operations: Operations
    kernel: Kernel
    key_app: KeyApp
    open_key_app: Callable[[], KeyApp]
    open_assistant: Callable[[], Assistant]
    fetcher: Fetcher
    tools: GovernedTools

    def system(self) -> str:
        """What a model is told at the start of a run that has the house's tools."""
        return system_message(self.home.clock.now, self.zone)

    @property
    def principal(self) -> str:
        """The person's id."""
        return self.key_app.principal

    async def sign_checkpoint(self) -> bool:
        """Signs the log as it stands, if the ledger's key is open; says whether it was."""
        try:
            key = self.vault.signer(LEDGER)
        except Refused as refused:
            if refused.refusal.code != "locked":
                raise
            return False
        await self.ledger.seal()
        await self.ledger.checkpoint(key)
        return True


@asynccontextmanager
async def open_house(
    home: Home,
    *,
    zone: ZoneInfo,
    resolve: Mapping[str, str] | None = None,
    wishes: Wishes = Wishes(),
    watch: Watch | None = None,
) -> AsyncIterator[House]:
    """Opens a house; at its end disclosures that wait are sealed and connections closed.

    `zone` is the person's. `resolve` adds to the home's own settings (the sample world's ports); `watch` sees each
    exchange with a host. Refused: `no_keys`.
    """
    ids = SystemIds()
    vault = Vault(home.path, home.clock)
    if not has_keys(vault):
        raise Refused.because("no_keys", f"{home.path} has no keys yet", help="Make them: sayso keyapp init")
    with open_store(home.database, home.clock) as store:
        entries = {**home.settings.resolve, **(resolve or {})}
        opened = Fetcher(entries) if watch is None else WatchingFetcher(entries, watch)
        async with opened as fetcher, anyio.create_task_group() as tasks:
            ledger = Ledger(store, log_name(vault), home.clock)
            tasks.start_soon(ledger.keep_sealed)
            agent = vault.signer(AGENT)
            record = ledger_recorder(ledger, agent.public.thumbprint)
            callback = home.settings.callback_url
            guest = Guest(store, fetcher, agent, home.clock, ids, record, callback_url=callback)
            principal = principal_urn(vault.public(PRINCIPAL))
            open_assistant = partial(
                Assistant,
                guest=guest,
                principal=principal,
                limits_only=wishes.limits_only,
                details=wishes.details or _details_of(home.settings),
                said=wishes.said,
            )
            open_key_app = partial(
                KeyApp,
                vault,
                fetcher,
                home.clock,
                ids,
                name=PRINCIPAL,
                agent=guest.agent,
                attestations=read_attestations(home.path),
                issued=open_issued(home, vault, store, ids),
            )
            assistant = open_assistant()
            operations = Operations(assistant)
            registry = Registry()
            register(registry, operations)
            sources: list[ConsentSource] = [SchedulingConsent(assistant), GrantConsent(registry.acts, person=principal)]
            kernel = Kernel(registry, sources, ledger)
            tools = GovernedTools(
                SCHEDULING, registry, kernel, actor=guest.agent, abandon=operations.release_open_holds
            )
            try:
                yield House(
                    home=home,
                    zone=zone,
                    ids=ids,
                    vault=vault,
                    store=store,
                    ledger=ledger,
                    guest=guest,
                    operations=operations,
                    kernel=kernel,
                    key_app=open_key_app(),
                    open_key_app=open_key_app,
                    open_assistant=open_assistant,
                    fetcher=fetcher,
                    tools=tools,
                )
            finally:
                tasks.cancel_scope.cancel()


def open_issued(home: Home, vault: Vault, store: Store, ids: Ids) -> Issued:
    """What this home's key app signed; with a public origin in the settings it can be taken back there."""
    origin = home.settings.keyapp_origin
    place = None if origin is None else StatusPlace(origin=origin, key=status_key(vault).public)
    return Issued(store, ids, vault.public(PRINCIPAL).thumbprint, place)


def _details_of(settings: Settings) -> GuestDetails | None:
    return None if settings.name is None else GuestDetails(name=settings.name, contact=settings.contact)


def system_message(now: Callable[[], datetime], zone: ZoneInfo) -> str:
    """What the model is told at the start of a run: how to behave, and two lines that a program reads as well."""
    return (
        "You act for one person and book other people's time with the tools given. Never invent a host, a service or a "
        "time: use what the tools return. The person signs limits and offers themselves; you cannot say yes for them. "
        "Say plainly what happened.\n"
        f"now: {write_local(now(), zone)}\n"
        f"zone: {zone.key}"
    )
