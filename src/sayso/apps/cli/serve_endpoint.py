"""`sayso serve agent`, `serve provider` and `serve agent,provider`: endpoints for whoever starts or reaches them."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from sayso.apps.cli.main import DONE
from sayso.apps.cli.serve_running import own_output, pipes, serve_to_end, told, verify_pipes

if TYPE_CHECKING:
    from pathlib import Path

    import anyio

    from sayso.apps.offering import Wanted
    from sayso.control.provider.bindings.service_address import ServiceAddress

__all__ = ("serve_agent", "serve_both", "serve_provider_http", "serve_provider_stdio", "serve_specimens")


def serve_agent(wanted: Wanted) -> int:
    """The loop or one adapter, over a remote provider service where the environment names one."""
    verify_pipes()
    return serve_to_end(_endpoint, replace(wanted, remote=_service()), False)


def serve_both(wanted: Wanted) -> int:
    """The loop and the provider profile on one pipe. The remote service is refused: the provider half would then show
    another provider than the loop asks.
    """
    import os

    from sayso.control.provider.bindings.service_address import SECURITY_VARIABLE, URL_VARIABLE

    for name in (URL_VARIABLE, SECURITY_VARIABLE):
        if os.environ.get(name):
            raise click.UsageError(f"{name} goes with `sayso serve agent`, and not with agent,provider")
    verify_pipes()
    return serve_to_end(_endpoint, wanted, True)


def serve_provider_stdio(home: Path, *, world: bool) -> int:
    """The provider profile over our own pipes."""
    verify_pipes()
    return serve_to_end(_provider_over_stdio, home, world)


def serve_provider_http(home: Path, *, world: bool, address: tuple[str, int]) -> int:
    """The provider profile over HTTP, on loopback."""
    from sayso.control.provider.bindings.service_address import is_literal_loopback

    if not is_literal_loopback(address[0]):
        raise click.UsageError(
            f"--http {address[0]}: a provider service listens on a loopback address such as 127.0.0.1; to serve "
            "others, put a proxy in front that encrypts and knows its clients"
        )
    return serve_to_end(_provider_over_http, home, world, address)


def serve_specimens(home: Path, *, world: bool) -> int:
    """One sample of each envelope type, a line each."""
    return serve_to_end(_specimens, home, world)


def _service() -> ServiceAddress | None:
    """Raises a usage error for half a setting, or one that contradicts itself."""
    import os

    from sayso.control.provider.bindings.service_address import read_service
    from sayso.core.refusal import Refused

    try:
        return read_service(os.environ)
    except Refused as refused:
        raise click.UsageError(str(refused)) from None


async def _endpoint(stop: anyio.Event, wanted: Wanted, is_both: bool) -> int:
    from sayso.apps.endpoint_home import open_endpoint
    from sayso.control.endpoint.endpoint import EndpointBounds, EndpointOverStdio
    from sayso.control.endpoint.providers import ProviderLines
    from sayso.control.hub.hub import Hub

    output_descriptor, bounds = own_output(), EndpointBounds()
    async with open_endpoint(wanted, with_providers=is_both) as served:
        offer = served.offer
        async with Hub(offer.registry, clock=offer.clock, ids=offer.ids, history=served.history) as hub:
            lines, output = pipes(output_descriptor, bounds.line, bounds.queued_lines)
            providers = None
            if served.providers is not None:
                providers = ProviderLines(served.providers, output, ids=offer.ids, bounds=bounds)
            endpoint = EndpointOverStdio(
                hub, str(wanted.backend), lines, output, ids=offer.ids, bounds=bounds, providers=providers
            )
            end = await endpoint.serve(stop)
    return told(end)


async def _provider_over_stdio(stop: anyio.Event, home: Path, world: bool) -> int:
    from sayso.apps.home import open_home
    from sayso.apps.models import open_models
    from sayso.control.endpoint.connection import EndpointBounds
    from sayso.control.endpoint.providers import ProviderOverStdio
    from sayso.core.ids import SystemIds

    output_descriptor, bounds = own_output(), EndpointBounds()
    async with open_models(open_home(home, is_world=world)) as models:
        lines, output = pipes(output_descriptor, bounds.line, bounds.queued_lines)
        endpoint = ProviderOverStdio(models.service, lines, output, ids=SystemIds(), bounds=bounds)
        end = await endpoint.serve(stop)
    return told(end)


async def _provider_over_http(stop: anyio.Event, home: Path, world: bool, address: tuple[str, int]) -> int:
    from sayso.apps.home import open_home
    from sayso.apps.models import open_models
    from sayso.control.provider.bindings.http import serving_provider
    from sayso.control.provider.bindings.service_address import PATH
    from sayso.core.ids import SystemIds

    host, port = address
    async with (
        open_models(open_home(home, is_world=world)) as models,
        serving_provider(models.service, SystemIds(), host=host, port=port) as bound,
    ):
        click.echo(f"provider: {bound.url}{PATH}")
        sys.stdout.flush()
        await stop.wait()
    return DONE


async def _specimens(stop: anyio.Event, home: Path, world: bool) -> int:
    from sayso.apps.home import open_home
    from sayso.apps.models import open_models
    from sayso.control.protocol.envelope import write_envelope
    from sayso.control.provider.bindings.specimens import specimens
    from sayso.core.ids import SystemIds

    async with open_models(open_home(home, is_world=world)) as models:
        async for envelope in specimens(models.service, SystemIds()):
            click.echo(write_envelope(envelope))
    return DONE
