"""`python -m bench.provider`: what is measured is said in the package."""

from __future__ import annotations

import argparse
from pathlib import Path

import bench.provider
from bench.measure import write_report


def main() -> None:
    parser = argparse.ArgumentParser(
        description=bench.provider.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--litellm", type=Path, metavar="DIR", help="where its environment is kept between runs")
    parser.add_argument("--without", nargs="*", default=[], metavar="CASE", help="cases to leave out")
    parser.add_argument("--serve", metavar="SCRIPT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        from bench.provider.servers import serve

        serve(options.serve)
        return
    from bench.provider.tables import measure

    reports = measure(quick=options.quick, cache=options.litellm, without=frozenset(options.without))
    if options.json:
        write_report(options.json, reports)


if __name__ == "__main__":
    main()
