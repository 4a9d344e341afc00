"""The fixtures these tests share; what lives in a store is tested on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.core.clock import ManualClock
from sayso.store.unit import Store
from sayso.testing.postgres import postgres, postgres_server
from sayso.testing.store import clock, location, store
from tests.governance.house import House

__all__ = ("clock", "location", "postgres", "postgres_server", "store")


@pytest.fixture
def house(store: Store, clock: ManualClock, tmp_path: Path) -> House:
    """A house with toy acts, an empty queue, and effects that are files."""
    return House(store, clock, tmp_path / "effects")
