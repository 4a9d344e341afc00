"""The hosts of the world, and how they are opened, each in its own folder.

A host's keys and receipts are its own: the folder is a home like any other, unlocked because nobody's consent hangs on
it. Settings come from code each time it is opened, state from its database. The hosts of one operator share the
operator's database, as they would at a real one: it counts some things across them (SCH-118).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.types import ASGIApp

from sayso.core.clock import Clock
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host import signed_rules
from sayso.scheduling.host.config import HostConfig, host_name
from sayso.scheduling.host.desk import Desk, open_desk
from sayso.scheduling.host.http import document_app, host_app
from sayso.scheduling.host.operator import OperatorConfig, ServedHost, operator_app
from sayso.scheduling.host.ruling import at_rules
from sayso.scheduling.terms.rule import KeepRuleRequest
from sayso.store.open import open_store
from sayso.store.unit import Store, Unit
from sayso.store.vault import Vault
from sayso.world.chairly import CHAIRLY
from sayso.world.daybook import DAYBOOK
from sayso.world.fades_on_queen import fades_on_queen
from sayso.world.harbourview_dental import harbourview_dental
from sayso.world.juniper_rooms import juniper_rooms
from sayso.world.maple_street import maple_street_auto
from sayso.world.noor_haddad import noor_haddad, noors_rule, owned_by
from sayso.world.northwind import northwind
from sayso.world.places import host_folder
from sayso.world.rosies_nails import rosies_nails

__all__ = ("HOSTS", "OPERATORS", "OpenHost", "host_names", "open_host", "open_one", "open_world")

HOSTS: Final[tuple[Callable[[], HostConfig], ...]] = (
    maple_street_auto,
    fades_on_queen,
    harbourview_dental,
    northwind,
    rosies_nails,
    juniper_rooms,
    noor_haddad,
)
"""Who can be booked in the world."""

OPERATORS: Final = (CHAIRLY, DAYBOOK)
"""Who runs endpoints for others."""

_OFFERS, _LEDGER, _PRINCIPAL, _AGENT = "host", "ledger", "principal", "agent"
_DATABASE = "sayso.db"


@dataclass(frozen=True, slots=True)
class OpenHost:
    """A host ready to be served."""

    config: HostConfig
    desk: Desk
    store: Store
    app: ASGIApp
    begin: Callable[[Unit], None] | None = None
    """What was done before the story begins; run whenever the world is served, done once."""


@dataclass(frozen=True, slots=True)
class OpenWorld:
    """Everything the world serves: each origin's application by its name, in the order of their ports."""

    origins: dict[str, ASGIApp]
    hosts: tuple[OpenHost, ...]


def host_names() -> tuple[str, ...]:
    """The global names of the businesses that can be booked; to a person's calendar its owner introduces somebody."""
    return tuple(host_name(config) for config in (settings() for settings in HOSTS) if config.kind == "business")


@contextmanager
def open_world(home: Path, clock: Clock) -> Iterator[OpenWorld]:
    """Opens every host and operator. A host with a domain and an operator has two origins: its document is its own."""
    configs = [settings() for settings in HOSTS]
    with ExitStack() as stack:
        hosts = [stack.enter_context(open_host(home, each, clock)) for each in configs if each.operator is None]
        origins = {host.config.domain: host.app for host in hosts}
        for operator in OPERATORS:
            store = stack.enter_context(_store(home, _store_of(operator.domain), clock))
            served = [_open(home, each, store, clock) for each in configs if each.operator == operator.domain]
            origins |= _operator_origins(operator, served, clock)
            hosts += served
        yield OpenWorld(origins, tuple(hosts))


def _operator_origins(operator: OperatorConfig, served: list[OpenHost], clock: Clock) -> dict[str, ASGIApp]:
    listed = [ServedHost(host.config, host.desk, host.store) for host in served]
    own = {host.config.domain: host.app for host in served if host.config.domain != operator.domain}
    return {operator.domain: operator_app(operator, listed, clock), **own}


@contextmanager
def open_host(home: Path, config: HostConfig, clock: Clock) -> Iterator[OpenHost]:
    """Opens a host in its own folder, making its keys the first time; closes its store at the end."""
    with _store(home, config.id, clock) as store:
        yield _open(home, config, store, clock)


@contextmanager
def open_one(home: Path, host_id: str, clock: Clock) -> Iterator[OpenHost]:
    """One host of the world by its bare id, on the database it is served from. Refused: `no_host`."""
    found = next((config for config in (settings() for settings in HOSTS) if config.id == host_id), None)
    if found is None:
        known = ", ".join(settings().id for settings in HOSTS)
        raise Refused.because("no_host", f"Nobody in the sample world is called {host_id[:80]}", help=f"There: {known}")
    with _store(home, found.id if found.operator is None else _store_of(found.operator), clock) as store:
        yield _open(home, found, store, clock)


def _store_of(operator: str) -> str:
    """Which folder holds the database that an operator's hosts share."""
    return operator.partition(".")[0]


def _open(home: Path, config: HostConfig, store: Store, clock: Clock) -> OpenHost:
    """`app` is what the host's own domain serves; of a host without one its operator serves everything."""
    vault = Vault(_folder(home, config.id), clock)
    signer = _key(vault, _OFFERS)
    log = f"sayso/{_key(vault, _LEDGER).public.thumbprint}"
    if config.kind == "person":
        return _open_calendar(vault, config, store, log, clock)
    desk = open_desk(config, signer, SystemIds(), log=log)
    app = host_app(config, desk, store, clock) if config.operator is None else document_app(config, desk, clock)
    return OpenHost(config, desk, store, app)


def _open_calendar(vault: Vault, config: HostConfig, store: Store, log: str, clock: Clock) -> OpenHost:
    """A person's calendar with its owner's key and its keeper's; a rule of theirs is signed when it is first served."""
    owner, keeper = _key(vault, _PRINCIPAL), _key(vault, _AGENT)
    config = owned_by(config, owner.public)
    desk = open_desk(config, _key(vault, _OFFERS), SystemIds(), log=log, keeper=keeper)

    def begin(unit: Unit) -> None:
        unit.lock(desk.lock)
        if not signed_rules.newest(unit, desk.host):
            rule = noors_rule(config, owner, keeper.public, SystemIds(), unit.now)
            at_rules(unit, desk, KeepRuleRequest(idempotency_key=SystemIds().new("i"), rule=rule))

    return OpenHost(config, desk, store, document_app(config, desk, clock), begin)


def _folder(home: Path, name: str) -> Path:
    folder = host_folder(home, name)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


@contextmanager
def _store(home: Path, name: str, clock: Clock) -> Iterator[Store]:
    with open_store(_folder(home, name) / _DATABASE, clock) as store:
        yield store


def _key(vault: Vault, name: str) -> PrivateKey:
    if name not in vault.names():
        vault.create(name, passphrase=None)
    return vault.signer(name)
