"""Knowledge on both engines, with the real model and a small taxonomy."""

from __future__ import annotations

import pytest

from sayso.core.clock import ManualClock
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.store.unit import Store
from tests.gateway.knowledge.shelf import knowledge_on, model


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def knowledge(store: Store, clock: ManualClock) -> Knowledge:
    """Opened: the domains are written and embedded."""
    found = knowledge_on(store, clock, embedder=model())
    await found.open()
    return found
