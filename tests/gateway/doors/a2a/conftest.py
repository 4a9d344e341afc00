"""What the door keeps is tested on both engines; everything else on a SQLite file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sayso.testing.postgres import postgres, postgres_server
from sayso.testing.store import location
from tests.gateway.doors.a2a.house import House, open_house

__all__ = ("house", "location", "postgres", "postgres_server")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A house with its A2A door open on loopback."""
    async with open_house(tmp_path) as opened:
        yield opened
