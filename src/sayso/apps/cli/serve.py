"""`sayso serve` and its other name `sayso hub`: the hub over HTTP or our own pipes, and the roles of an endpoint."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sayso.apps.cli.main import DONE
from sayso.apps.cli.options import home_option, world_option
from sayso.apps.cli.serve_running import own_output, pipes, read_address, serve_to_end, told, verify_pipes
from sayso.apps.home import SESSIONS_FILE

if TYPE_CHECKING:
    import anyio

    from sayso.apps.offering import Served, Wanted
    from sayso.control.hub.hub import Hub

__all__ = ("serve",)

_ADDRESS = "127.0.0.1:6270"
_PROVIDER_ADDRESS = "127.0.0.1:8080"
_ROLES = ("agent", "agent,provider", "provider")


@click.command()
@click.argument("role", required=False, metavar="[agent|provider|agent,provider]")
@home_option
@world_option
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The registry document: adapters, and tool sources that may be attached.",
)
@click.option("--addr", metavar="HOST:PORT", help=f"Where the hub listens; {_ADDRESS} unless given. Port 0 takes any.")
@click.option("--stdio", is_flag=True, help="Speak over standard input and output instead.")
@click.option("--http", metavar="HOST:PORT", help=f"For `provider`: listen on loopback, such as {_PROVIDER_ADDRESS}.")
@click.option("--specimens", is_flag=True, help="For `provider`: print one sample of each envelope it sends, and end.")
@click.option("--backend", metavar="NAME", help="For `agent`: which adapter; the built-in loop `sayso` unless given.")
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="For the loop `sayso`: the folder of its file tools. Over HTTP no session gets another.",
)
@click.option(
    "--permission",
    type=click.Choice(["ask", "bypass"]),
    default="ask",
    show_default=True,
    help="For the loop `sayso`: whether each change is asked about. Over HTTP no session gets more.",
)
@click.option(
    "--session-history",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help=f"Where the hub keeps which sessions it has run; {SESSIONS_FILE} in the home unless given.",
)
def serve(
    role: str | None,
    home: Path,
    world: bool,
    config: Path | None,
    addr: str | None,
    stdio: bool,
    http: str | None,
    specimens: bool,
    backend: str | None,
    workspace: Path | None,
    permission: str,
    session_history: Path | None,
) -> int:
    """Serve agents and models over the Open Agent Protocol.

    `sayso serve` is the hub: many sessions, over HTTP on loopback or, with --stdio, for the program that started it.
    Without --config it serves the reference adapter `memory` alone. `sayso serve agent` is one adapter that speaks the
    protocol's own lines on standard input and output, `sayso serve provider` your model providers, and
    `sayso serve agent,provider` both on one pipe.

    There is no authentication: whoever can reach it can talk to the agent. They can book nothing, because a booking
    needs a document signed with your key, and work in no folder but that of --workspace. Ends with Ctrl-C, SIGTERM, or
    the end of input.
    """
    from sayso.apps.cli.logs import log_to_stderr
    from sayso.apps.offering import Wanted

    log_to_stderr()
    named = None if role is None else ",".join(sorted(role.split(",")))
    wanted = Wanted(
        home=home,
        is_world=world,
        config=config,
        workspace=None if workspace is None else workspace.resolve(),
        permission="bypass" if permission == "bypass" else "ask",
    )
    given = {"--addr": addr, "--http": http, "--specimens": specimens, "--backend": backend, "--config": config,
             "--session-history": session_history}  # fmt: skip
    _verify_options(named, role, {option for option, value in given.items() if value})
    if named is None:
        return _serve_hub(
            replace(wanted, is_confined=not stdio), addr, session_history or home / SESSIONS_FILE, stdio=stdio
        )
    if named == "provider":
        return _serve_provider(home, http, world=world, stdio=stdio, specimens=specimens)
    from sayso.apps.cli.serve_endpoint import serve_agent, serve_both

    wanted = replace(wanted, backend=_verified_backend(backend or "sayso"))
    return serve_agent(wanted) if named == "agent" else serve_both(wanted)


def _verify_options(named: str | None, role: str | None, given: set[str]) -> None:
    """Each role's options; the rest are a usage error that says whose they are."""
    if named is None:
        if given & {"--backend"}:
            raise click.UsageError("--backend belongs to `sayso serve agent`; a hub takes adapters from --config")
        if found := given & {"--http", "--specimens"}:
            raise click.UsageError(f"{min(found)} belongs to `sayso serve provider`; the hub listens at --addr")
        return
    if named not in _ROLES:
        raise click.UsageError(f"no role is called {role}; the roles are {', '.join(_ROLES)}")
    if found := given & {"--addr", "--session-history"}:
        raise click.UsageError(f"{min(found)} is the hub's: `sayso serve {named}` has no --addr, no --session-history")
    if named == "provider":
        if found := given & {"--backend", "--config"}:
            raise click.UsageError(
                f"{min(found)} is an agent's: a provider service serves what `sayso providers` lists"
            )
    elif found := given & {"--http", "--specimens"}:
        raise click.UsageError(f"{min(found)} belongs to `sayso serve provider`; {named} speaks on its pipes")


def _serve_hub(wanted: Wanted, addr: str | None, history: Path, *, stdio: bool) -> int:
    if stdio:
        if addr is not None:
            raise click.UsageError("--stdio and --addr are two transports; choose one")
        verify_pipes()
        return serve_to_end(_hub_over_stdio, wanted, history)
    return serve_to_end(_hub_over_http, wanted, history, read_address("--addr", addr or _ADDRESS, _ADDRESS))


def _serve_provider(home: Path, http: str | None, *, world: bool, stdio: bool, specimens: bool) -> int:
    from sayso.apps.cli.serve_endpoint import serve_provider_http, serve_provider_stdio, serve_specimens

    if (http is not None) + stdio + specimens > 1:
        raise click.UsageError("--stdio, --http and --specimens are three things; choose one")
    if specimens:
        return serve_specimens(home, world=world)
    if http is None:
        return serve_provider_stdio(home, world=world)
    return serve_provider_http(home, world=world, address=read_address("--http", http, _PROVIDER_ADDRESS))


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

    output_descriptor, bounds = own_output(), Bounds()
    async with open_offer(wanted) as offer, _hub(offer, history) as hub:
        lines, output = pipes(output_descriptor, bounds.frame, bounds.queued_lines)
        names = ", ".join(name for name, _ in offer.registry)
        click.echo(f"hub over stdio: {names}", err=True)
        end = await HubOverStdio(hub, lines, output, bounds).serve(stop)
    return told(end)


def _hub(offer: Served, history: Path) -> Hub:
    from sayso.control.hub.history_file import HistoryFile
    from sayso.control.hub.hub import Hub

    kept = HistoryFile(history, issuer=offer.ids.new("hub"))
    return Hub(offer.registry, clock=offer.clock, ids=offer.ids, history=kept)
