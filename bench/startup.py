"""Start-up: `sayso --version` beside a bare interpreter, as whole processes started one after another."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.measure import compare, report, stopwatch, table

SAYSO = str(Path(sys.executable).with_name("sayso"))
TITLE = "start-up, milliseconds a start"


def _milliseconds(command: list[str], times: int) -> Callable[[], float]:
    def run() -> float:
        with stopwatch() as watch:
            for _ in range(times):
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return 1000 * watch.seconds / times

    return run


def measure(*, quick: bool = False) -> list[dict[str, object]]:
    """One table; less is better."""
    times, rounds = (10, 3) if quick else (60, 5)
    rows = compare(
        {
            "sayso --version": _milliseconds([SAYSO, "--version"], times),
            "sayso --help": _milliseconds([SAYSO, "--help"], times),
            "python -c pass": _milliseconds([sys.executable, "-c", "pass"], times),
        },
        rounds=rounds,
        unit="ms",
    )
    print(table(TITLE, rows, floor="python -c pass"))
    return [report(TITLE, rows, floor="python -c pass")]
