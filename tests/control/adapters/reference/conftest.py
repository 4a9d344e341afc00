"""A stage whose transcript is judged when the test is over."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.control.adapters.reference.stage import Stage, staged
from tests.control.conftest import Trace


@pytest.fixture
async def stage(trace: Trace) -> AsyncIterator[Stage]:
    """A memory adapter with an open session; every run of it must be ended by the test."""
    async with staged(trace) as standing:
        yield standing
