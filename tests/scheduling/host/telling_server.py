"""A host process that delivers its events once it is told to, and may kill itself around a COMMIT of doing so.

python tests/scheduling/host/telling_server.py LOCATION RECEIVER_PORT MINUTES_LATER

It serves the shop. A line on its input makes it deliver what is due: `tell`, or `before N` or `after N` to be killed at
the N-th unit of work of that. It answers with how many deliveries it tried.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from sayso.testing.breaks import apply_from_environment  # noqa: E402

apply_from_environment(ROOT)

import anyio  # noqa: E402

from sayso.core.clock import ManualClock  # noqa: E402
from sayso.core.ids import SystemIds  # noqa: E402
from sayso.net.fetch import Fetcher  # noqa: E402
from sayso.net.listen import serving  # noqa: E402
from sayso.scheduling.host.desk import open_desk  # noqa: E402
from sayso.scheduling.host.http import host_app  # noqa: E402
from sayso.scheduling.host.telling import tell_due  # noqa: E402
from sayso.store.open import open_store  # noqa: E402
from sayso.testing.store import START  # noqa: E402
from tests.scheduling.host.crashing_server import MortalStore  # noqa: E402
from tests.scheduling.host.town import HOST_KEY, one_bay  # noqa: E402

AGENT = "assistant.example"


async def serve(location: str, receiver: str, minutes: str) -> None:
    clock = ManualClock(START + timedelta(minutes=int(minutes)))
    with open_store(location, clock) as real:
        store = MortalStore(real)
        desk = open_desk(one_bay(), HOST_KEY, SystemIds())
        async with (
            serving(host_app(one_bay(), desk, store, clock)) as address,
            Fetcher({AGENT: f"127.0.0.1:{receiver}"}) as fetcher,
        ):
            print(address.port, flush=True)
            while line := (await anyio.to_thread.run_sync(sys.stdin.readline)).strip():
                if line != "tell":
                    store.arm(line)
                print(await tell_due(store, desk, fetcher), flush=True)


if __name__ == "__main__":
    anyio.run(serve, *sys.argv[1:4])
