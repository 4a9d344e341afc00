"""`sayso gateway proxy`: a signing proxy on loopback for tools that cannot sign."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from sayso.apps.cli.main import DONE
from sayso.apps.cli.options import home_option, read_port, world_option

__all__ = ("proxy",)


@click.command()
@click.argument("url", default="http://127.0.0.1:6271")
@click.option(
    "--key-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The agent's key, in a file that only you can read; otherwise SAYSO_AGENT_KEY.",
)
@click.option("--addr", metavar="HOST:PORT", default="127.0.0.1:0", show_default=True, help="Port 0 takes any.")
@home_option
@world_option
def proxy(url: str, key_file: Path | None, addr: str, home: Path, *, world: bool) -> int:
    """Pass plain MCP, A2A and ACP requests on to the doors at URL, signed with one agent's key.

    Whoever reaches its port on this machine acts as that agent. With --world it signs by the sample world's clock.
    """
    import anyio

    from sayso.apps.cli.logs import log_to_stderr
    from sayso.apps.gateway_proxy import read_agent_key, signing_proxy
    from sayso.apps.serving import run_server
    from sayso.core.clock import SystemClock
    from sayso.net.listen import LOOPBACK, serving
    from sayso.world.timekeeping import open_clock

    key, port = read_agent_key(key_file, os.environ), read_port(addr)
    clock = open_clock(home) if world else SystemClock()
    log_to_stderr()

    async def serve() -> None:
        import signal

        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async with signing_proxy(url.rstrip("/"), key, clock) as app, serving(app, LOOPBACK, port) as address:
                click.echo(f"{address.url} leads to {url}")
                sys.stdout.flush()
                async for _ in signals:
                    break

    run_server(serve)
    return DONE
