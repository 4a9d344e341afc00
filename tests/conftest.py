"""What holds for every test: no socket beyond loopback, requirement ids that exist, deliberate breaks on request."""

from __future__ import annotations

import os
import re
import runpy
import signal
from pathlib import Path

import hypothesis
import pytest

from sayso.testing.breaks import BREAK_VARIABLE, apply_from_environment

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
_ID = re.compile(r"(SCH|OAP|GTW)-\d{3}[a-z]?")

apply_from_environment(ROOT)

# This process and every one that a test starts stay on loopback. The break under trial goes the same way: what the
# product itself starts is given few variables, and the path is one of them.
CHILDREN = Path(__file__).with_name("children")
TRIED = str(CHILDREN / f"break={os.environ[BREAK_VARIABLE]}") if os.environ.get(BREAK_VARIABLE) else None
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(CHILDREN), TRIED, os.environ.get("PYTHONPATH"))))
runpy.run_path(str(CHILDREN / "sitecustomize.py"), init_globals={"__file__": str(CHILDREN / "sitecustomize.py")})

# Nobody's keyring is asked, and no stand-in of a test is anybody's: a backend counts as soon as its class is there.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

# A suite run in the background is started with Ctrl-C ignored, and so would be every program that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Deadlines are wall-clock limits, and a shared machine has moods.
hypothesis.settings.register_profile("sayso", deadline=None)
hypothesis.settings.load_profile("sayso")


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
def beside() -> Path | None:
    """The folder of upstream schemas and fixtures, where it lies beside this checkout."""
    return SHARED if (SHARED / "oap").is_dir() else None


@pytest.fixture
def shared(beside: Path | None) -> Path:
    """The same for a test that says nothing without it. No package installs the folder, so a strict run skips too."""
    if beside is None:
        pytest.skip("the upstream schemas are not beside this checkout")
    return beside
