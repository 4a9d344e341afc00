"""A vendor's own list of models, read page by page: OpenAI's shape, Anthropic's and Google's. Pure.

Which vendor it was is not asked: the members tell. What compatible servers add (windows, tools, kinds of output) is
taken where it stands; what is odd about one model costs that model or that fact, and never the list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from sayso.control.provider.catalog.limits import ListedFacts
from sayso.control.provider.catalog.rows import WireName
from sayso.control.provider.credentials.values import LAST_SECOND
from sayso.core import strictjson
from sayso.core.instants import epoch, parse_instant
from sayso.core.refusal import Refused

__all__ = ("ListedModel", "Page", "first_query", "read_page")

_LONGEST_ID = 200
_LONGEST_NAME = 200
_LONGEST_CURSOR = 2000
_MOST_TOKENS = 2**53 - 1
_PREFIX = "models/"
_GENERATES = "generateContent"
_WINDOWS = ("context_window", "context_length", "max_input_tokens", "max_model_len", "max_context_length",
            "inputTokenLimit", "max_context_window_tokens")  # fmt: skip
_OUTPUTS = ("max_output_tokens", "max_completion_tokens", "max_tokens", "outputTokenLimit")
_NO_TALK = frozenset(
    ("audio", "completion", "embedding", "embeddings", "image", "moderation", "rerank", "reranking", "speech", "video")
)
_PATHS: dict[str, WireName] = {
    "/chat/completions": "openai-chat-completions",
    "/responses": "openai-responses",
    "/v1/messages": "anthropic-messages",
}
_FIRST = {"anthropic-messages": (("limit", "1000"),), "google-generate-content": (("pageSize", "1000"),)}
Json = Mapping[str, strictjson.JsonValue]
_NOTHING: Json = {}


class ListedModel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model of a listing: the vendor's spelling, and what is said of it."""

    id: Annotated[str, Meta(min_length=1, max_length=_LONGEST_ID)]
    facts: ListedFacts


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One answer. `next` is the member of the query that asks for the one behind it; None: this was the last."""

    models: tuple[ListedModel, ...]
    next: tuple[str, str] | None = None


def first_query(wire: str) -> tuple[tuple[str, str], ...]:
    """What is asked first: as many models as the vendor gives at once."""
    return _FIRST.get(wire, ())


def read_page(data: bytes) -> Page:
    """One page. Refused `endpoint_error`, reason `not_a_listing`: no JSON, or an object without a list of models."""
    try:
        document = strictjson.parse(data)
    except Refused:
        document = None
    given = _object(document)
    models = given.get("models") if isinstance(given.get("models"), list) else given.get("data")
    if document is not None and isinstance(document, list):
        models = document  # a few compatible servers leave the envelope out
    if not isinstance(models, list):
        raise Refused.because("endpoint_error", "what the vendor answered is no list of models", reason="not_a_listing")
    return Page(models=tuple(_models(models)), next=_next(given))


def _models(models: Iterable[strictjson.JsonValue]) -> Iterator[ListedModel]:
    seen: set[str] = set()
    for each in models:
        model = _object(each)
        id_ = _text(model, "id", _LONGEST_ID) or (_text(model, "name", _LONGEST_ID) or "").removeprefix(_PREFIX)
        is_there = model.get("lifecycle") != "retired" and _object(model.get("policy")).get("state") != "disabled"
        if id_ and id_ not in seen and is_there:
            seen.add(id_)
            yield ListedModel(id=id_, facts=_facts(model, id_))


def _next(page: Json) -> tuple[str, str] | None:
    if (token := _text(page, "nextPageToken", _LONGEST_CURSOR)) is not None:
        return "pageToken", token
    last = _text(page, "last_id", _LONGEST_CURSOR)
    return ("after_id", last) if page.get("has_more") is True and last is not None else None


def _facts(model: Json, id_: str) -> ListedFacts:
    name = _text(model, "display_name", _LONGEST_NAME) or _text(model, "displayName", _LONGEST_NAME)
    name = name or _text(model, "name", _LONGEST_NAME)
    best, limits = _object(model.get("top_provider")), _object(_object(model.get("capabilities")).get("limits"))
    trained = (_object(model.get("meta")), ("n_ctx_train",))
    window = _first_count((model, _WINDOWS), (best, _WINDOWS), (limits, _WINDOWS), trained)
    return ListedFacts(
        name=name if name not in (id_, f"{_PREFIX}{id_}") else None,
        context_window=window,
        max_tokens=_first_count((model, _OUTPUTS), (best, _OUTPUTS), (limits, _OUTPUTS)),
        created=_created(model),
        is_deprecated=model.get("lifecycle") == "deprecated" or model.get("deprecated") is True,
        has_tools=_tools(model),
        is_chat=_talks(model),
        wire=_wire(model),
    )


def _created(model: Json) -> int | None:
    """Seconds since 1970; vendors write 0 where they do not know."""
    created = model.get("created")
    if isinstance(created, int) and not isinstance(created, bool):
        return created if 0 < created <= LAST_SECOND else None
    said = model.get("created_at")
    try:
        return (epoch(parse_instant(said)) or None) if isinstance(said, str) else None
    except Refused:
        return None


def _tools(model: Json) -> bool | None:
    said = model.get("supported_parameters")
    if isinstance(said, list):
        return "tools" in said
    capable = _object(model.get("capabilities"))
    for found in (capable.get("function_calling"), _object(capable.get("supports")).get("tool_calls")):
        if isinstance(found, bool):
            return found
    return None


def _talks(model: Json) -> bool | None:
    methods = model.get("supportedGenerationMethods")
    if isinstance(methods, list):
        return _GENERATES in methods
    outputs = _object(model.get("architecture")).get("output_modalities")
    if isinstance(outputs, list):
        return "text" in outputs
    kinds = (model.get("type"), _object(model.get("capabilities")).get("type"))
    is_elsewhere = bool(_paths(model)) and _wire(model) is None
    return False if is_elsewhere or any(isinstance(kind, str) and kind in _NO_TALK for kind in kinds) else None


def _wire(model: Json) -> WireName | None:
    """The first of ours that it is served on, where the list says on which (GitHub Copilot's does)."""
    return next((wire for path, wire in _PATHS.items() if path in _paths(model)), None)


def _paths(model: Json) -> list[strictjson.JsonValue]:
    paths = model.get("supported_endpoints")
    return paths if isinstance(paths, list) else []


def _first_count(*places: tuple[Json, Iterable[str]]) -> int | None:
    for within, names in places:
        for name in names:
            value = within.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_TOKENS:
                return value
    return None


def _text(value: Json, name: str, longest: int) -> str | None:
    found = value.get(name)
    is_text = isinstance(found, str) and 0 < len(found) <= longest and found.isprintable() and found == found.strip()
    return found if is_text and isinstance(found, str) else None


def _object(value: strictjson.JsonValue) -> Json:
    return value if isinstance(value, dict) else _NOTHING
