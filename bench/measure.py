"""The instrument all benches share: rounds taken in turn, medians, one table, one machine line.

A case is a function that does one round of work and returns its figure. All cases of a comparison run in every round,
one after another, each round beginning with another one, so that whatever slows the machine down for a while slows all
of them. The median of the rounds is the figure; the lowest and highest are printed, because a median alone hides a
machine that was busy with something else.

    rows = compare({"sayso": append, "bare SQLite": floor}, rounds=5)
    print(table("receipts appended", rows, floor="bare SQLite"))
"""

from __future__ import annotations

import gc
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One case: its figures, a round each, and what they are counted in."""

    name: str
    unit: str
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)


@dataclass(slots=True)
class Stopwatch:
    """Seconds between entering and leaving `stopwatch()`."""

    seconds: float = field(default=0.0)

    def rate(self, count: int) -> float:
        """`count` things in that time, a second."""
        return count / self.seconds


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Times its block and nothing around it: what is set up before is no part of the figure."""
    watch = Stopwatch()
    gc.collect()
    began = time.perf_counter()
    yield watch
    watch.seconds = time.perf_counter() - began


def compare(cases: Mapping[str, Callable[[], float]], *, rounds: int = 5, unit: str = "/s") -> list[Row]:
    """Runs every case in every round, in turn. Each case returns one round's figure in `unit`."""
    names = list(cases)
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            found[name].append(cases[name]())
    return [Row(name, unit, tuple(found[name])) for name in names]


def table(title: str, rows: Sequence[Row], *, floor: str | None = None) -> str:
    """A plain table; with `floor`, each row as a multiple of the row of that name."""
    base = next((row.median for row in rows if row.name == floor), None)
    width = max(len(row.name) for row in rows)
    rounds = len(rows[0].samples)
    lines = [f"{title} ({machine()}; median of {rounds})"]
    for row in rows:
        times = "" if base is None else f"  x {row.median / base:5.2f}"
        spread = f"{_number(min(row.samples))} to {_number(max(row.samples))}"
        lines.append(f"  {row.name:<{width}}  {_number(row.median):>10} {row.unit:<3}{times}   ({spread})")
    return "\n".join(lines)


def machine() -> str:
    """The machine as cores and processor, and nothing else about it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores, {_processor()}"


def report(title: str, rows: Sequence[Row], *, floor: str | None = None) -> dict[str, object]:
    """The same for machines."""
    base = next((row.median for row in rows if row.name == floor), None)
    return {
        "title": title,
        "machine": machine(),
        "python": platform.python_version(),
        "floor": floor,
        "rows": [
            {**asdict(row), "median": row.median, "times_floor": None if base is None else row.median / base}
            for row in rows
        ],
    }


def write_report(path: Path, reports: Sequence[Mapping[str, object]]) -> None:
    """Keeps a run's reports as JSON."""
    path.write_text(json.dumps(list(reports), indent=2) + "\n", encoding="utf-8")


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or sys.platform


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
