"""The models a session may run with: what the provider knew of them when the session opened (OAP-067..071, OAP-163).

A catalog binds: within one capability revision it does not change, a model it lists is never refused as not found, and
one it leaves out always is. So it is read once, and a model that becomes known later is in the catalogs of sessions
opened later. A provider that lists nothing offers the one model the loop was made for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import structlog

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.models import ModelDescriptor, SessionProvider
from sayso.control.protocol.payloads.provider import ModelEntry, ModelsListRequest, ModelsListResponse
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.provider.contract import Provider
from sayso.core.ids import Ids
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused

__all__ = ("Catalog", "read_catalog")

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Catalog:
    """Models by their reference, in the provider's order."""

    models: Mapping[str, ModelDescriptor]

    def window(self, model_ref: str) -> int | None:
        """The model's context window in tokens, if it is known."""
        model = self.models.get(model_ref)
        return None if model is None or model.context_window is UNSET else model.context_window

    def having(self, model_ref: str) -> Catalog:
        """The same catalog with this model in it, whatever the provider knows today: a conversation keeps its own."""
        if model_ref in self.models:
            return self
        return Catalog({model_ref: ModelDescriptor(id=model_ref), **self.models})

    @property
    def providers(self) -> tuple[SessionProvider, ...]:
        """Who stands behind the models, each once."""
        names = (model.provider_id for model in self.models.values() if model.provider_id is not UNSET)
        return tuple(SessionProvider(id=name) for name in dict.fromkeys(names))


@runtime_checkable
class _ListsModels(Protocol):
    """A provider that is a service: it says which models it has."""

    async def models(self, request: ProviderEnvelope[ModelsListRequest]) -> ProviderEnvelope[ModelsListResponse]: ...


async def read_catalog(provider: Provider, default: str, ids: Ids) -> Catalog:
    """What the provider knows now; `default` is in it and marked."""
    listed: Iterable[ModelEntry] = ()
    if isinstance(provider, _ListsModels):
        request = ProviderEnvelope(type="provider.models.list.request", id=ids.new("req"), payload=ModelsListRequest())
        try:
            listed = (await provider.models(request)).payload.models
        except (Refused, PeerRefused, PeerUnreachable) as error:
            # A session can be had without the list: with the model the loop was made for.
            _log.warning("models_not_listed", provider=provider.id, error=type(error).__name__)
    models = {entry.model_ref: _described(entry, default) for entry in listed}
    if default in models:
        return Catalog(models)
    return Catalog({default: ModelDescriptor(id=default, default=True), **models})


def _described(entry: ModelEntry, default: str) -> ModelDescriptor:
    return ModelDescriptor(
        id=entry.model_ref,
        display_name=entry.display_name,
        provider_id=entry.provider_id,
        context_window=entry.context_window,
        default=True if entry.model_ref == default else UNSET,
    )
