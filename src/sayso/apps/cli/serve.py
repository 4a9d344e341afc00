"""`sayso serve`: the hub on loopback, over HTTP and server-sent events."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import click

from sayso.apps.cli.logs import log_to_stderr
from sayso.apps.cli.main import DONE
from sayso.apps.cli.options import home_option, world_option
from sayso.apps.house import Wishes, open_hub
from sayso.apps.place import open_place
from sayso.control.hub.bindings.http import PORT, serving_hub
from sayso.net.listen import LOOPBACK

__all__ = ("serve",)


@click.command()
@home_option
@world_option
@click.option("--addr", metavar="HOST:PORT", default=f"{LOOPBACK}:{PORT}", show_default=True, help="Port 0 takes any.")
def serve(home: Path, world: bool, addr: str) -> int:
    """Serve the hub (Open Agent Protocol) on loopback.

    It lists the built-in loop as `sayso`. There is no authentication: whoever can reach the port can talk to the agent,
    and can book nothing, because a booking needs a document signed with your key. Ends with Ctrl-C or SIGTERM.
    """
    host, port = _loopback(addr)
    log_to_stderr()

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, stop.set)
        async with (
            open_place(home, is_world=world, wishes=Wishes(), told=sys.stderr) as house,
            open_hub(house) as hub,
            serving_hub(hub, ids=house.ids, host=host, port=port) as address,
        ):
            click.echo(f"hub: {address.url}")
            sys.stdout.flush()
            await stop.wait()

    asyncio.run(run())
    return DONE


def _loopback(addr: str) -> tuple[str, int]:
    host, _, port = addr.rpartition(":")
    if host not in (LOOPBACK, "localhost") or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise click.UsageError(f"--addr {addr}: the hub listens on {LOOPBACK} only, write {LOOPBACK}:PORT")
    return LOOPBACK, int(port)
