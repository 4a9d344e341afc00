"""Which modules are public: five, each with exactly the names it means to keep; everything else is free to change.

A new module at the top is a fault until somebody puts it into one of the two lists (OAP-207).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping, Set
from types import ModuleType

import sayso
from sayso.apps.checks.part import Part

__all__ = ("INTERNAL", "PUBLIC", "modules", "not_exact", "public_names")

PUBLIC: dict[str, str] = {
    "adapters": "writing an adapter, driving one without a hub, a hub in this process",
    "client": "driving a hub over HTTP and server-sent events",
    "protocol": "envelopes as typed values: their reader, their writer, every payload",
    "sdk": "models and an agent as a child process over stdio, with and without await",
    "validation": "judging traces",
}
INTERNAL = frozenset(
    (
        "__main__",
        "apps",
        "control",
        "core",
        "gateway",
        "governance",
        "ledger",
        "net",
        "proof",
        "scheduling",
        "store",
        "testing",
        "world",
    )
)


def modules(
    public: Mapping[str, str] = PUBLIC, internal: Set[str] = INTERNAL, places: Iterable[str] = sayso.__path__
) -> Part:
    """Every module at the top is in one list, and a public one says exactly what it offers."""
    found = {each.name for each in pkgutil.iter_modules(places)}
    faults = [f"sayso.{name} is neither public nor internal" for name in sorted(found - set(public) - internal)]
    faults += [f"sayso.{name} is public and not there" for name in sorted(set(public) - found)]
    names = 0
    for name in sorted(set(public) & found):
        module = importlib.import_module(f"sayso.{name}")
        names += len(getattr(module, "__all__", ()))
        faults += not_exact(module)
    return Part(name="modules", looked=f"{len(public)} public modules, {names} names", faults=tuple(faults))


def public_names(name: str) -> tuple[str, ...]:
    """What a public module offers."""
    offered: tuple[str, ...] = importlib.import_module(f"sayso.{name}").__all__
    return offered


def not_exact(module: ModuleType) -> list[str]:
    """What `__all__` and the module itself do not agree on."""
    offered = getattr(module, "__all__", None)
    if not isinstance(offered, tuple):
        return [f"{module.__name__} has no tuple `__all__`"]
    there = {name for name in vars(module) if not name.startswith("_") and name != "annotations"}
    there = {name for name in there if not isinstance(getattr(module, name), ModuleType)}
    faults = [f"{module.__name__}.{name} is offered and not there" for name in sorted(set(offered) - there)]
    faults += [f"{module.__name__}.{name} is there and not offered" for name in sorted(there - set(offered))]
    if len(set(offered)) != len(offered):
        faults.append(f"{module.__name__} offers a name twice")
    return faults
