"""`python -m bench.hold`: what is measured is said in the package."""

from __future__ import annotations

import argparse
from pathlib import Path

import bench.hold
from bench.hold.serving import serve
from bench.hold.tables import ENGINES, measure
from bench.measure import write_report


def main() -> None:
    parser = argparse.ArgumentParser(
        description=bench.hold.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, fewer requests")
    parser.add_argument("--engine", choices=tuple(ENGINES), help="only this one")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="where the databases are made")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--serve", nargs=3, metavar=("KIND", "DATABASE", "HOSTS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        kind, database, hosts = options.serve
        serve(kind, database, int(hosts))
        return
    engines = (options.engine,) if options.engine else tuple(ENGINES)
    reports = measure(quick=options.quick, folder=options.folder, engines=engines)
    if options.json:
        write_report(options.json, reports)


if __name__ == "__main__":
    main()
