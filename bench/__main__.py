"""`python -m bench [--quick] [ROW ...]`: every measured row beside its floor, as a table, and as a plot if asked."""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from bench.measure import write_report

ROWS = (
    "receipts",
    "hold",
    "validator",
    "hub",
    "gateway",
    "provider",
    "loop",
    "loop_conversation",
    "tui",
    "startup",
)
AGENT = ("provider", "loop", "loop_conversation", "tui", "startup")
"""What `agent` stands for: a person's agent, without the house."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    named = f"only these: {', '.join(ROWS)}; agent: {', '.join(AGENT)}"
    parser.add_argument("rows", nargs="*", choices=[*ROWS, "agent", []], help=named)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it runs, not to quote")
    parser.add_argument("--plot", metavar="FILE", help="also draw product and floor as bars into FILE (png or svg)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write every sample into FILE")
    options = parser.parse_args()
    reports, failed = [], []
    for name in chosen(options.rows):
        try:
            reports += importlib.import_module(f"bench.{name}").measure(quick=options.quick)
        except Exception:  # noqa: BLE001 - the other rows are worth their time all the same
            traceback.print_exc()
            failed.append(name)
        print()
    if options.json:
        write_report(options.json, reports)
    if options.plot and reports:
        from bench.plot import draw

        draw(reports, options.plot)
    if failed:
        print(f"not measured: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def chosen(asked: Sequence[str]) -> list[str]:
    """The rows that are meant, each once, in the order of ROWS."""
    wanted = {row for name in asked or ROWS for row in (AGENT if name == "agent" else (name,))}
    return [row for row in ROWS if row in wanted]


if __name__ == "__main__":
    sys.exit(main())
