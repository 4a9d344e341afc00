"""What an endpoint serves: one adapter, and the provider service its models come from (OAP-126, OAP-137..139).

The built-in loop needs no keys: a home that has them gives it the house's tools besides. Over a remote service the loop
asks nobody else for a model.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sayso.apps.offering import LOOP, Served, Wanted, open_offer
from sayso.control.provider.bindings.service_address import ServiceAddress
from sayso.control.provider.contract import ProviderService
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused

if TYPE_CHECKING:
    from sayso.apps.home import Home

__all__ = ("ServedEndpoint", "open_endpoint")

_UNUSABLE = ("login_required", "expired", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedEndpoint:
    """The adapter under its name, and the home's own provider service where that is served as well."""

    offer: Served
    providers: ProviderService | None


@asynccontextmanager
async def open_endpoint(
    wanted: Wanted, *, remote: ServiceAddress | None = None, with_providers: bool = False
) -> AsyncIterator[ServedEndpoint]:
    """Refused: what `open_offer`, `open_home` and `open_models` refuse; `cannot_start` for a remote service that does
    not say which models it has.
    """
    async with AsyncExitStack() as stack:
        if wanted.backend == LOOP and wanted.config is None:
            offer = await _open_loop(stack, wanted, remote)
        else:
            offer = await stack.enter_async_context(open_offer(wanted))
        providers = await _open_providers(stack, wanted) if with_providers else None
        yield ServedEndpoint(offer=offer, providers=providers)


async def _open_loop(stack: AsyncExitStack, wanted: Wanted, remote: ServiceAddress | None) -> Served:
    """Imports here: a house and a loop are slow to import, and most backends need neither."""
    from sayso.apps.agent_home import AgentWishes, open_loop  # noqa: PLC0415
    from sayso.apps.home import open_home  # noqa: PLC0415
    from sayso.apps.keys import has_keys  # noqa: PLC0415
    from sayso.control.hub.registry import Registry  # noqa: PLC0415
    from sayso.core.ids import SystemIds  # noqa: PLC0415
    from sayso.store.vault import Vault  # noqa: PLC0415

    house = None
    home = open_home(wanted.home, is_world=False)
    if wanted.is_world or has_keys(Vault(home.path, home.clock)):
        from sayso.apps.house import Wishes  # noqa: PLC0415
        from sayso.apps.place import open_place  # noqa: PLC0415

        house = await stack.enter_async_context(
            open_place(wanted.home, is_world=wanted.is_world, wishes=Wishes(), told=sys.stderr)
        )
        home = house.home
    service, model = (None, None) if remote is None else await _open_remote(stack, remote, home)
    wishes = AgentWishes(model=model, is_offline=wanted.is_world)
    loop = await stack.enter_async_context(open_loop(home, wishes, house=house, service=service))
    return Served(registry=Registry({LOOP: loop}), clock=home.clock, ids=SystemIds())


async def _open_remote(stack: AsyncExitStack, remote: ServiceAddress, home: Home) -> tuple[ProviderService, str]:
    """The service, and its model that is asked where nobody says which: the person's choice, else its first that has a
    credential, else its first that is not known to need one.
    """
    from sayso.apps.models import MODEL_VARIABLE  # noqa: PLC0415
    from sayso.control.protocol.envelope import ProviderEnvelope  # noqa: PLC0415
    from sayso.control.protocol.payloads.provider import ModelsListRequest  # noqa: PLC0415
    from sayso.control.provider.bindings.http_carriage import HttpCarriage  # noqa: PLC0415
    from sayso.control.provider.remote import RemoteProviders  # noqa: PLC0415
    from sayso.core.ids import SystemIds  # noqa: PLC0415

    ids = SystemIds()
    service = await stack.enter_async_context(RemoteProviders(HttpCarriage(remote), ids=ids))
    if chosen := os.environ.get(MODEL_VARIABLE) or home.settings.model:
        return service, chosen
    request = ProviderEnvelope(type="provider.models.list.request", id=ids.new("req"), payload=ModelsListRequest())
    try:
        models = (await service.models(request)).payload.models
    except (PeerUnreachable, PeerRefused) as error:
        raise Refused.because("cannot_start", str(error), help="Start the provider service first.") from None
    usable = [model for model in models if model.auth_status not in _UNUSABLE]
    if not usable:
        message = f"{remote.origin} lists no model that can be asked now"
        raise Refused.because("cannot_start", message, help=f"Name one in {MODEL_VARIABLE}.")
    ready = [model for model in usable if model.auth_status == "authenticated"]
    return service, (ready or usable)[0].model_ref


async def _open_providers(stack: AsyncExitStack, wanted: Wanted) -> ProviderService:
    from sayso.apps.home import open_home  # noqa: PLC0415 - see above
    from sayso.apps.models import open_models  # noqa: PLC0415

    home = open_home(wanted.home, is_world=wanted.is_world)
    return (await stack.enter_async_context(open_models(home))).service
