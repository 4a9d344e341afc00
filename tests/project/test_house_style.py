"""Rules of the house that no linter knows: names that say nothing, words that have one owner, sizes."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import sayso
from sayso.testing.breaks import read_text

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base", "shared"}
OWNED = {
    "envelope": "control", "run": "control", "interaction": "control", "steer": "control", "session": "control",
    "receipt": "ledger", "proposal": "governance", "approval": "governance",
    "mandate": "scheduling", "hold": "scheduling", "offer": "scheduling", "booking": "scheduling",
    "host": "scheduling", "guest": "scheduling", "principal": "scheduling",
    "provider": "control", "event": "control", "task": "", "resource": "", "memory": "",
    "checkpoint": "proof ledger", "chain": "ledger",
}  # fmt: skip
ALARM = 500


def test_no_file_has_a_name_that_says_nothing() -> None:
    """A file called utils fills up, because nothing says what does not belong there."""
    named = [p for p in SOURCES if EMPTY_NAMES & {part.removesuffix(".py") for part in p.relative_to(ROOT).parts}]
    assert named == []


def test_no_file_is_a_second_version_of_another() -> None:
    """Protocol versions are folders named by the wire; a _v2 file is an old one nobody dared to delete."""
    assert [p for p in SOURCES if re.search(r"_(v\d+|new|old)\.py$", p.name)] == []


def test_bare_words_belong_to_their_owner() -> None:
    """A class whose whole name is a word of the field stands on the floor that owns the word."""
    strays = []
    for path in SOURCES:
        floor = path.relative_to(ROOT / "src" / "sayso").parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and floor not in OWNED.get(node.name.lower(), floor).split():
                strays.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert strays == []


def test_no_file_outgrows_its_subject() -> None:
    """Over 500 lines a file is asked whether it is two subjects; the answer stands in its docstring, or it is split."""
    # A migration is a list of tables that is written once and never grown.
    written = [p for p in SOURCES if "versions" not in p.parts]
    long = [f"{p.relative_to(ROOT)}: {n}" for p in written if (n := len(p.read_text().splitlines())) > ALARM]
    assert long == []


def test_every_module_says_what_it_is_for() -> None:
    """A reader learns from the first lines what a module decides and what it leaves to others."""
    silent = [p for p in SOURCES if p.read_text().strip() and ast.get_docstring(ast.parse(p.read_text())) is None]
    assert silent == []


CLOCKS = re.compile(r"\btime\.(time|monotonic|perf_counter|process_time|sleep)\(|\bperf_counter\(|\.elapsed\b")
# A program that a test starts may wait for ever: it is killed, and nothing is measured by it.
MAY_WAIT = re.compile(r"time\.sleep\((120|600)\)")


@pytest.mark.req("SCH-395")
def test_no_test_of_scheduling_times_anything_by_the_wall_clock() -> None:
    """A shared machine has moods: a test that measures them fails without a fault."""
    tests = sorted((ROOT / "tests" / "scheduling").rglob("*.py")) + sorted((ROOT / "tests" / "world").rglob("*.py"))
    measured = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in tests
        for line in read_text(ROOT, path).splitlines()
        if CLOCKS.search(MAY_WAIT.sub("", line))
    ]
    assert measured == []


MODULES = [m.name for m in pkgutil.walk_packages(sayso.__path__, "sayso.")]
RUN_ONLY = re.compile(r"__main__$|\.migrations\.")


@pytest.mark.parametrize("name", [name for name in MODULES if not RUN_ONLY.search(name)])
def test_every_module_imports_and_lists_what_it_offers(name: str) -> None:
    """`__all__` is exact: each name exists, and none is listed twice."""
    module = importlib.import_module(name)
    offered = getattr(module, "__all__", ())
    assert (len(set(offered)), [n for n in offered if not hasattr(module, n)]) == (len(offered), [])
