"""The home of somebody who is a host: its settings file, its keys, its store, opened as one.

`init` keeps a copy of the settings beside the keys, so that the acts at the desk (approve, cancel, mark) need no file
named again; `serve` takes the file it is given as the newest. The host's key signs offers and receipts for as long as
the host is served, so it is unlocked once, when the desk opens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sayso.apps.home import Home, open_home
from sayso.apps.keys import LEDGER
from sayso.core.clock import Clock
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.scheduling.host.config import HostConfig
from sayso.scheduling.host.desk import Desk, open_desk
from sayso.scheduling.host.settings_file import read_host_settings
from sayso.store.open import open_store
from sayso.store.unit import Store
from sayso.store.vault import Vault

__all__ = ("HOST_KEY", "SETTINGS", "OpenDesk", "kept_settings", "make_host", "opening_desk", "read_settings_at")

HOST_KEY = "host"
"""The vault's name for the key that signs offers and receipts."""
SETTINGS = "host.toml"
"""The copy of the settings that the home keeps."""

Passphrase = Callable[[], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDesk:
    """A host whose store is open and whose key is at hand."""

    home: Home
    config: HostConfig
    desk: Desk
    store: Store

    @property
    def clock(self) -> Clock:
        return self.home.clock


def read_settings_at(path: Path) -> tuple[HostConfig, str]:
    """The settings of a TOML file, and its text. Refused: `config_invalid`, naming key and line."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Refused.because("config_invalid", f"{path.name} is not UTF-8", place=path.name) from None
    return read_host_settings(text, path.name), text


def kept_settings(home: Path) -> Path:
    """The copy that a home keeps. Refused: `no_host`."""
    path = home / SETTINGS
    if not path.is_file():
        raise Refused.because("no_host", f"{home} is no host's home yet", help="Make it one: sayso host init shop.toml")
    return path


def make_host(home: Path, settings: Path, passphrase: str | None) -> tuple[HostConfig, str]:
    """Makes the keys of a host and keeps its settings; the config and the key's thumbprint.

    Without a passphrase the keys stay unprotected. Refused: `config_invalid`, `keys_exist`, and as the vault refuses.
    """
    config, text = read_settings_at(settings)
    place = open_home(home, is_world=False)
    vault = Vault(place.path, place.clock)
    names = vault.names()
    if HOST_KEY in names:
        raise Refused.because(
            "keys_exist", f"{place.path} is a host's home already", help="Serve it: sayso host serve shop.toml"
        )
    for name in (HOST_KEY, LEDGER):
        if name not in names:
            vault.create(name, passphrase=passphrase)
    keep_settings(place.path, text)
    return config, vault.public(HOST_KEY).thumbprint


def keep_settings(home: Path, text: str) -> None:
    """Replaces the copy in one step: nobody ever reads half a file."""
    fresh = home / f"{SETTINGS}.new"
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(0o600)
    fresh.replace(home / SETTINGS)


@contextmanager
def opening_desk(home: Path, settings: Path | None, passphrase: Passphrase) -> Iterator[OpenDesk]:
    """Opens the desk of a host's home, with these settings or those it keeps; closes its store at the end.

    Refused: `no_host`, `config_invalid`, `locked` when nobody gives the passphrase.
    """
    place = open_home(home, is_world=False)
    kept = kept_settings(place.path)
    config, text = read_settings_at(settings or kept)
    vault = Vault(place.path, place.clock)
    if vault.protection(HOST_KEY) != "none":
        vault.unlock(passphrase())
    signer = vault.signer(HOST_KEY)
    log = f"sayso/{vault.public(LEDGER).thumbprint}"
    desk = open_desk(config, signer, SystemIds(), log=log)
    if settings is not None:
        keep_settings(place.path, text)
    with open_store(place.database, place.clock) as store:
        yield OpenDesk(home=place, config=config, desk=desk, store=store)
