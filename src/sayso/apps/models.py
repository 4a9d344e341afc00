"""The models of a home: its providers, credentials and listings behind one port, and which model is meant."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from sayso.apps.home import Home
from sayso.control.provider.catalog.providers import Providers as Offered
from sayso.control.provider.catalog.providers import open_providers
from sayso.control.provider.catalog.rows import Row
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.credentials.store import CredentialStore
from sayso.control.provider.listings import Listings
from sayso.control.provider.planner.provider import MODEL, OfflinePlanner
from sayso.control.provider.service import Providers
from sayso.core.ids import SystemIds
from sayso.net.fetch import Fetcher

__all__ = ("MODEL_VARIABLE", "OFFLINE_NOTICE", "WORLD_NOTICE", "Models", "open_models")

MODEL_VARIABLE = "SAYSO_MODEL"
OFFLINE_NOTICE = (
    "No model provider is signed in, so the offline planner answers: it is no language model and understands few "
    "words. To sign in: sayso auth login --provider ID"
)
WORLD_NOTICE = "In the sample world the offline planner answers, which is no language model; --model names another."


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """What a home knows of models."""

    home: Home
    service: Providers
    offered: Offered
    credentials: Credentials
    store: CredentialStore
    listings: Listings

    async def choose(self, asked: str | None, *, is_offline: bool = False) -> str:
        """The model that is meant: the one asked for, else the environment's, else the settings', else that of the
        first provider with a credential, else the offline planner. `is_offline`: the last, unless one was asked for.
        """
        named = asked or (None if is_offline else os.environ.get(MODEL_VARIABLE) or self.home.settings.model)
        if named is not None:
            return named
        return MODEL if is_offline else await self.service.first_model() or MODEL

    async def renew(self) -> None:
        """Brings the lists of models up to date, for whoever stays open. Nobody is asked where nobody is signed in."""
        if ready := await anyio.to_thread.run_sync(self._signed_in):
            await self.listings.renew(ready)

    def _signed_in(self) -> list[Row]:
        return [row for row in self.offered.offered if self.credentials.state(row).status == "authenticated"]


@asynccontextmanager
async def open_models(home: Home, *, environ: Mapping[str, str] | None = None) -> AsyncIterator[Models]:
    """Opens them; no network is touched. Refused `config_invalid` for a providers.json that cannot be used."""
    environ = os.environ if environ is None else environ
    offered, ids = open_providers(home.path), SystemIds()
    store = CredentialStore(home.path, environ)
    fetcher = partial(Fetcher, home.settings.resolve)
    credentials = Credentials(home.path, store, environ=environ, clock=home.clock, fetcher=fetcher)
    listings = Listings(home.path, offered.catalog, credentials, clock=home.clock, fetcher=fetcher)
    service = Providers(
        catalog=offered,
        credentials=credentials,
        planner=OfflinePlanner(ids),
        listings=listings,
        clock=home.clock,
        ids=ids,
    )
    async with service:
        yield Models(
            home=home, service=service, offered=offered, credentials=credentials, store=store, listings=listings
        )
