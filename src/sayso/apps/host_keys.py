"""Which of a host's keys signs, which waits to, and which it signed with before (spec section 4.5; SCH-027).

A key is never overwritten: each has a name of its own in the vault, and `host-keys.json` in the home says which is
which. A new key is made beside the one in use and waits; it takes over when the host is next served, so that nothing
is signed with a key that the running host does not publish yet. From then on the earlier one is published for signing
until the last offer open at that moment has ended, and for checking until the records of the last appointment are over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from sayso.core import strictjson
from sayso.core.durations import parse_duration, write_duration
from sayso.core.instants import parse_instant, write_instant
from sayso.core.refusal import Corrupt, Refused
from sayso.scheduling.host.config import HostConfig, host_name
from sayso.scheduling.host.documents import EarlierKey
from sayso.scheduling.host.outstanding import last_appointment, last_offer
from sayso.store.unit import Store
from sayso.store.vault import Vault

__all__ = (
    "HOST_KEY",
    "HostKeys",
    "ReplacedKey",
    "earlier_keys",
    "keep_host_keys",
    "make_next_key",
    "read_host_keys",
    "taken_over",
)

HOST_KEY = "host"
"""The vault's name for a host's first key; the next ones are host-2, host-3."""
_FILE = "host-keys.json"


class ReplacedKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that signed before: published for signing before one instant, and for checking before the other."""

    name: str
    sign_until: str
    keep_until: str


class HostKeys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`retention` is the longest that the key in use has promised; `waiting` the key that takes over."""

    current: str = HOST_KEY
    waiting: str | None = None
    retention: str = "PT0S"
    earlier: tuple[ReplacedKey, ...] = ()


def read_host_keys(home: Path) -> HostKeys:
    """What the home says; a home without the file has its first key alone. Corrupt: the file is damaged."""
    path = home / _FILE
    if not path.is_file():
        return HostKeys()
    try:
        return strictjson.decode(path.read_bytes(), HostKeys)
    except Refused as wrong:
        raise Corrupt(f"the list of the host's keys ({wrong.refusal.code})", str(path)) from None


def make_next_key(home: Path, vault: Vault, passphrase: str | None) -> str:
    """Makes the key that takes over when the host is next served; its thumbprint.

    Refused: `key_waits` where one waits already, and as the vault refuses.
    """
    keys = read_host_keys(home)
    if keys.waiting is not None:
        raise Refused.because(
            "key_waits",
            "A new key is made and waits already",
            help="It takes over when the host is served again: sayso host serve",
        )
    taken = [name for name in vault.names() if name == HOST_KEY or name.startswith(f"{HOST_KEY}-")]
    name = f"{HOST_KEY}-{len(taken) + 1}"
    thumbprint = vault.create(name, passphrase=passphrase).thumbprint
    keep_host_keys(home, msgspec.structs.replace(keys, waiting=name))
    return thumbprint


def taken_over(home: Path, store: Store, config: HostConfig, now: datetime) -> HostKeys:
    """The keys with which the host is served from now on: a key that waited has taken over. Nothing is written yet:
    they are to be kept (`keep_host_keys`) once they are published.
    """
    keys = read_host_keys(home)
    promised = max(parse_duration(keys.retention), parse_duration(config.policies.retention))
    after = msgspec.structs.replace(keys, retention=write_duration(promised))
    if keys.waiting is not None:
        host = host_name(config)
        offer = store.read(lambda view: last_offer(view, host))
        appointment = store.read(lambda view: last_appointment(view, host))
        replaced = ReplacedKey(
            name=keys.current,
            sign_until=write_instant(_whole(max(now, offer or now))),
            keep_until=write_instant(_whole(max(now, appointment or now) + promised)),
        )
        after = HostKeys(current=keys.waiting, retention=config.policies.retention, earlier=(replaced, *keys.earlier))
    return after


def _whole(instant: datetime) -> datetime:
    """The next whole second: never earlier than what was asked for."""
    return instant.replace(microsecond=0) + timedelta(seconds=1 if instant.microsecond else 0)


def earlier_keys(vault: Vault, keys: HostKeys, now: datetime) -> Sequence[EarlierKey]:
    """Those of the keys before that are still published, and what for."""
    return [
        EarlierKey(vault.public(each.name), "sign", parse_instant(each.sign_until)).at(now)
        for each in keys.earlier
        if now < parse_instant(each.keep_until)
    ]


def keep_host_keys(home: Path, keys: HostKeys) -> None:
    """Replaces the file in one step: nobody ever reads half of it."""
    fresh = home / f"{_FILE}.new"
    fresh.write_bytes(strictjson.encode(keys) + b"\n")
    fresh.chmod(0o600)
    fresh.replace(home / _FILE)
