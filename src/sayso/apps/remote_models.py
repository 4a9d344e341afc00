"""A provider service somewhere else, as the only one that a home's loop asks (OAP-138)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sayso.apps.home import Home
from sayso.apps.models import MODEL_VARIABLE
from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.provider import ModelsListRequest
from sayso.control.provider.bindings.http_carriage import HttpCarriage
from sayso.control.provider.bindings.service_address import ServiceAddress
from sayso.control.provider.contract import ProviderService
from sayso.control.provider.remote import RemoteProviders
from sayso.core.ids import SystemIds
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused

__all__ = ("open_remote",)

_UNUSABLE = ("login_required", "expired", "failed")


@asynccontextmanager
async def open_remote(remote: ServiceAddress, home: Home) -> AsyncIterator[tuple[ProviderService, str]]:
    """The service, and its model that is asked where nobody says which: the person's choice, else its first that has a
    credential, else its first that is not known to need one.

    Refused `cannot_start`: it does not say which models it has, or none of them can be asked.
    """
    async with RemoteProviders(HttpCarriage(remote), ids=SystemIds()) as service:
        named = os.environ.get(MODEL_VARIABLE) or home.settings.model
        yield service, named or await _first(service, remote)


async def _first(service: ProviderService, remote: ServiceAddress) -> str:
    id_ = SystemIds().new("req")
    request = ProviderEnvelope(type="provider.models.list.request", id=id_, payload=ModelsListRequest())
    try:
        models = (await service.models(request)).payload.models
    except (PeerUnreachable, PeerRefused) as error:
        raise Refused.because("cannot_start", str(error), help="Start the provider service first.") from None
    usable = [model for model in models if model.auth_status not in _UNUSABLE]
    if not usable:
        message = f"{remote.origin} lists no model that can be asked now"
        raise Refused.because("cannot_start", message, help=f"Name one in {MODEL_VARIABLE}.")
    ready = [model for model in usable if model.auth_status == "authenticated"]
    return (ready or usable)[0].model_ref
