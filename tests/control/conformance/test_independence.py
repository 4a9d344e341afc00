"""Conformance knows nothing of what it judges: a fault it shared with our endpoint would hide."""

from __future__ import annotations

import ast
from pathlib import Path

from sayso.control import conformance
from sayso.testing import breaking, broken_endpoints, honest_endpoints, toy_endpoint

JUDGED = ("hub", "endpoint", "adapters", "loop", "provider", "client")


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_conformance_imports_nothing_it_judges() -> None:
    """Types, validator, children and core alone."""
    found = {name for path in Path(conformance.__file__).parent.glob("*.py") for name in imports(path)}
    assert found
    assert not {name for name in found if name.startswith(tuple(f"sayso.control.{part}" for part in JUDGED))}


def test_the_broken_endpoints_share_nothing_with_ours() -> None:
    """They read strict JSON with our reader, and everything else is their own."""
    modules = (broken_endpoints, breaking, *broken_endpoints.KINDS, honest_endpoints, toy_endpoint)
    ours = {name for module in modules for name in imports(Path(str(module.__file__))) if name.startswith("sayso.")}
    assert {name for name in ours if not name.startswith("sayso.testing")} == {"sayso.core", "sayso.core.refusal"}
    named = {str(module.__name__) for module in modules} | {"sayso.testing"}
    assert {name for name in ours if name.startswith("sayso.testing")} <= named
