"""The hosts of the world, and how one of them is opened in its own folder.

A host's keys and receipts are its own: the folder is a home like any other, unlocked because nobody's consent hangs on
it. Settings come from code each time it is opened, state from its database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.types import ASGIApp

from sayso.core.clock import Clock
from sayso.core.ids import SystemIds
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.config import HostConfig
from sayso.scheduling.host.desk import Desk, open_desk
from sayso.scheduling.host.http import host_app
from sayso.store.open import open_store
from sayso.store.unit import Store
from sayso.store.vault import Vault
from sayso.world.maple_street import maple_street_auto
from sayso.world.places import host_folder

__all__ = ("HOSTS", "OpenHost", "open_host")

HOSTS: Final[tuple[Callable[[], HostConfig], ...]] = (maple_street_auto,)
"""Who lives in the world, in the order of their ports."""

_OFFERS, _LEDGER = "host", "ledger"
_DATABASE = "sayso.db"


@dataclass(frozen=True, slots=True)
class OpenHost:
    """A host ready to be served."""

    config: HostConfig
    desk: Desk
    store: Store
    app: ASGIApp


@contextmanager
def open_host(home: Path, config: HostConfig, clock: Clock) -> Iterator[OpenHost]:
    """Opens a host in its own folder, making its keys the first time; closes its store at the end."""
    folder = host_folder(home, config.id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    vault = Vault(folder, clock)
    signer = _key(vault, _OFFERS)
    log = f"sayso/{_key(vault, _LEDGER).public.thumbprint}"
    desk = open_desk(config, signer, SystemIds(), log=log)
    with open_store(folder / _DATABASE, clock) as store:
        yield OpenHost(config, desk, store, host_app(config, desk, store, clock))


def _key(vault: Vault, name: str) -> PrivateKey:
    if name not in vault.names():
        vault.create(name, passphrase=None)
    return vault.signer(name)
