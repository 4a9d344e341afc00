"""Deliberate breaks: proof that a named test fails when its rule is taken away.

A break is (file, exact old text, new text, test ids), written in `tests/breaks/*.toml`. It is applied in memory, by an
import hook that hands Python the changed source of that one file; the working tree is never touched. An old text that
is not found exactly once is an error, so that a break cannot quietly stop meaning anything.

A test that fails anyway would seem to catch everything, so the named tests must first pass without any break.

Run as `python -m sayso.testing.breaks [--changed-since REV] [--tenth N] [--suite-passed] [ID ...]`.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import CodeType, ModuleType

import msgspec

from sayso.core.refusal import Misuse

__all__ = ("BREAK_VARIABLE", "Break", "apply_from_environment", "changed_source", "load_breaks", "main")

BREAK_VARIABLE = "SAYSO_TEST_BREAK"
_FOLDER = "tests/breaks"
_PYTEST_FAILED = 1
_FAILED = 3


class Break(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule taken away. At least one of `tests` must fail while it is applied."""

    id: str
    file: str
    old: str
    new: str
    tests: list[str]
    rule: str


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """The shape of one file of breaks."""

    breaks: list[Break] = msgspec.field(name="break")


def load_breaks(root: Path) -> dict[str, Break]:
    """Every break below `root`, by id. Misuse: an id used twice, an unknown member, a text not found exactly once."""
    found: dict[str, Break] = {}
    for path in sorted((root / _FOLDER).glob("*.toml")):
        for each in msgspec.convert(tomllib.loads(path.read_text()), _Table).breaks:
            if each.id in found:
                raise Misuse(f"{path.name}: the break {each.id} is there twice")
            if not each.tests:
                raise Misuse(f"{path.name}: the break {each.id} names no test")
            changed_source(root, each)
            found[each.id] = each
    return found


def changed_source(root: Path, each: Break) -> bytes:
    """The source of the broken file. Misuse unless the old text stands there exactly once."""
    source = (root / each.file).read_text(encoding="utf-8")
    times = source.count(each.old)
    if times != 1:
        raise Misuse(f"break {each.id}: its old text stands {times} times in {each.file}, not once")
    if each.old == each.new:
        raise Misuse(f"break {each.id} changes nothing")
    return source.replace(each.old, each.new).encode()


class _BrokenLoader(importlib.machinery.SourceFileLoader):
    """Loads one module from changed source, and never from or to a cached bytecode file."""

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec", dont_inherit=True)


class _Hook(importlib.abc.MetaPathFinder):
    """Answers for the one broken module only."""

    def __init__(self, path: Path, source: bytes) -> None:
        self._path = path
        self._source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or Path(spec.origin).resolve() != self._path:
            return None
        loader = _BrokenLoader(fullname, spec.origin, self._source)
        places = spec.submodule_search_locations
        return importlib.util.spec_from_file_location(
            fullname, spec.origin, loader=loader, submodule_search_locations=places
        )


def apply_from_environment(root: Path) -> None:
    """Installs the break that `SAYSO_TEST_BREAK` names; does nothing without it. Call before importing the module."""
    name = os.environ.get(BREAK_VARIABLE)
    if not name:
        return
    each = load_breaks(root)[name]
    path = (root / each.file).resolve()
    already = [n for n, m in sys.modules.items() if Path(getattr(m, "__file__", None) or "/").resolve() == path]
    if already:
        raise Misuse(f"break {name}: {already[0]} was imported before the break could be applied")
    sys.meta_path.insert(0, _Hook(path, changed_source(root, each)))


def _pytest(root: Path, break_id: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs tests under a break, or under none where `break_id` is empty."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, BREAK_VARIABLE: break_id, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False, text=True)


def _failures(root: Path, chosen: Sequence[Break]) -> list[str]:
    """What pytest says of the named tests that do not pass without any break; nothing when all do."""
    if not chosen:
        return []
    done = _pytest(root, "", "-rfE", "--tb=no", *dict.fromkeys(test for each in chosen for test in each.tests))
    if done.returncode == 0:
        return []
    lines = (done.stderr + done.stdout).splitlines()
    return [line for line in lines if line.startswith(("FAILED ", "ERROR"))] or lines[-1:]


def _is_caught(root: Path, each: Break) -> bool:
    """Whether a named test fails under the break. A run that could not even collect proves nothing."""
    return _pytest(root, each.id, "-x", *each.tests).returncode == _PYTEST_FAILED


def _changed_files(root: Path, since: str) -> set[str]:
    command = ["git", "diff", "--name-only", since]
    done = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True)
    return set(done.stdout.split())


def _chosen(root: Path, options: argparse.Namespace) -> Iterable[Break]:
    breaks = load_breaks(root)
    if options.ids:
        return [breaks[name] for name in options.ids]
    if options.changed_since is None and options.tenth is None:
        return breaks.values()
    changed = _changed_files(root, options.changed_since) if options.changed_since else set()
    turn = None if options.tenth is None else options.tenth % 10
    return [
        each
        for index, each in enumerate(breaks.values())
        if index % 10 == turn or each.file in changed or any(test.split("::")[0] in changed for test in each.tests)
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Take rules away one by one and see that a named test fails.")
    parser.add_argument("ids", nargs="*", help="only these breaks")
    parser.add_argument("--changed-since", metavar="REV", help="those whose file or test changed since REV")
    parser.add_argument("--tenth", type=int, metavar="N", help="and the N-th tenth of all, so that all come round")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="how many side by side")
    parser.add_argument(
        "--suite-passed",
        action="store_true",
        help="the whole suite has just passed here, so do not run the tests without a break first",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the breaks asked for; 0 when every one is caught, 1 when one is not, 3 when a test fails without any."""
    options = _parser().parse_args(arguments)
    root = Path.cwd()
    chosen = list(_chosen(root, options))
    if not options.suite_passed and (failures := _failures(root, chosen)):
        sys.stdout.write("".join(f"{line}\n" for line in failures))
        sys.stdout.write("breaks: none was tried, because these tests do not pass even without a break\n")
        return _FAILED
    return _judge(root, chosen, options.jobs)


def _judge(root: Path, chosen: Sequence[Break], jobs: int) -> int:
    """Tries each break and tells what became of it; 0 when every one is caught, else 1."""
    missed = []
    # Each break is a process of its own, so they run side by side; what is told comes in order.
    with ThreadPoolExecutor(jobs) as pool:
        for number, (each, caught) in enumerate(
            zip(chosen, pool.map(partial(_is_caught, root), chosen), strict=True), 1
        ):
            sys.stdout.write(f"[{number}/{len(chosen)}] {'caught' if caught else 'MISSED'}  {each.id}: {each.rule}\n")
            sys.stdout.flush()
            if not caught:
                missed.append(each.id)
    sys.stdout.write(f"breaks: {len(chosen) - len(missed)} caught, {len(missed)} missed\n")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
