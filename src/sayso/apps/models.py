"""The models of a home: its providers, credentials and listings behind one port, and which model is meant."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
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
from sayso.core.refusal import Corrupt, Refused
from sayso.net.fetch import Fetcher

__all__ = ("MODEL_VARIABLE", "OFFLINE_NOTICE", "WORLD_NOTICE", "Models", "open_models")

MODEL_VARIABLE = "SAYSO_MODEL"
OFFLINE_NOTICE = (
    "No model is named, and none of a provider you are signed in to could be chosen, so the offline planner answers: "
    "it is no language model and understands few words. To sign in: sayso auth login --provider ID. To name a model: "
    "--model PROVIDER/MODEL"
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

        Refused `file_not_private`, `config_invalid`: credentials that cannot be read are not taken for none.
        """
        environ = self.credentials.environ
        named = asked or (None if is_offline else environ.get(MODEL_VARIABLE) or self.home.settings.model)
        if named is not None or is_offline:
            return named or MODEL
        if (found := await self.service.first_model()) is not None:
            return found
        await anyio.to_thread.run_sync(self._verify_store)
        return MODEL

    def _verify_store(self) -> None:
        try:
            self.store.verify()
        except Corrupt as damaged:
            raise Refused.because(
                "config_invalid",
                "The stored credentials cannot be read",
                place=damaged.place,
                help="Remove that file, and sign in again: sayso auth login --provider ID",
            ) from None

    async def renew(self) -> None:
        """Brings the lists of models up to date, for whoever stays open. Nobody is asked where nobody is signed in, and
        nobody is told of a store that cannot be read: whoever uses it is.
        """
        if ready := await anyio.to_thread.run_sync(self._signed_in):
            await self.listings.renew(ready)

    def _signed_in(self) -> list[Row]:
        with suppress(Refused, Corrupt):
            return self.credentials.ready(self.offered.offered)
        return []


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
