"""`python -m bench.gateway`: what is measured is said in the package."""

from __future__ import annotations

import argparse
from pathlib import Path

import bench.gateway
from bench.measure import write_report


def main() -> None:
    parser = argparse.ArgumentParser(
        description=bench.gateway.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="where the databases are made")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--contextforge", type=Path, metavar="DIR", help="where its environment is kept between runs")
    parser.add_argument("--python", metavar="PROGRAM", help="the interpreter of its environment, 3.12 or 3.13")
    parser.add_argument("--without", nargs="*", default=[], metavar="CASE", help="cases to leave out")
    parser.add_argument("--serve", nargs=2, metavar=("KIND", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        from bench.gateway.servers import serve

        serve(options.serve[0], Path(options.serve[1]))
        return
    from bench.gateway.tables import measure

    reports = measure(
        quick=options.quick,
        folder=options.folder,
        cache=options.contextforge,
        python=options.python,
        without=frozenset(options.without),
    )
    if options.json:
        write_report(options.json, reports)


if __name__ == "__main__":
    main()
