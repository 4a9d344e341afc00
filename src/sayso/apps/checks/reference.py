"""The reference adapter's own path, in this process: conformance drives it, the validator judges it."""

from __future__ import annotations

import anyio

from sayso.apps.checks.part import Part
from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.conformance.checks import Outcome
from sayso.control.conformance.report import ConformanceReport
from sayso.control.conformance.runner import run_conformance
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds
from sayso.testing.hub_ports import LocalHub

__all__ = ("reference",)


def reference() -> Part:
    """Every check of conformance that a hub in one process can carry."""
    report = anyio.run(_drive)
    faults = tuple(f"{each.name}: {each.detail}" for each in report.checks if each.outcome is Outcome.FAIL)
    passed = sum(each.outcome is Outcome.PASS for each in report.checks)
    if not passed:
        faults = (*faults, "nothing was shown")
    return Part(
        name="reference", looked=f"{passed} checks of conformance, {len(report.trace)} envelopes", faults=faults
    )


async def _drive() -> ConformanceReport:
    clock, ids = SystemClock(), SystemIds()
    async with Hub(Registry({"memory": MemoryAdapter(clock=clock, ids=ids)}), clock=clock, ids=ids) as hub:
        return await run_conformance(LocalHub(hub, "memory"), ids=ids, name="memory")
