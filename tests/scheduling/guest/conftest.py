"""A shop, a network that can be made hostile, and a household behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sayso.core.clock import ManualClock
from sayso.testing.postgres import postgres, postgres_server
from sayso.testing.store import clock, location, store
from tests.scheduling.guest.hostile import HostileFetcher
from tests.scheduling.host.town import Town, open_town_on_file
from tests.scheduling.tools.household import Household, open_household

__all__ = ("clock", "location", "postgres", "postgres_server", "store")


@pytest.fixture
async def town(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Town]:
    async with open_town_on_file(tmp_path, clock) as opened:
        yield opened


@pytest.fixture
async def wire(town: Town) -> AsyncIterator[HostileFetcher]:
    async with HostileFetcher(town.port) as fetcher:
        yield fetcher


@pytest.fixture
async def home(tmp_path: Path, clock: ManualClock, wire: HostileFetcher) -> AsyncIterator[Household]:
    async with open_household(tmp_path / "guest", clock, wire) as opened:
        yield opened
