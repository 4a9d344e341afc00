"""A host process that kills itself with SIGKILL at a point its test names: right before or right after a COMMIT.

python tests/scheduling/host/crashing_server.py LOCATION instant|approving

A line on its input arms it: `before N` or `after N` for the N-th unit of work from then on. Nothing in the product
knows of this: the units of work pass through a store of the test's own that adds the kill.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from sayso.testing.breaks import apply_from_environment  # noqa: E402

apply_from_environment(ROOT)

import anyio  # noqa: E402
import msgspec  # noqa: E402

from sayso.core.clock import ManualClock  # noqa: E402
from sayso.core.ids import SystemIds  # noqa: E402
from sayso.net.listen import serving  # noqa: E402
from sayso.scheduling.host.desk import open_desk  # noqa: E402
from sayso.scheduling.host.http import host_app  # noqa: E402
from sayso.scheduling.terms.discovery import WaitlistLimits  # noqa: E402
from sayso.store.open import open_store  # noqa: E402
from sayso.testing.store import START  # noqa: E402
from tests.scheduling.host.frontdesk import approving  # noqa: E402
from tests.scheduling.host.town import HOST_KEY, one_bay  # noqa: E402


class MortalStore:
    """A store whose units may be the process's last. Everything else is the real store's."""

    def __init__(self, store):
        self._store = store
        self._armed = None

    def __getattr__(self, name):
        return getattr(self._store, name)

    def arm(self, line):
        when, number = line.split()
        self._armed = (when, int(number))

    async def unit(self, body):
        if self._armed is None:
            return await self._store.unit(body)
        when, number = self._armed
        self._armed = (when, number - 1) if number > 1 else None
        if number > 1:
            return await self._store.unit(body)

        def last(unit):
            done = body(unit)
            if when == "before":
                _die()
            unit.after_commit(_die)
            return done

        return await self._store.unit(last)


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


async def serve(location: str, kind: str) -> None:
    shop = approving() if kind == "approving" else one_bay()
    config = msgspec.structs.replace(shop, waitlist=WaitlistLimits(max_entries_per_agent=5))
    clock = ManualClock(START)
    with open_store(location, clock) as real:
        store = MortalStore(real)
        desk = open_desk(config, HOST_KEY, SystemIds())
        async with serving(host_app(config, desk, store, clock)) as address:
            print(address.port, flush=True)
            while line := await anyio.to_thread.run_sync(sys.stdin.readline):
                store.arm(line)
                print("armed", flush=True)


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1], sys.argv[2])
