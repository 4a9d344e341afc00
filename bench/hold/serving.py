"""One server in a process of its own: a host, a thousand of them, or a floor."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from bench.hold.floors import FLOORS, floor_app
from bench.hold.shops import START, application
from sayso.apps.serving import run_server, settle_in
from sayso.core.clock import ManualClock
from sayso.net.listen import serving
from sayso.store.open import open_store


@contextmanager
def server(kind: str, database: str, hosts: int) -> Iterator[int]:
    """Its port. `kind` is `host` or `floor`; `database` what `open_store` takes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.hold", "--serve", kind, database, str(hosts)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield int(process.stdout.readline())
    finally:
        process.communicate("")


def serve(kind: str, database: str, hosts: int) -> None:
    """The child's side."""
    if kind == "host":
        clock = ManualClock(START)
        with open_store(database, clock) as store:
            run_server(partial(_until_eof, application(hosts, store, clock)))
    else:
        writer = FLOORS["postgres" if "://" in database else "sqlite"](database, hosts)
        run_server(partial(_until_eof, floor_app(writer, "/{path:path}")))
        writer.close()


async def _until_eof(app: Any) -> None:
    async with serving(app) as address:
        settle_in()
        print(address.port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
