"""The reference adapter and our own loop conform on every binding, judged by the validator of `sayso validate`."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.conformance.checks import Outcome
from sayso.control.conformance.child import ChildLauncher
from sayso.control.conformance.port import Launcher
from sayso.control.conformance.report import ConformanceReport, write_text
from sayso.control.conformance.runner import run_conformance
from sayso.control.hub.bindings.http import serving_hub
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds
from sayso.net.child import Program
from sayso.testing.hub_ports import HttpHub, LocalHub, StdioHub
from tests.control.conformance import loop_server

pytestmark = pytest.mark.anyio

BINDINGS = ("in process", "HTTP", "hub stdio", "endpoint stdio")
ADAPTERS = ("memory", "sayso")
GATED = {"memory": {"permission", "user_input"}, "sayso": {"permission", "user_input"}}
LEFT_OUT = {"memory": [], "sayso": ["tool_sources"]}
"""What no check can drive: our loop attaches processes and addresses, and here nothing may be started or reached."""


@asynccontextmanager
async def launching(adapter: str, binding: str, home: Path) -> AsyncIterator[Launcher]:
    if binding in ("hub stdio", "endpoint stdio"):
        program = program_of(adapter, "hub" if binding == "hub stdio" else "agent", home)
        yield StdioHub(program, adapter) if binding == "hub stdio" else ChildLauncher(program)
        return
    ids, clock = SystemIds(), SystemClock()
    memory = Registry({"memory": MemoryAdapter(clock=clock, ids=ids)})
    async with Hub(memory if adapter == "memory" else loop_server.registry(home), clock=clock, ids=ids) as hub:
        if binding == "in process":
            yield LocalHub(hub, adapter)
            return
        async with serving_hub(hub, ids, port=0) as address:
            yield HttpHub(address.url, adapter)


def program_of(adapter: str, role: str, home: Path) -> Program:
    if adapter == "memory":
        words = ["-m", "sayso", "serve", *(["agent", "--backend", "memory"] if role == "agent" else []), "--stdio"]
        return Program(command=[sys.executable, *words, "--home", str(home)], environment=dict(os.environ))
    root = Path(loop_server.__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(root), os.environ.get("PYTHONPATH", "")))}
    words = [sys.executable, "-m", loop_server.__name__, role, str(home)]
    return Program(command=words, environment=environment, cwd=root)


def unmet(report: ConformanceReport) -> list[str]:
    return [result.name for result in report.checks if result.outcome is not Outcome.PASS]


@pytest.mark.req("OAP-040", "OAP-155", "OAP-198", "OAP-199")
@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("binding", BINDINGS)
async def test_ours_conform_on_every_binding(adapter: str, binding: str, tmp_path: Path) -> None:
    """What is skipped has a reason that is the binding's or the adapter's own, and the gates of a run were answered."""
    async with launching(adapter, binding, tmp_path) as launcher:
        report = await run_conformance(launcher, ids=SystemIds(), name=adapter)
    assert report.conforms, write_text(report)
    passed = {result.name for result in report.checks if result.outcome is Outcome.PASS}
    assert passed >= {"terminal", "replay", "state", "stale_revision", "cancel", "trace", *GATED[adapter]}
    assert {name for name in ("exit_clean", "no_invented_end") if name in passed} == (
        {"exit_clean", "no_invented_end"} if binding.endswith("stdio") else set()
    )
    if binding == "endpoint stdio":
        assert unmet(report) == LEFT_OUT[adapter]
