"""`sayso world`: the sample world of a home, its hosts on loopback and its clock."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sayso.apps.cli.world_demo import demo

if TYPE_CHECKING:
    from anyio import CancelScope

__all__ = ("world",)

_home = click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="SAYSO_HOME",
    default=Path("~/.sayso"),
    show_default="$SAYSO_HOME, else ~/.sayso",
    help="The home whose world is meant.",
)


@click.group()
def world() -> None:
    """The sample world: hosts on loopback with their own clock.

    It lives in the folder `world` of a home, with keys, bookings and receipts of its own; nothing in it is real.
    """


world.add_command(demo)


@world.command()
@_home
@click.option("--port-base", type=click.IntRange(1024, 65_000), help="The first port; free ones are taken without it.")
@click.option("--json", "as_json", is_flag=True, help="For programs: one JSON line when everything answers.")
@click.option("--until-eof", is_flag=True, help="For programs: stop as well when standard input ends.")
def serve(home: Path, port_base: int | None, *, as_json: bool, until_eof: bool) -> None:
    """Serve every host of the world until stopped (Ctrl-C or SIGTERM)."""
    import functools

    from sayso.apps.serving import run_server

    serving = functools.partial(_serve, home.expanduser(), port_base, as_json=as_json, until_eof=until_eof)
    run_server(serving)


async def _serve(home: Path, port_base: int | None, *, as_json: bool, until_eof: bool) -> None:
    import signal

    import anyio

    from sayso.apps.serving import settle_in
    from sayso.world.serve import serving_world

    # Set up first: a signal that comes while the world starts ends it as it should, too.
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with serving_world(home, port_base=port_base) as ports, anyio.create_task_group() as tasks:
            if until_eof:
                tasks.start_soon(_cancel_at_eof, tasks.cancel_scope)
            settle_in()
            _announce(home, dict(ports), as_json=as_json)
            async for _ in signals:
                tasks.cancel_scope.cancel()


async def _cancel_at_eof(scope: CancelScope) -> None:
    """Ends with the program that started us, however that one ends: its end of the pipe closes."""
    import os

    import anyio

    while True:
        await anyio.wait_readable(sys.stdin.fileno())
        if not os.read(sys.stdin.fileno(), 4096):
            scope.cancel()
            return


def _announce(home: Path, ports: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        from sayso.core import strictjson
        from sayso.world.process import Ready

        sys.stdout.write(strictjson.encode(Ready(ready=True, ports=ports)).decode() + "\n")
    else:
        from sayso.core.instants import write_instant
        from sayso.world.timekeeping import open_clock

        for name, address in ports.items():
            click.echo(f"https://{name}  is served at  http://{address}")
        click.echo(f"The world's clock stands at {write_instant(open_clock(home).now())}. Stop with Ctrl-C.")
    sys.stdout.flush()


@world.command()
@_home
@click.argument("to", required=False, metavar="[INSTANT|+DURATION]")
@click.option("--run/--stand", "runs", default=None, help="Let it go on by itself from there, or stop it there.")
def clock(home: Path, to: str | None, *, runs: bool | None) -> None:
    """Show the world's clock, or move it forward.

    An instant has an offset (2026-10-15T13:00:00-04:00); a duration is added to where it stands (+PT5M, +P1D). It
    stands still unless it is set running.
    """
    from sayso.core.instants import write_instant
    from sayso.world.timekeeping import move_clock, open_clock, set_running

    where = home.expanduser()
    now = open_clock(where).now() if to is None else move_clock(where, to)
    click.echo(write_instant(now if runs is None else set_running(where, runs=runs)))


@world.command()
@_home
def ports(home: Path) -> None:
    """Show which name is served where, if the world is running."""
    import anyio

    from sayso.core import strictjson
    from sayso.core.refusal import Refused
    from sayso.world.process import find_world

    found = anyio.run(find_world, home.expanduser())
    if found is None:
        raise Refused.because("world_not_running", "This world is not running.", help="Start it: sayso world serve")
    click.echo(strictjson.encode(dict(found)).decode())


if __name__ == "__main__":
    world()
