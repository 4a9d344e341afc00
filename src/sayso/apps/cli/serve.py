"""`sayso serve` and its other name `sayso hub`: the hub over HTTP or our own pipes, or one adapter as an endpoint."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sayso.apps.cli.main import DONE, REFUSED
from sayso.apps.cli.options import home_option, world_option

if TYPE_CHECKING:
    import anyio

    from sayso.apps.offering import Served, Wanted
    from sayso.control.hub.bindings.stdio import StdioEnd
    from sayso.control.hub.hub import Hub
    from sayso.net.ownpipes import LineInput, LineOutput

__all__ = ("serve",)

_ADDRESS = "127.0.0.1:6270"
_HISTORY = "sessions.jsonl"
_ROLES = ("agent", "agent,provider", "provider")
_INPUT, _OUTPUT, _ERRORS = 0, 1, 2


@click.command()
@click.argument("role", required=False, metavar="[agent]")
@home_option
@world_option
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The registry document: adapters, and tool sources that may be attached.",
)
@click.option("--addr", metavar="HOST:PORT", help=f"Where to listen; {_ADDRESS} unless given. Port 0 takes any.")
@click.option("--stdio", is_flag=True, help="Speak over standard input and output instead.")
@click.option("--backend", metavar="NAME", help="For `agent`: which adapter; the built-in loop `sayso` unless given.")
@click.option(
    "--session-history",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help=f"Where the hub keeps which sessions it has run; {_HISTORY} in the home unless given.",
)
def serve(
    role: str | None,
    home: Path,
    world: bool,
    config: Path | None,
    addr: str | None,
    stdio: bool,
    backend: str | None,
    session_history: Path | None,
) -> int:
    """Serve agents over the Open Agent Protocol.

    `sayso serve` is the hub: many sessions, over HTTP on loopback or, with --stdio, for the program that started it.
    Without --config it serves the reference adapter `memory` alone. `sayso serve agent` is one adapter that speaks the
    protocol's own lines on standard input and output.

    There is no authentication: whoever can reach it can talk to the agent, and can book nothing, because a booking
    needs a document signed with your key. Ends with Ctrl-C, SIGTERM, or the end of input.
    """
    from sayso.apps.cli.logs import log_to_stderr
    from sayso.apps.offering import Wanted

    log_to_stderr()
    if role is None:
        if backend is not None:
            raise click.UsageError("--backend belongs to `sayso serve agent`; a hub takes adapters from --config")
        wanted = Wanted(home=home, is_world=world, config=config)
        history = session_history or home / _HISTORY
        if stdio:
            if addr is not None:
                raise click.UsageError("--stdio and --addr are two transports; choose one")
            _verify_pipes()
            return _run(_hub_over_stdio, wanted, history)
        address = read_address(addr or _ADDRESS)
        return _run(_hub_over_http, wanted, history, address)
    _verify_role(role)
    if addr is not None or session_history is not None:
        raise click.UsageError(
            "`sayso serve agent` speaks on standard input and output: no --addr, no --session-history"
        )
    wanted = Wanted(home=home, is_world=world, config=config, backend=_verified_backend(backend or "sayso"))
    _verify_pipes()
    return _run(_endpoint, wanted)


def read_address(addr: str) -> tuple[str, int]:
    """`HOST:PORT`, an IPv6 host in brackets. Raises a usage error that says which part is wrong."""
    host, colon, port = addr.rpartition(":")
    if not colon or not host:
        raise click.UsageError(f"--addr {addr}: write it as HOST:PORT, for example {_ADDRESS}")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise click.UsageError(f"--addr {addr}: an IPv6 address stands in brackets, [::1]:6270")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise click.UsageError(f"--addr {addr}: {port!r} is no port")
    return host.strip("[]"), int(port)


def _verify_pipes() -> None:
    """A number that was closed would be taken by the next file that is opened here, and then read as the host."""
    from sayso.core.refusal import Refused

    if sys.stdin is None or sys.stdout is None:
        raise Refused.because("cannot_start", "standard input or output is closed, and a host speaks on both")


def _verify_role(role: str) -> None:
    from sayso.core.refusal import Refused

    if role not in _ROLES:
        raise click.UsageError(f"no role is called {role}; the roles are {', '.join(_ROLES)}")
    if role != "agent":
        raise Refused.because("unavailable", f"the role {role} is not in this build", help="`sayso serve agent` is.")


def _verified_backend(backend: str) -> str:
    from sayso.control.hub.registry_loading import BACKENDS
    from sayso.core.refusal import Refused

    if backend not in BACKENDS:
        raise click.UsageError(f"no backend is called {backend}; the backends are {', '.join(BACKENDS)}")
    if backend not in ("memory", "sayso"):
        raise Refused.because(
            "unavailable", f"the backend {backend} is not in this build", help="Here are memory and sayso."
        )
    return backend


def _run(serving: Callable[..., Awaitable[int]], *arguments: object) -> int:
    """Runs to the end of the work or the first signal, which ends it in order."""
    import importlib.util

    import anyio

    async def main() -> int:
        import asyncio
        import signal

        stop = anyio.Event()
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, stop.set)
        return await serving(stop, *arguments)

    return anyio.run(main, backend_options={"use_uvloop": importlib.util.find_spec("uvloop") is not None})


async def _hub_over_http(stop: anyio.Event, wanted: Wanted, history: Path, address: tuple[str, int]) -> int:
    from sayso.apps.offering import open_offer
    from sayso.control.hub.bindings.http import is_loopback, serving_hub

    host, port = address
    async with (
        open_offer(wanted) as offer,
        _hub(offer, history) as hub,
        serving_hub(hub, offer.ids, host=host, port=port) as bound,
    ):
        if not is_loopback(host):
            click.echo(
                f"Warning: {host} is not loopback. Nobody is asked who they are: whoever reaches {bound} drives these "
                "agents. This is not supported.",
                err=True,
            )
        click.echo(f"hub: {bound.url}")
        sys.stdout.flush()
        await stop.wait()
    return DONE


async def _hub_over_stdio(stop: anyio.Event, wanted: Wanted, history: Path) -> int:
    from sayso.apps.offering import open_offer
    from sayso.control.hub.bindings.stdio import Bounds, HubOverStdio

    output_descriptor, bounds = _own_output(), Bounds()
    async with open_offer(wanted) as offer, _hub(offer, history) as hub:
        lines, output = _pipes(output_descriptor, bounds.frame, bounds.queued_lines)
        names = ", ".join(name for name, _ in offer.registry)
        click.echo(f"hub over stdio: {names}", err=True)
        end = await HubOverStdio(hub, lines, output, bounds).serve(stop)
    return _told(end)


async def _endpoint(stop: anyio.Event, wanted: Wanted) -> int:
    from sayso.apps.offering import open_offer
    from sayso.control.endpoint.endpoint import EndpointBounds, EndpointOverStdio
    from sayso.control.hub.hub import Hub

    output_descriptor, bounds = _own_output(), EndpointBounds()
    async with open_offer(wanted) as offer, Hub(offer.registry, clock=offer.clock, ids=offer.ids) as hub:
        lines, output = _pipes(output_descriptor, bounds.line, bounds.queued_lines)
        endpoint = EndpointOverStdio(hub, str(wanted.backend), lines, output, ids=offer.ids, bounds=bounds)
        end = await endpoint.serve(stop)
    return _told(end)


def _hub(offer: Served, history: Path) -> Hub:
    from sayso.control.hub.history_file import HistoryFile
    from sayso.control.hub.hub import Hub

    kept = HistoryFile(history, issuer=offer.ids.new("hub"))
    return Hub(offer.registry, clock=offer.clock, ids=offer.ids, history=kept)


def _own_output() -> int:
    """Standard output for the protocol alone: what anything else prints goes to standard error from now on."""
    import os

    ours = os.dup(_OUTPUT)
    os.dup2(_ERRORS, _OUTPUT)
    return ours


def _pipes(output_descriptor: int, line_limit: int, queued_lines: int) -> tuple[LineInput, LineOutput]:
    from sayso.net.ownpipes import LineInput, LineOutput

    return LineInput(_INPUT, line_limit), LineOutput(output_descriptor, queued_lines)


def _told(end: StdioEnd) -> int:
    if end.is_clean:
        return DONE
    click.echo(f"{end.ending.value}: {end.message}", err=True)
    return REFUSED
