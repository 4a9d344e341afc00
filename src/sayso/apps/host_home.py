"""The home of somebody who is a host: its settings file, its keys, its store, opened as one.

`init` keeps a copy of the settings beside the keys, so that the acts at the desk (approve, cancel, mark) need no file
named again; `serve` takes the file it is given as the newest. The host's key signs offers and receipts for as long as
the host is served, so it is unlocked once, when the desk opens. A person's calendar is kept by the home's agent key,
which says yes where a rule names it, and only there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sayso.apps.home import Home, open_home
from sayso.apps.host_keys import HOST_KEY, earlier_keys, keep_host_keys, make_next_key, read_host_keys, taken_over
from sayso.apps.keys import AGENT, LEDGER
from sayso.core.clock import Clock
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.scheduling.host.config import HostConfig
from sayso.scheduling.host.desk import Desk, open_desk
from sayso.scheduling.host.settings_file import read_host_settings
from sayso.store.open import open_store
from sayso.store.unit import Store
from sayso.store.vault import Vault
from sayso.world.hosts import open_one
from sayso.world.places import host_folder
from sayso.world.timekeeping import open_clock

__all__ = (
    "HOST_KEY",
    "SETTINGS",
    "OpenDesk",
    "kept_settings",
    "make_host",
    "opening_desk",
    "opening_world_desk",
    "read_settings_at",
    "rotate_key",
)

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
    keys: Path | None = None
    """Where the host's keys are, where that is not the home itself: in the sample world."""
    is_published: Callable[[], None] = lambda: None
    """To be called once its document is served: from then on every act is signed with the keys published there."""

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
    if config.kind == "person" and AGENT not in names:
        vault.create(AGENT, passphrase=None)
    keep_settings(place.path, text)
    return config, vault.public(HOST_KEY).thumbprint


def keep_settings(home: Path, text: str) -> None:
    """Replaces the copy in one step: nobody ever reads half a file."""
    fresh = home / f"{SETTINGS}.new"
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(0o600)
    fresh.replace(home / SETTINGS)


@contextmanager
def opening_desk(
    home: Path, settings: Path | None, passphrase: Passphrase, *, to_serve: bool = False
) -> Iterator[OpenDesk]:
    """Opens the desk of a host's home, with these settings or those it keeps; closes its store at the end.

    With `to_serve` a key that waits takes over (`host_keys`). Refused: `no_host`, `config_invalid`, `locked` when
    nobody gives the passphrase.
    """
    place = open_home(home, is_world=False)
    kept = kept_settings(place.path)
    config, text = read_settings_at(settings or kept)
    vault = Vault(place.path, place.clock)
    if vault.protection(HOST_KEY) != "none":
        vault.unlock(passphrase())
    log = f"sayso/{vault.public(LEDGER).thumbprint}"
    keeper = vault.signer(AGENT) if config.kind == "person" and AGENT in vault.names() else None
    with open_store(place.database, place.clock) as store:
        now = place.clock.now()
        keys = taken_over(place.path, store, config, now) if to_serve else read_host_keys(place.path)
        signer, earlier = vault.signer(keys.current), earlier_keys(vault, keys, now)
        desk = open_desk(config, signer, SystemIds(), log=log, keeper=keeper, earlier=earlier)
        if settings is not None:
            keep_settings(place.path, text)
        yield OpenDesk(
            home=place,
            config=config,
            desk=desk,
            store=store,
            is_published=lambda: keep_host_keys(place.path, keys) if to_serve else None,
        )


def rotate_key(home: Path, passphrase: Passphrase) -> str:
    """Makes the key that takes over when the host is next served, kept as the one in use is; its thumbprint.

    Refused: `no_host`, `key_waits`, `locked` when nobody gives the passphrase.
    """
    place = open_home(home, is_world=False)
    kept_settings(place.path)
    vault = Vault(place.path, place.clock)
    typed = None if vault.protection(HOST_KEY) == "none" else passphrase()
    if vault.protection(HOST_KEY) != "none":
        vault.unlock(typed)
    return make_next_key(place.path, vault, typed)


@contextmanager
def opening_world_desk(home: Path, host_id: str) -> Iterator[OpenDesk]:
    """Opens the desk of a host of the home's sample world, which may be served meanwhile. Refused: `no_host`."""
    place = msgspec.structs.replace(open_home(home, is_world=True), clock=open_clock(home))
    with open_one(home, host_id, place.clock) as opened:
        keys = host_folder(home, host_id)
        yield OpenDesk(home=place, config=opened.config, desk=opened.desk, store=opened.store, keys=keys)
