"""What a ledger does in a store is tested on both engines."""

from __future__ import annotations

import pytest

from sayso.core.clock import ManualClock
from sayso.ledger.ledger import Ledger
from sayso.store.unit import Store
from sayso.testing.postgres import postgres, postgres_server
from sayso.testing.store import clock, location, store
from tests.ledger.logs import LOG

__all__ = ("clock", "location", "postgres", "postgres_server", "store")


@pytest.fixture
def ledger(store: Store, clock: ManualClock) -> Ledger:
    """An empty log."""
    return Ledger(store, LOG, clock)
