"""The provider profile as a service: every provider of a home behind one port, the offline planner last (OAP-130..132).

A model is named `<provider id>/<model>`, or as model-provider-core writes it, `<provider id>/<wire>@<model>`. The first
request for a model opens its wire, later ones use it again; `aclose` closes all. Whatever the request and the settings
alone decide is refused at create, and a refusal allocates nothing. The keyring may be asked and blocks while it is, so
that happens on another thread.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from functools import cached_property
from types import TracebackType
from typing import Self

import anyio
import anyio.to_thread
import structlog

from sayso.control.protocol.envelope import VERSION, ProviderEnvelope
from sayso.control.protocol.payloads.inference import (
    InferenceCancelRequest,
    InferenceCancelResponse,
    InferenceCreateRequest,
    InferenceCreateResponse,
    InferenceSyncRequest,
    InferenceSyncResponse,
    ProviderErrorCode,
)
from sayso.control.protocol.payloads.provider import (
    DescribeRequest,
    DescribeResponse,
    ModelEntry,
    ModelsListRequest,
    ModelsListResponse,
    ProviderAuthStatus,
)
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.provider.catalog.providers import Providers as Offered
from sayso.control.provider.catalog.rows import Row
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.describing import (
    describe_planner,
    describe_row,
    known_of,
    list_models,
    list_planner,
    wire_of,
)
from sayso.control.provider.listings import Listed, Listings
from sayso.control.provider.planner.provider import OfflinePlanner
from sayso.control.provider.recording import Recording
from sayso.control.provider.routing import Route, Routes, is_planner
from sayso.control.provider.wires import Waiting
from sayso.control.provider.writer import InferenceWriter
from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Corrupt, Refused
from sayso.proof.hashes import sha256_hex

__all__ = ("Providers",)

_log = structlog.get_logger(__name__)
_KEPT_CODES: frozenset[str] = frozenset(
    ("credential_missing", "credential_expired", "credential_rejected", "invalid_request", "unsupported_feature",
     "model_not_found")
)  # fmt: skip


class Providers:
    """Implements `provider.contract.ProviderService` over a home's providers. Use as `async with`, or `aclose` it.

    `planner` is the offline planner, or None to leave it out; `listings` knows the vendors' models; `tell` hears of
    each wait before a repeated attempt.
    """

    id = "sayso"
    """The name people and settings know it by."""

    def __init__(
        self,
        *,
        catalog: Offered,
        credentials: Credentials,
        planner: OfflinePlanner | None = None,
        listings: Listings | None = None,
        clock: Clock,
        ids: Ids,
        tell: Callable[[Waiting], None] | None = None,
    ) -> None:
        self._catalog = catalog
        self._credentials = credentials
        self._planner = planner
        self._listings = listings
        self._ids = ids
        self._routes = Routes(catalog, credentials, listings, clock=clock, ids=ids, tell=tell)
        self._recording = Recording(ids)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stops what is under way and closes every wire."""
        await self._routes.aclose()

    # --- discovery ---------------------------------------------------------------------------------------------------

    async def describe(self, request: ProviderEnvelope[DescribeRequest]) -> ProviderEnvelope[DescribeResponse]:
        return ProviderEnvelope(
            type="provider.describe.response",
            id=self._ids.new("env"),
            in_reply_to=request.id,
            capability_revision=self._revision,
            payload=self._description,
        )

    async def models(self, request: ProviderEnvelope[ModelsListRequest]) -> ProviderEnvelope[ModelsListResponse]:
        asked = request.payload.provider_id
        models = await anyio.to_thread.run_sync(self._list, None if asked is UNSET else asked)
        return ProviderEnvelope(
            type="provider.models.list.response",
            id=self._ids.new("env"),
            in_reply_to=request.id,
            capability_revision=self._revision,
            payload=ModelsListResponse(models=models),
        )

    async def first_model(self) -> str | None:
        """The model asked when nobody said which: of the first current provider that has a credential (OAP-212). A
        vendor whose models are not known yet is asked for them. None where there is no such provider or model.
        """
        for row in await anyio.to_thread.run_sync(self._ready):
            model = _first_of(row) if self._listings is None else await self._listings.choose(row)
            if model is not None:
                return f"{row.id}/{model}"
        return None

    async def verify(self, ref: str) -> None:
        """Whether a model could be asked as things stand. Refused: what `create` would be, before anything is sent."""
        await self._routes.release(await self._route(ref))

    # --- inferences --------------------------------------------------------------------------------------------------

    async def create(self, request: ProviderEnvelope[InferenceCreateRequest]) -> AsyncIterator[ProviderEnvelope[Wire]]:
        """One inference. Refused at create besides what its wire refuses: `model_not_found`, `credential_missing`,
        `credential_rejected`, `unsupported_feature` and, for settings that lead nowhere, `provider_unavailable`.
        """
        asked = request.payload
        try:
            if asked.credential_ref is not UNSET:
                raise _NO_GRANT
            route = await self._route(asked.model_ref)
        except (Refused, Corrupt) as error:
            yield InferenceWriter(request, self._ids).refuse(*_refused_as(error))
            return
        try:
            async with aclosing(self._recording.create(route.provider, request)) as envelopes:  # type: ignore[type-var]
                async for envelope in envelopes:
                    if isinstance(envelope.payload, InferenceCreateResponse) and _is_about_credentials(
                        envelope.payload
                    ):
                        await self._routes.forget(asked.model_ref)  # what is there by now may travel in another way
                    yield envelope
        finally:
            with anyio.CancelScope(shield=True):
                await self._routes.release(route)

    async def cancel(
        self, request: ProviderEnvelope[InferenceCancelRequest]
    ) -> ProviderEnvelope[InferenceCancelResponse]:
        return await self._recording.cancel(request)

    async def sync(self, request: ProviderEnvelope[InferenceSyncRequest]) -> ProviderEnvelope[InferenceSyncResponse]:
        return await self._recording.sync(request)

    async def _route(self, ref: str) -> Route:
        if self._planner is not None and is_planner(ref):
            return Route(self._planner)
        return await self._routes.open(ref)

    # --- off the event loop ------------------------------------------------------------------------------------------

    @cached_property
    def _description(self) -> DescribeResponse:
        rows = tuple(describe_row(row, self._credentials.environ) for row in self._catalog.offered)
        planner = () if self._planner is None else (describe_planner(),)
        return DescribeResponse(providers=(*rows, *planner), protocol_versions=(VERSION,))

    @cached_property
    def _revision(self) -> str:
        return f"providers-{sha256_hex(strictjson.encode(self._description))[:16]}"

    def _list(self, provider_id: str | None) -> tuple[ModelEntry, ...]:
        models: list[ModelEntry] = []
        for row in self._catalog.offered:
            if provider_id in (None, row.id):
                models += list_models(row, self._known(row), self._status(row))
        if self._planner is not None and provider_id in (None, self._planner.id):
            models += list_planner()
        return tuple(models)

    def _status(self, row: Row) -> ProviderAuthStatus:
        try:
            status = self._credentials.state(row).status
        except (Refused, Corrupt) as error:
            _log.warning("credential_unreadable", provider=row.id, error=type(error).__name__)
            return "failed"
        # The two states of a login under way are never told here: they would be stale before they are read.
        return "unknown" if status == "refreshing" or status == "login_in_progress" else status

    def _ready(self) -> list[Row]:
        rows = [row for row in self._catalog.offered if row.status == "current" and wire_of(row) is not None]
        return [row for row in rows if self._status(row) == "authenticated"]

    def _known(self, row: Row) -> Sequence[Listed]:
        return known_of(row) if self._listings is None else self._listings.known(row)


_ABOUT_CREDENTIALS = ("credential_missing", "credential_rejected", "credential_expired")
_NO_GRANT = Refused.because("credential_missing", "no credential was granted here, so none can be referred to")


def _is_about_credentials(payload: Wire) -> bool:
    if not isinstance(payload, InferenceCreateResponse) or payload.error is UNSET:
        return False
    return payload.error.code in _ABOUT_CREDENTIALS


def _first_of(row: Row) -> str | None:
    return row.models[0].id if row.models else None


def _refused_as(error: Refused | Corrupt) -> tuple[ProviderErrorCode, str]:
    """A refusal of the catalog or of the credentials in the profile's codes."""
    if isinstance(error, Corrupt):
        _log.error("credential_corrupt", place=error.place)
        return "credential_rejected", "what is kept of the credentials here cannot be read"
    refusal = error.refusal
    if refusal.code == "unknown_provider":
        return "model_not_found", str(refusal)
    if refusal.code == "file_not_private":
        return "credential_rejected", str(refusal)
    code = refusal.code if refusal.code in _KEPT_CODES else "provider_unavailable"
    return code, str(refusal)  # type: ignore[return-value]
