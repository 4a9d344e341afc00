"""What holds for every test: no socket beyond loopback, requirement ids that exist, deliberate breaks on request."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import hypothesis
import pytest

from sayso.testing.breaks import apply_from_environment

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
STRICT = os.environ.get("SAYSO_TEST_STRICT") == "1"
_ID = re.compile(r"(SCH|OAP|GTW)-\d{3}[a-z]?")

apply_from_environment(ROOT)

# Deadlines are wall-clock limits, and a shared machine has moods.
hypothesis.settings.register_profile("sayso", deadline=None)
hypothesis.settings.load_profile("sayso")


class BeyondLoopbackError(AssertionError):
    """A test tried to reach an address that is not this machine's own loopback."""


def _guard(event: str, arguments: tuple[object, ...]) -> None:
    if event not in ("socket.connect", "socket.sendto", "socket.bind"):
        return
    address = arguments[1]
    if isinstance(address, tuple) and address and isinstance(address[0], str):
        host = address[0]
        if not (host.startswith("127.") or host in ("::1", "localhost", "")):
            raise BeyondLoopbackError(f"{event} to {address!r}: tests stay on loopback")


def pytest_configure(config: pytest.Config) -> None:
    sys.addaudithook(_guard)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker in item.iter_markers("req"):
            for name in marker.args:
                if not isinstance(name, str) or not _ID.fullmatch(name):
                    raise pytest.UsageError(f"{item.nodeid}: {name!r} is no requirement id")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def shared() -> Path:
    """The folder of upstream schemas and fixtures; where it is missing a test says so, and a strict run fails."""
    if not (SHARED / "oap").is_dir():
        message = "the upstream schemas are not beside this checkout"
        if STRICT:
            pytest.fail(message)
        pytest.skip(message)
    return SHARED
