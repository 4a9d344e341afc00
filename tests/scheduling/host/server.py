"""A separate operating-system process that serves the one-bay shop from a given store until its input ends.

python tests/scheduling/host/server.py LOCATION
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from sayso.testing.breaks import apply_from_environment  # noqa: E402

apply_from_environment(ROOT)

import anyio  # noqa: E402

from sayso.core.clock import ManualClock  # noqa: E402
from sayso.core.ids import SystemIds  # noqa: E402
from sayso.net.listen import serving  # noqa: E402
from sayso.scheduling.host.desk import open_desk  # noqa: E402
from sayso.scheduling.host.http import host_app  # noqa: E402
from sayso.store.open import open_store  # noqa: E402
from sayso.testing.store import START  # noqa: E402
from tests.scheduling.host.town import HOST_KEY, one_bay  # noqa: E402


async def serve(location: str) -> None:
    config, clock = one_bay(), ManualClock(START)
    with open_store(location, clock) as store:
        desk = open_desk(config, HOST_KEY, SystemIds())
        async with serving(host_app(config, desk, store, clock)) as address:
            print(address.port, flush=True)
            await anyio.to_thread.run_sync(sys.stdin.read)


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1])
