"""A private home for a house of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.core.clock import ManualClock
from sayso.testing.store import START


@pytest.fixture
def clock() -> ManualClock:
    """Stands still until a test moves it."""
    return ManualClock(START)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A home's folder, its owner's alone."""
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    return place
