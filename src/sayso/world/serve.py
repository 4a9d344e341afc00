"""Running the world: each origin a real HTTP server on a loopback port, published by name while it runs.

One process serves a world at a time, which a lock on a file decides, so a crash leaves nothing that has to be cleaned
up by hand. `ports.json` appears whole once every host answers, and is gone when the process ends as it should; after a
crash it is stale, and `process` tells so by asking.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.net.listen import LOOPBACK, serving
from sayso.scheduling.host.returning import keeping_returned
from sayso.scheduling.host.telling import keeping_told
from sayso.scheduling.host.tidying import keeping_tidy
from sayso.world.hosts import open_world
from sayso.world.places import lock_file, make_world_folder, ports_file
from sayso.world.timekeeping import open_clock

__all__ = ("serving_world",)


@asynccontextmanager
async def serving_world(home: Path, *, port_base: int | None = None) -> AsyncIterator[Mapping[str, str]]:
    """Serves every host of a home's world while the block runs; which name answers at which address.

    With `port_base` the origins take ports from there on, in their order; otherwise free ones.
    Refused: `world_is_running`, `home_not_private`, `port_in_use`.
    """
    folder = make_world_folder(home)
    if folder.stat().st_mode & 0o077:
        raise Refused.because(
            "home_not_private", f"{folder} can be read by others", help=f"Close it first: chmod 700 {folder}"
        )
    with _alone(home):
        clock = open_clock(home)
        ports_file(home).unlink(missing_ok=True)
        async with AsyncExitStack() as stack:
            world = stack.enter_context(open_world(home, clock))
            for host in world.hosts:
                if host.begin is not None:
                    await host.store.unit(host.begin)
                await stack.enter_async_context(keeping_tidy(host.store, clock, host.desk))
            ports: dict[str, str] = {}
            for number, (name, app) in enumerate(world.origins.items()):
                port = 0 if port_base is None else port_base + number
                ports[name] = str(await stack.enter_async_context(serving(app, LOOPBACK, port)))
            fetcher = await stack.enter_async_context(Fetcher(ports))
            for host in world.hosts:
                host.desk.statuses.ask_through(fetcher, clock)
                await stack.enter_async_context(keeping_told(host.store, clock, host.desk, fetcher))
                await stack.enter_async_context(keeping_returned(host.store, clock, host.desk, fetcher))
            _publish(home, ports)
            try:
                yield ports
            finally:
                ports_file(home).unlink(missing_ok=True)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Holds the world's lock; it ends with the process, however that ends."""
    descriptor = os.open(lock_file(home), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused.because(
                "world_is_running",
                "This world is already being served by another process.",
                help="Use that one (its ports.json says where), or stop it first.",
            ) from None
        yield
    finally:
        os.close(descriptor)


def _publish(home: Path, ports: Mapping[str, str]) -> None:
    """Replaces the file in one step: nobody ever reads half a map."""
    fresh = ports_file(home).with_suffix(".new")
    fresh.write_bytes(strictjson.encode(ports) + b"\n")
    fresh.replace(ports_file(home))
