"""Which requirement is proven by what: specifications name the ids, tests carry them, breaks make them count.

An id counts as proven only when a test that carries it fails under a deliberate break; a test alone might be unable to
fail. Everything is read from the sources, so the printout in `docs/spec/coverage.md` cannot drift from them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from sayso.testing.breaks import load_breaks

__all__ = ("Requirement", "read_requirements", "written")

_ID = re.compile(r"\b(SCH|OAP|GTW)-(\d{3})([a-z]?)\b")
_RANGE = re.compile(r"\b(SCH|OAP|GTW)-(\d{3})\s*(?:to|\.\.|–)\s*(?:\1-)?(\d{3})\b")
_SECTION = re.compile(r"^(\d+(?:\.\d+)*)[ .]|^#+ (\d+)\.? ")
_SPECS = "docs/spec"


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One id: the sections that name it, the tests that carry it, and which of those a break makes fail."""

    id: str
    sections: tuple[str, ...]
    tests: tuple[str, ...]
    broken: tuple[str, ...]


def read_requirements(root: Path) -> list[Requirement]:
    """Every id that a specification or a test names, in order."""
    named = _named(root)
    carried = _carried(root)
    breakable = {_bare(test) for each in load_breaks(root).values() for test in each.tests}
    return [
        Requirement(
            id=name,
            sections=tuple(named.get(name, ())),
            tests=tuple(carried.get(name, ())),
            broken=tuple(test for test in carried.get(name, ()) if test in breakable),
        )
        for name in sorted({*named, *carried})
    ]


def _bare(test: str) -> str:
    """A test's id without its parameters."""
    return test.partition("[")[0]


def _named(root: Path) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted((root / _SPECS).glob("*.md")):
        if path.name == "coverage.md":
            continue
        section = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if (heading := _SECTION.match(line)) is not None:
                section = heading[1] or heading[2]
            for name in _ids(line):
                place = f"{path.stem} {section}".strip()
                if place not in found.setdefault(name, []):
                    found[name].append(place)
    return found


def _ids(line: str) -> Iterator[str]:
    for letters, first, last in _RANGE.findall(line):
        yield from (f"{letters}-{number:03}" for number in range(int(first), int(last) + 1))
    yield from ("".join((letters, "-", digits, suffix)) for letters, digits, suffix in _ID.findall(line))


def _carried(root: Path) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted((root / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for test, names in _marked(tree, str(path.relative_to(root))):
            for name in names:
                found.setdefault(name, []).append(test)
    return found


def _marked(tree: ast.Module, path: str) -> Iterator[tuple[str, list[str]]]:
    shared = [name for node in tree.body if _is_pytestmark(node) for name in _markers(node)]
    for node in tree.body:
        if (machine := _played(node)) is not None:
            yield f"{path}::{machine}::runTest", [*shared, *_markers(node)]
        for function, prefix in _tests(node, path):
            marks = [*shared, *(name for each in function.decorator_list for name in _markers(each))]
            if isinstance(node, ast.ClassDef):
                marks += [name for each in node.decorator_list for name in _markers(each)]
            if marks:
                yield f"{prefix}::{function.name}", marks


def _tests(node: ast.stmt, path: str) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
        yield node, path
    elif isinstance(node, ast.ClassDef):
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner.name.startswith("test_"):
                yield inner, f"{path}::{node.name}"


def _played(node: ast.stmt) -> str | None:
    """The name of a state machine made into a test: `TestShop = pytest.mark.req(…)(Shop.TestCase)`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or not any(_markers(node)):
        return None
    names = [each.id for each in node.targets if isinstance(each, ast.Name)]
    return names[0] if names and names[0].startswith("Test") else None


def _is_pytestmark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
    )


def _markers(node: ast.AST) -> Iterator[str]:
    """The ids of every `…mark.req(…)` below a node."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "req":
            for argument in call.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


def written(requirements: list[Requirement], letters: str) -> str:
    """The printout for one protocol: how many count, those that do not yet, and the table."""
    mine = [each for each in requirements if each.id.startswith(letters)]
    proven = [each for each in mine if each.broken]
    tested = [each for each in mine if each.tests and not each.broken]
    bare = [each for each in mine if not each.tests]
    lines = [
        f"{len(mine)} ids: {len(proven)} proven (a break makes a test of theirs fail), {len(tested)} tested only, "
        f"{len(bare)} named in the text without a test of their own.",
        "",
        f"Tested only: {_listed(tested)}",
        "",
        f"Without a test: {_listed(bare)}",
        "",
        "| id | named in | tests | proven by |",
        "|---|---|---|---|",
    ]
    for each in mine:
        example = each.broken[0] if each.broken else each.tests[0] if each.tests else ""
        shown = f"`{example.removeprefix('tests/')}`" if example else ""
        lines.append(f"| {each.id} | {', '.join(each.sections)} | {len(each.tests)} | {shown if each.broken else ''} |")
    return "\n".join(lines) + "\n"


def _listed(requirements: list[Requirement]) -> str:
    return ", ".join(each.id for each in requirements) or "none"
