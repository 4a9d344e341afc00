"""Which models a provider has, as far as it is known on this machine (OAP-144, OAP-145, OAP-147).

Three say something: the row's own data, the vendor's listing, models.dev. What they said last lies in
`<home>/model_catalog` and is read at once; asking anew is for whoever has time (`renew`, in the background) or was told
to (`sayso providers models --refresh`). A copy is good for 24 hours, and an old one is better than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

import anyio
import anyio.to_thread
import msgspec
import structlog
from msgspec import Meta

from sayso.control.provider.catalog.facts import Address, address_of
from sayso.control.provider.catalog.limits import DevFacts, ListedFacts, model_facts, wire_for
from sayso.control.provider.catalog.listing import ListedModel
from sayso.control.provider.catalog.models_dev import CACHE_FOLDER, FRESH, ModelsDev
from sayso.control.provider.catalog.rows import Catalog, Row, WireName
from sayso.control.provider.credentials.files import write_whole
from sayso.control.provider.credentials.resolving import Credentials, header_of, missing
from sayso.control.provider.credentials.values import LAST_SECOND
from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.instants import epoch, from_epoch
from sayso.core.refusal import Corrupt, PeerRefused, PeerUnreachable, Refused
from sayso.net.fetch import Fetcher

__all__ = ("Listed", "Listings", "Source", "first_of")

Source = Literal["row", "listing", "models_dev"]

_VERSION = 1
_LARGEST = 16 * 1024 * 1024
_RENEW_SECONDS = 60.0
_AT_ONCE = 4
_DAY = 86_400
_NO_TALK = ("audio", "dall-e", "embed", "image", "moderation", "ocr", "realtime", "rerank", "sora", "speech",
            "transcribe", "tts", "veo", "video", "whisper")  # fmt: skip
_log = structlog.get_logger(__name__)


class Listed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model of a row; a fact that is None is unknown. `created` is seconds since 1970. `source` is who names the
    model at all: the row, the vendor's listing, or models.dev where there is no listing yet; `wire` the one of the
    row's wires that it is served on, where somebody says so.
    """

    id: str
    display_name: str | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    created: int | None = None
    is_deprecated: bool = False
    has_tools: bool | None = None
    is_chat: bool | None = None
    wire: WireName | None = None
    source: Source


class _Copy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    v: int
    fetched_at: Annotated[int, Meta(ge=0, le=LAST_SECOND)]
    url: str
    models: tuple[ListedModel, ...]


class Listings:
    """The lists of one home. `known`, `facts` and `default_model` never wait for a network."""

    def __init__(
        self, home: Path, catalog: Catalog, credentials: Credentials, *, clock: Clock, fetcher: Callable[[], Fetcher]
    ) -> None:
        self._folder = home / CACHE_FOLDER
        self._credentials = credentials
        self._clock = clock
        self._fetcher = fetcher
        self._dev = ModelsDev(home, catalog, clock=clock)
        self._copies: dict[str, _Copy] = {}

    # --- what is known -----------------------------------------------------------------------------------------------

    def known(self, row: Row) -> tuple[Listed, ...]:
        """The row's models: those of its data, then those of the vendor's listing, in their order. Without a listing
        models.dev's stand in, for a person to choose from.
        """
        listed = self._listed(row)
        dev = self._dev.models(row.models_dev)
        named: dict[str, Source] = dict.fromkeys((model.id for model in row.models), "row")
        for source, ids in (("listing", listed), ("models_dev", {} if listed else dev)):
            for id_ in ids:
                named.setdefault(id_, source)  # type: ignore[arg-type]
        return tuple(_listed(row, id_, source, listed.get(id_), dev.get(id_)) for id_, source in named.items())

    def facts(self, row: Row, model: str) -> tuple[ListedFacts | None, DevFacts | None]:
        """What the listing and models.dev say of one model, as `facts_for` takes it."""
        return self._listed(row).get(model), self._dev.known(row.models_dev, model)

    def default_model(self, row: Row) -> str | None:
        """Who is asked where nobody said whom; None: nothing is known of the row's models yet. See `first_of`."""
        if row.models:
            return row.models[0].id
        return first_of(self.known(row))

    def is_fresh(self, row: Row) -> bool:
        """Whether its listing is of the last 24 hours; one from the future is not."""
        copy = self._copy(row)
        return copy is not None and timedelta(0) <= self._clock.now() - from_epoch(copy.fetched_at) < FRESH

    # --- asking anew -------------------------------------------------------------------------------------------------

    async def choose(self, row: Row) -> str | None:
        """As `default_model`; where nothing is known yet the vendor is asked first, once, since it is about to be asked
        anyway, and models.dev if that leaves a choice. None: it told nothing. Never raises for what a vendor does.
        """
        found = await anyio.to_thread.run_sync(self.default_model, row)
        if found is not None:
            return found
        with anyio.move_on_after(_RENEW_SECONDS):
            await self._renew(row, anyio.CapacityLimiter(1))
            if row.models_dev is not None and len(self.known(row)) != 1:
                async with self._fetcher() as fetcher:
                    await self._dev.refresh(fetcher)
        return await anyio.to_thread.run_sync(self.default_model, row)

    async def renew(self, rows: Iterable[Row]) -> None:
        """Brings models.dev's copy and these rows' listings up to date, those that are old and have a credential, a
        few at a time and for a minute at most. Quiet: what fails leaves what was there.
        """
        limit = anyio.CapacityLimiter(_AT_ONCE)
        async with self._fetcher() as fetcher:
            with anyio.move_on_after(_RENEW_SECONDS):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._dev.refresh, fetcher)
                    for row in rows:
                        if not self.is_fresh(row):
                            tasks.start_soon(self._renew, row, limit)

    async def refresh_facts(self, fetcher: Fetcher) -> bool:
        """Asks models.dev unless its copy is fresh; whether it is now. Quiet, as `renew`."""
        await self._dev.refresh(fetcher)
        return self._dev.is_fresh()

    async def refresh(self, row: Row) -> int:
        """Asks the vendor now, fresh or not; how many models it has.

        Refused: `credential_missing`, `unsupported_feature` (the row has no list), `config_invalid`, and what the
        vendor refuses, with a code of the profile; PeerUnreachable. The copy that was there stays.
        """
        # The HTTP client is slow to import: whoever only reads what is known does not pay for it.
        from sayso.control.provider.wires.listing import fetch_models  # noqa: PLC0415
        from sayso.control.provider.wires.wire import write_credential  # noqa: PLC0415

        held = await anyio.to_thread.run_sync(self._credentials.look, row)
        if held is None and "none" not in row.auth:
            raise missing(row)
        credential = held.credential if held is not None else None
        address = address_of(row, self._credentials.environ, credential=credential)
        if address.models_url is None:
            raise Refused.because("unsupported_feature", f"{row.name} tells nobody which models it has")
        header = header_of(row, credential, address.wire)
        secret = await self._credentials.secret(row, address.base_url, header=(header, address.wire))
        sent = write_credential(header, secret) if secret is not None else None
        models = await fetch_models(row.name, address.wire, address.models_url, sent)
        await self._keep(row, address, models)
        return len(models)

    async def _renew(self, row: Row, limit: anyio.CapacityLimiter) -> None:
        async with limit:
            try:
                await self.refresh(row)
            except (Refused, PeerRefused, PeerUnreachable, Corrupt, OSError) as error:
                _log.info("listing_not_renewed", provider=row.id, kind=type(error).__name__)

    async def _keep(self, row: Row, address: Address, models: Sequence[ListedModel]) -> None:
        url = address.models_url or ""
        copy = _Copy(v=_VERSION, fetched_at=epoch(self._clock.now()), url=url, models=tuple(models))
        await anyio.to_thread.run_sync(write_whole, self._path(row), strictjson.encode(copy))
        self._copies[row.id] = copy

    # --- the copies --------------------------------------------------------------------------------------------------

    def _listed(self, row: Row) -> dict[str, ListedFacts]:
        copy = self._copy(row)
        return {model.id: model.facts for model in copy.models} if copy is not None else {}

    def _copy(self, row: Row) -> _Copy | None:
        """The row's copy; None where it is of another address: the operator moved the row since."""
        copy = self._copies.get(row.id) or self._read(row)
        if copy is None:
            return None
        self._copies[row.id] = copy
        return copy if self._is_of(row, copy) else None

    def _is_of(self, row: Row, copy: _Copy) -> bool:
        if row.base_url_source == "credential":
            return True  # the credential says where, and looking at it may ask a desktop
        try:
            return address_of(row, self._credentials.environ).models_url == copy.url
        except Refused:
            return False

    def _read(self, row: Row) -> _Copy | None:
        try:
            with self._path(row).open("rb") as file:
                copy = strictjson.decode(file.read(_LARGEST), _Copy)
        except (OSError, Refused):
            return None  # it is a cache: damaged, it is none
        return copy if copy.v == _VERSION else None

    def _path(self, row: Row) -> Path:
        return self._folder / f"listing-{row.id}.json"


def first_of(models: Iterable[Listed]) -> str | None:
    """Of models that talk and are not deprecated, those known to call tools, or else those not known not to: the one
    of the latest day; among several the shortest name, then the first in the alphabet. So two machines that know the
    same choose the same.
    """
    able = [model for model in models if _may_talk(model) and not model.is_deprecated and model.has_tools is not False]
    sure = [model for model in able if model.has_tools]
    ranked = sorted(sure or able, key=lambda model: (-((model.created or 0) // _DAY), len(model.id), model.id))
    return ranked[0].id if ranked else None


def _may_talk(model: Listed) -> bool:
    """As it is said; where nobody says it, by the words vendors put in the names of models that do something else."""
    if model.is_chat is not None:
        return model.is_chat
    return model.has_tools is True or not any(word in model.id.lower() for word in _NO_TALK)


def _listed(row: Row, id_: str, source: Source, listed: ListedFacts | None, dev: DevFacts | None) -> Listed:
    facts = model_facts(row, id_, listed=listed, dev=dev)
    listed, dev = listed or ListedFacts(), dev or DevFacts()
    return Listed(
        id=id_,
        display_name=facts.name,
        context_window=facts.context_window,
        max_output_tokens=facts.max_tokens,
        # models.dev's day is the model's; a listing's may be the day on which it was listed.
        created=listed.created if dev.released is None else dev.released,
        is_deprecated=facts.is_deprecated,
        has_tools=dev.has_tools if listed.has_tools is None else listed.has_tools,
        is_chat=dev.is_chat if listed.is_chat is None else listed.is_chat,
        wire=wire_for(row, listed, dev),
        source=source,
    )
