"""A shop on a real socket and a household that books there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sayso.core.clock import ManualClock
from sayso.testing.store import clock
from tests.scheduling.host.town import Town, open_town_on_file
from tests.scheduling.tools.household import Household, open_household

__all__ = ("clock",)


@pytest.fixture
async def town(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Town]:
    async with open_town_on_file(tmp_path, clock) as opened:
        yield opened


@pytest.fixture
async def home(tmp_path: Path, clock: ManualClock, town: Town) -> AsyncIterator[Household]:
    async with open_household(tmp_path / "guest", clock, town.fetcher) as opened:
        yield opened
