"""No door reaches state by another way than its passage (GTW-007), as a fact of what the doors' modules name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sayso.gateway.doors

DOORS = Path(sayso.gateway.doors.__path__[0])
ACTS = frozenset({"append_in", "approve", "disclose_in", "file", "file_in", "reject", "run_operation"})
MODULES = (
    "sayso.governance.kernel",
    "sayso.governance.execution",
    "sayso.gateway.knowledge",
    "sayso.gateway.guard.standings",
)


def calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Attribute(attr=name) | ast.Name(id=name):
                    yield name


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.req("GTW-007")
def test_doors_act_through_their_passage_alone() -> None:
    """None files, receipts, decides or runs an operation itself, and none imports what would let it."""
    found = []
    modules = sorted(DOORS.rglob("*.py"))
    for path in modules:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = ACTS.intersection(calls(tree)) | {each for each in imports(tree) if each.startswith(MODULES)}
        found += [f"{path.relative_to(DOORS)}: {name}" for name in sorted(names)]
    assert found == []
    assert len({path.parent.name for path in modules} & {"mcp", "a2a", "acp", "tasks"}) == 4
