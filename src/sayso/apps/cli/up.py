"""`sayso up` and `sayso gateway serve`: the house at work, whole or its doors alone."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sayso.apps.cli.main import DONE
from sayso.apps.cli.options import home_option, json_option, read_port, read_resolve, resolve_option, world_option

if TYPE_CHECKING:
    from sayso.apps.host_home import OpenDesk
    from sayso.apps.house import House
    from sayso.apps.up import Addresses

__all__ = ("serve_doors", "up")

_PORT_BASE = 6270
_DOORS = "127.0.0.1:6271"
_PATHS = (
    ("MCP", "/api/protocols/mcp/message"),
    ("A2A", "/api/protocols/a2a"),
    ("ACP", "/api/protocols/acp"),
    ("tasks", "/api/protocols/tasks"),
    ("receipts", "/api/receipts/checkpoint"),
)

Serving = Callable[["House", "OpenDesk | None"], AbstractAsyncContextManager["Addresses"]]


@click.command()
@home_option
@world_option
@click.option(
    "--port-base",
    type=click.IntRange(0, 65_000),
    default=_PORT_BASE,
    show_default=True,
    help="Hub at this port, doors and console at the next two; 0 takes any that are free.",
)
@resolve_option
@json_option
def up(home: Path, *, world: bool, port_base: int, resolve: tuple[str, ...], as_json: bool) -> int:
    """Run everything: hub, doors for outside agents, and your console.

    All three listen on this machine only. Where the home is a host (sayso host init) its calendar is served at the
    doors' port too, and the passphrase of its keys is asked for once. With --world the sample world is served and its
    clock runs. Ends with Ctrl-C or SIGTERM; what was approved and not finished goes on at the next start.
    """
    import os

    from sayso.apps.up import serving_house

    def serving(house: House, host: OpenDesk | None) -> AbstractAsyncContextManager[Addresses]:
        return serving_house(house, port_base, environ=os.environ, host=host)

    return _run(home, is_world=world, resolve=read_resolve(resolve), serving=serving, as_json=as_json)


@click.command("serve")
@click.option("--addr", metavar="HOST:PORT", default=_DOORS, show_default=True, help="Port 0 takes any.")
@home_option
@world_option
@resolve_option
@json_option
def serve_doors(addr: str, home: Path, *, world: bool, resolve: tuple[str, ...], as_json: bool) -> int:
    """Serve the doors alone, and carry out what is approved.

    For a second process beside `sayso up`, or a machine of its own on the same Postgres database. Ends with Ctrl-C or
    SIGTERM.
    """
    import os

    from sayso.apps.up import serving_doors

    port = read_port(addr)

    def serving(house: House, host: OpenDesk | None) -> AbstractAsyncContextManager[Addresses]:
        return serving_doors(house, port, environ=os.environ, host=host)

    return _run(home, is_world=world, resolve=read_resolve(resolve), serving=serving, as_json=as_json)


def _run(home: Path, *, is_world: bool, resolve: Mapping[str, str], serving: Serving, as_json: bool) -> int:
    from contextlib import ExitStack

    import anyio

    from sayso.apps.cli.host_passphrase import ask_passphrase
    from sayso.apps.cli.logs import log_to_stderr
    from sayso.apps.host_home import SETTINGS, opening_desk
    from sayso.apps.serving import run_server, settle_in

    log_to_stderr()

    with ExitStack() as stack:
        is_host = not is_world and (home / SETTINGS).is_file()
        host = stack.enter_context(opening_desk(home, None, ask_passphrase, to_serve=True)) if is_host else None

        async def serve() -> None:
            import signal

            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async with _place(home, resolve, is_world=is_world) as house, serving(house, host) as addresses:
                    settle_in()
                    _announce(addresses, as_json=as_json)
                    async for _ in signals:
                        break

        run_server(serve)
    return DONE


@asynccontextmanager
async def _place(home: Path, resolve: Mapping[str, str], *, is_world: bool) -> AsyncIterator[House]:
    """The house; in the sample world with its hosts running and its clock going."""
    from sayso.apps.house import Wishes
    from sayso.apps.place import open_place
    from sayso.world.timekeeping import set_running

    async with open_place(home, is_world=is_world, wishes=Wishes(), told=sys.stderr, resolve=resolve) as house:
        if not is_world:
            yield house
            return
        set_running(home, runs=True)
        try:
            yield house
        finally:
            set_running(home, runs=False)


def _announce(addresses: Addresses, *, as_json: bool) -> None:
    from sayso.core import strictjson

    if as_json:
        sys.stdout.write(strictjson.encode(addresses).decode() + "\n")
    else:
        if addresses.hub is not None:
            click.echo(f"hub      {addresses.hub}")
        click.echo(f"doors    {addresses.doors}")
        for name, path in _PATHS:
            click.echo(f"         {addresses.doors}{path}  ({name})")
        for domain in addresses.served:
            click.echo(f"         https://{domain} is served there too")
        if addresses.console is not None:
            click.echo(f"console  {addresses.console}")
            click.echo("Make yourself a console user once: sayso console user add NAME")
        click.echo("Stop with Ctrl-C.")
    sys.stdout.flush()
