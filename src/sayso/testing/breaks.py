"""Deliberate breaks: proof that a named test fails when its rule is taken away.

A break is (file, exact old text, new text, test ids), written in `tests/breaks/*.toml`. It is applied in memory, by an
import hook that hands Python the changed source of that one file; the working tree is never touched. An old text that
is not found exactly once is an error, so that a break cannot quietly stop meaning anything. A file that is no module (a
document, a licence) is broken for the tests that read it with `read_text`.

A test that fails anyway would seem to catch everything, so the named tests must first pass without any break.

A test that does not end under the break has failed, and is told as HUNG. It counts as caught only where the bound is
generous: under a short one a slow machine would catch everything. The process and what it started are killed.

There are more breaks than one run has time for. `--minutes` says when no further one is started: those whose files
changed most recently come first, then the tenths in turn, so that what one run leaves the next ones reach.

Run as `python -m sayso.testing.breaks [--changed-since REV] [--tenth N] [--minutes N] [--suite-passed] [ID ...]`.
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
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType

import msgspec

from sayso.core.refusal import Misuse

__all__ = (
    "BREAK_VARIABLE",
    "Break",
    "apply_from_environment",
    "changed_source",
    "load_breaks",
    "main",
    "read_text",
)

BREAK_VARIABLE = "SAYSO_TEST_BREAK"
_FOLDER = "tests/breaks"
_FAILED = 3
_BOUND = 180.0
# Side by side is this module's business; and with that plugin another imports much when a session ends, where a test
# has just failed on purpose.
_QUIET = ("-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist")
_LAST_LINES = 5


class Break(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule taken away. Each of `tests` must fail while it is applied: what names an id there is its proof."""

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


@cache
def _under_trial(root: Path, name: str | None) -> Break | None:
    """The break by that name; a test may read hundreds of files, and each asks."""
    return load_breaks(root)[name] if name else None


def apply_from_environment(root: Path) -> None:
    """Installs the break that `SAYSO_TEST_BREAK` names; does nothing without it. Call before importing the module."""
    each = _under_trial(root, os.environ.get(BREAK_VARIABLE))
    if each is None:
        return
    path = (root / each.file).resolve()
    already = [n for n, m in sys.modules.items() if Path(getattr(m, "__file__", None) or "/").resolve() == path]
    if already:
        raise Misuse(f"break {each.id}: {already[0]} was imported before the break could be applied")
    sys.meta_path.insert(0, _Hook(path, changed_source(root, each)))


def read_text(root: Path, path: Path) -> str:
    """A file as a test should read it: with the break under trial applied, if it is that file's."""
    each = _under_trial(root, os.environ.get(BREAK_VARIABLE))
    if each is not None and path.resolve() == (root / each.file).resolve():
        return changed_source(root, each).decode()
    return path.read_text(encoding="utf-8")


def _failures(root: Path, chosen: Sequence[Break], jobs: int) -> list[str]:
    """What pytest says of the named tests that do not pass without any break; nothing when all do."""
    from sayso.testing.trial import Trial, tried  # noqa: PLC0415 - this module is loaded before any break applies

    shares: list[list[str]] = [[] for _ in range(jobs)]
    files: dict[str, list[str]] = {}
    for test in dict.fromkeys(test for each in chosen for test in each.tests):
        files.setdefault(test.partition("::")[0], []).append(test)
    for tests in sorted(files.values(), key=len, reverse=True):
        min(shares, key=len).extend(tests)
    trials = [Trial({BREAK_VARIABLE: ""}, (*_QUIET, "-rfE", *share)) for share in shares if share]
    told = []
    for _, outcome in tried(root, trials, jobs):
        if outcome.status != 0:
            lines = outcome.output.splitlines()
            told += [line for line in lines if line.startswith(("FAILED ", "ERROR"))] or lines[-1:]
    return told


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=True, text=True)
    return done.stdout.splitlines()


def _chosen(root: Path, options: argparse.Namespace) -> Sequence[Break]:
    """The breaks asked for, in the order in which they are tried."""
    from sayso.testing.turns import in_turn, touches  # noqa: PLC0415 - this module is loaded before any break applies

    breaks = load_breaks(root)
    if options.ids:
        return [breaks[name] for name in options.ids]
    changed = _git(root, "diff", "--name-only", options.changed_since) if options.changed_since else []
    turn = None if options.tenth is None else options.tenth % 10
    everything = list(breaks.values())
    if options.minutes is not None:
        recent = [*_git(root, "diff", "--name-only", "HEAD"), *_git(root, "log", "--format=", "--name-only")]
        return in_turn(everything, turn or 0, set(changed), recent)
    if turn is None and not options.changed_since:
        return everything
    return [each for index, each in enumerate(everything) if index % 10 == turn or touches(each, changed)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Take rules away one by one and see that a named test fails.")
    parser.add_argument("ids", nargs="*", help="only these breaks")
    parser.add_argument("--changed-since", metavar="REV", help="those whose file or test changed since REV")
    parser.add_argument("--tenth", type=int, metavar="N", help="and the N-th tenth of all, so that all come round")
    parser.add_argument(
        "--minutes",
        type=float,
        metavar="N",
        help="all, those changed since REV first, then from the N-th tenth on; none is started after so many minutes",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="how many side by side")
    parser.add_argument(
        "--bound",
        type=float,
        default=_BOUND,
        metavar="SECONDS",
        help="how long a break's tests may take; a hang counts from 120 on (default %(default)s)",
    )
    parser.add_argument(
        "--suite-passed",
        action="store_true",
        help="the whole suite has just passed here, so do not run the tests without a break first",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the breaks asked for; 0 when every one is caught, 1 when one is not, 3 when a test fails without any."""
    from sayso.testing.trial import warm  # noqa: PLC0415 - this module is loaded before any break applies

    options = _parser().parse_args(arguments)
    root = Path.cwd()
    chosen = _chosen(root, options)
    if len(chosen) > options.jobs:
        warm()
    if not options.suite_passed and (failures := _failures(root, chosen, options.jobs)):
        sys.stdout.write("".join(f"{line}\n" for line in failures))
        sys.stdout.write("breaks: none was tried, because these tests do not pass even without a break\n")
        return _FAILED
    return _judge(root, chosen, options)


def _judge(root: Path, chosen: Sequence[Break], options: argparse.Namespace) -> int:
    """Tries the breaks and tells what became of each; 0 when every one that was tried is caught, else 1."""
    from sayso.core.clock import SystemClock  # noqa: PLC0415 - this module is loaded before any break applies
    from sayso.testing.trial import Trial, tried  # noqa: PLC0415
    from sayso.testing.verdict import is_proof, judged  # noqa: PLC0415

    clock = SystemClock()
    end = None if options.minutes is None else clock.monotonic() + 60 * options.minutes
    # Test by test: what a break's first test notices says nothing of its second.
    pairs = [(each, test) for each in chosen for test in each.tests]
    trials = [
        Trial({BREAK_VARIABLE: each.id}, (*_QUIET, "-x", test), options.bound, stops_at_first=True)
        for each, test in pairs
    ]
    noticed: Counter[str] = Counter()
    missed = set()
    may_start = lambda: end is None or clock.monotonic() < end  # noqa: E731
    for count, (index, outcome) in enumerate(tried(root, trials, options.jobs, may_start=may_start), 1):
        (each, test), verdict = pairs[index], judged(outcome.status)
        sys.stdout.write(f"[{count}/{len(pairs)}] {verdict.value} {outcome.seconds:5.1f} s  {each.id}: {each.rule}\n")
        if is_proof(verdict, options.bound):
            noticed[each.id] += 1
        else:
            missed.add(each.id)
            last = [] if outcome.status == 0 else outcome.output.splitlines()[-_LAST_LINES:]
            sys.stdout.write("".join(f"    {line}\n" for line in [test, *last]))
        sys.stdout.flush()
    caught = sum(noticed[each.id] == len(each.tests) for each in chosen)
    # Once more at the end, where whoever sees only the last lines finds them.
    sys.stdout.write("".join(f"breaks: missed {name}\n" for name in sorted(missed)))
    sys.stdout.write(f"breaks: {caught} caught, {len(missed)} missed\n")
    if left := len(chosen) - caught - len(missed):
        sys.stdout.write(f"breaks: {left} not tried, left for the next run: the {options.minutes:g} minutes are over\n")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
