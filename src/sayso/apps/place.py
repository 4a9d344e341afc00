"""Where a command acts: the person's real home, or the sample world with its own keys, ledger, clock and hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TextIO

from sayso.apps.home import open_home
from sayso.apps.house import House, Wishes, open_house
from sayso.apps.keys import make_keys
from sayso.apps.person_zone import person_zone
from sayso.apps.watching import Watch
from sayso.scheduling.terms.consent_text import verified_identity
from sayso.store.vault import Vault
from sayso.world.hosts import host_names
from sayso.world.people import SAM
from sayso.world.process import running_world

__all__ = ("open_place",)


@asynccontextmanager
async def open_place(
    home: Path,
    *,
    is_world: bool,
    wishes: Wishes,
    told: TextIO,
    watch: Watch | None = None,
    resolve: Mapping[str, str] | None = None,
) -> AsyncIterator[House]:
    """Opens the house of a home. In the world its hosts are started where they do not run, and known to the guest.

    `resolve` adds names of a test internet to those of the home's settings, this time only.

    Refused: `no_keys`, `home_not_private`, `settings_invalid`, or why the world did not start.
    """
    if is_world:
        async with _world_house(home, wishes, told, watch) as house:
            yield house
        return
    place = open_home(home, is_world=False)
    zone = person_zone(place.settings.zone)
    async with open_house(place, zone=zone, resolve=resolve, wishes=wishes, watch=watch) as house:
        yield house


@asynccontextmanager
async def _world_house(home: Path, wishes: Wishes, told: TextIO, watch: Watch | None) -> AsyncIterator[House]:
    async with running_world(home) as world:
        place = open_home(home, is_world=True)
        make_keys(Vault(place.path, place.clock), None)
        zone = person_zone(SAM.timezone)
        async with open_house(place, zone=zone, resolve=world.resolve, wishes=wishes, watch=watch) as house:
            known = {host.host for host in await house.guest.book.hosts()}
            for name in host_names():
                if name not in known:
                    document = await house.guest.add_host(name)
                    told.write(f"New in the sample world: {verified_identity(document).said}\n")
            yield house
