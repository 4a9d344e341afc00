"""Limits and deprecations out of models.dev, kept in the home (OAP-147).

Asked at most once a day, and never on the way to a first answer: `known` reads what lies in `<home>/model_catalog` and
nothing else, `refresh` is for whoever has time. A copy that is old is better than none, so a refresh that fails leaves
everything as it was. Only what the catalog's rows point at is kept. The copy is a cache: damaged, it is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Annotated

import anyio.to_thread
import msgspec
from msgspec import Meta

from sayso.control.provider.catalog.limits import DevFacts
from sayso.control.provider.catalog.rows import Catalog, WireName
from sayso.control.provider.credentials.files import write_whole
from sayso.control.provider.credentials.values import LAST_SECOND
from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.instants import epoch, from_epoch, parse_instant
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.net.fetch import Fetcher

__all__ = ("CACHE_FOLDER", "FRESH", "ModelsDev", "read_models_dev")

CACHE_FOLDER = "model_catalog"
FRESH = timedelta(hours=24)
_FILE = "models_dev.json"
_VERSION = 1
_LARGEST = 64 * 1024 * 1024
_SECONDS = 30.0
_MOST_TOKENS = 2**53 - 1
_LONGEST_NAME = 200
_MOST_MODELS = 5000
_LIBRARIES: Mapping[str, WireName] = {
    "@ai-sdk/anthropic": "anthropic-messages",
    "@ai-sdk/google": "google-generate-content",
    "@ai-sdk/openai": "openai-responses",
    "@ai-sdk/openai-compatible": "openai-chat-completions",
}
"""The client library that models.dev names for one model, where it is not its provider's, and the wire it speaks."""
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?")

Known = Mapping[str, Mapping[str, DevFacts]]


class _Copy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    v: int
    fetched_at: Annotated[int, Meta(ge=0, le=LAST_SECOND)]
    models: Mapping[str, Mapping[str, DevFacts]]


class ModelsDev:
    """The copy of one home. Reading it never waits for a network."""

    def __init__(self, home: Path, catalog: Catalog, *, clock: Clock) -> None:
        self._path = home / CACHE_FOLDER / _FILE
        self._catalog = catalog
        self._clock = clock
        self._copy: _Copy | None = None

    def known(self, key: str | None, model: str) -> DevFacts | None:
        """What is kept of a model under a row's `models_dev`; None: nothing."""
        copy = self._read()
        return copy.models.get(key, {}).get(model) if copy is not None and key is not None else None

    def models(self, key: str | None) -> Mapping[str, DevFacts]:
        """Everything that is kept under a row's `models_dev`."""
        copy = self._read()
        return copy.models.get(key, {}) if copy is not None and key is not None else {}

    def is_fresh(self) -> bool:
        """Whether there is a copy of the last 24 hours. One from the future is not: the clock was turned."""
        copy = self._read()
        return copy is not None and timedelta(0) <= self._clock.now() - from_epoch(copy.fetched_at) < FRESH

    async def refresh(self, fetcher: Fetcher) -> bool:
        """Asks models.dev unless the copy is fresh; whether a new copy was kept. Whatever goes wrong, the old stays."""
        url = self._catalog.models_dev_url
        if url is None or self.is_fresh():
            return False
        try:
            answer = await fetcher.get(url, max_bytes=_LARGEST, seconds=_SECONDS)
            if not answer.is_success:
                return False
            wanted = {row.models_dev for row in self._catalog.providers if row.models_dev is not None}
            models = await anyio.to_thread.run_sync(read_models_dev, answer.body, wanted)
        except (PeerRefused, PeerUnreachable, Refused):
            return False
        if not models:
            return False
        copy = _Copy(v=_VERSION, fetched_at=epoch(self._clock.now()), models=models)
        try:
            await anyio.to_thread.run_sync(write_whole, self._path, strictjson.encode(copy))
        except OSError:
            return False
        self._copy = copy
        return True

    def _read(self) -> _Copy | None:
        if self._copy is None:
            try:
                with self._path.open("rb") as file:
                    copy = strictjson.decode(file.read(_LARGEST), _Copy)
            except (OSError, Refused):
                return None
            self._copy = copy if copy.v == _VERSION else None
        return self._copy


def read_models_dev(data: bytes, wanted: Iterable[str]) -> dict[str, dict[str, DevFacts]]:
    """The published document, reduced to the providers that are wanted. A member of another form is left out, so that
    one odd model costs only itself. Refused `malformed_json`.
    """
    document = strictjson.parse(data)
    found: dict[str, dict[str, DevFacts]] = {}
    for key in sorted(wanted):
        models = _member(_member(document, key), "models")
        if isinstance(models, dict):
            named = ((name, model) for name, model in models.items() if _name(name) and isinstance(model, dict))
            found[key] = {name: _facts(model) for name, model in islice(named, _MOST_MODELS)}
    return {key: models for key, models in found.items() if models}


def _facts(model: strictjson.JsonValue) -> DevFacts:
    limit = _member(model, "limit")
    return DevFacts(
        context_window=_tokens(_member(limit, "context")),
        max_tokens=_tokens(_member(limit, "output")),
        is_deprecated=_member(model, "status") == "deprecated",
        name=_name(_member(model, "name")),
        released=_day(_member(model, "release_date")),
        has_tools=_flag(_member(model, "tool_call")),
        is_chat=_talks(_member(_member(model, "modalities"), "output")),
        wire=_spoken(_member(_member(model, "provider"), "npm")),
    )


def _name(value: strictjson.JsonValue) -> str | None:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME:
        return None
    return value if value.isprintable() and value == value.strip() else None


def _day(value: strictjson.JsonValue) -> int | None:
    """The beginning of a day in UTC; models.dev also knows months, which begin on their first."""
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return None
    try:
        return epoch(parse_instant(f"{value[:7]}-{value[8:] or '01'}T00:00:00Z"))
    except Refused:
        return None


def _spoken(library: strictjson.JsonValue) -> WireName | None:
    return _LIBRARIES.get(library) if isinstance(library, str) else None


def _flag(value: strictjson.JsonValue) -> bool | None:
    return value if isinstance(value, bool) else None


def _talks(outputs: strictjson.JsonValue) -> bool | None:
    return "text" in outputs if isinstance(outputs, list) else None


def _member(value: strictjson.JsonValue, name: str) -> strictjson.JsonValue:
    return value.get(name) if isinstance(value, dict) else None


def _tokens(value: strictjson.JsonValue) -> int | None:
    """A count of tokens; 0 is what models.dev writes where there is none."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_TOKENS
    return value if is_count and isinstance(value, int) else None
