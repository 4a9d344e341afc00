"""A separate operating-system process that serves the toy door on one database, as another house process would.

    python tests/gateway/worker.py LOCATION CLOCKFILE

Limits come from the environment, time from the file. It prints its URL and serves until its standard input ends.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from sayso.testing.breaks import apply_from_environment

apply_from_environment(ROOT)

from sayso.apps.gateway_settings import read_limits
from sayso.core.clock import FileClock
from sayso.testing.gateway import ToyDoor, open_gateway, serving_door


async def main(location: str, clock_file: str) -> None:
    clock = FileClock(Path(clock_file))
    limits = read_limits(os.environ)
    async with (
        open_gateway(Path(), clock=clock, location=location, limits=limits) as bench,
        serving_door(bench, ToyDoor()) as url,
    ):
        print(url, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
