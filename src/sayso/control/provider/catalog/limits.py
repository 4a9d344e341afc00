"""What is known of one model: the vendor's listing, the row, models.dev, in that order (OAP-145, OAP-147). Pure."""

from __future__ import annotations

import msgspec

from sayso.control.provider.catalog.rows import KnownModel, Row, WireName
from sayso.core.refusal import Refused

__all__ = ("DevFacts", "ListedFacts", "ModelFacts", "allow_window", "model_facts", "wire_for")


class ListedFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the vendor's own listing says of a model; absent is unknown. `created` is seconds since 1970."""

    name: str | None = None
    context_window: int | None = None
    max_tokens: int | None = None
    created: int | None = None
    is_deprecated: bool = False
    has_tools: bool | None = None
    is_chat: bool | None = None
    wire: WireName | None = None


class DevFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What models.dev says of a model; absent is unknown. `released` is seconds since 1970."""

    context_window: int | None = None
    max_tokens: int | None = None
    is_deprecated: bool = False
    name: str | None = None
    released: int | None = None
    has_tools: bool | None = None
    is_chat: bool | None = None
    wire: WireName | None = None


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a model. `ceiling` is the most its window may be raised to; None: nothing is known."""

    id: str
    name: str | None = None
    context_window: int | None = None
    max_tokens: int | None = None
    is_deprecated: bool = False
    ceiling: int | None = None


def model_facts(row: Row, model: str, *, listed: ListedFacts | None = None, dev: DevFacts | None = None) -> ModelFacts:
    """Each fact from the first who says it: the row's entry for this model, the vendor's listing, the row as a whole,
    models.dev. So models.dev only ever fills what is missing.
    """
    known = next((each for each in row.models if each.id == model), KnownModel(id=model))
    listed = listed or ListedFacts()
    dev = dev or DevFacts()
    window = _first(known.context_window, listed.context_window, row.context_window, dev.context_window)
    return ModelFacts(
        id=model,
        name=known.name or listed.name or dev.name,
        context_window=window,
        max_tokens=_first(known.max_tokens, listed.max_tokens, row.max_tokens, dev.max_tokens),
        is_deprecated=listed.is_deprecated or dev.is_deprecated,
        ceiling=row.max_context_window if row.max_context_window is not None else window,
    )


def wire_for(row: Row, listed: ListedFacts | None, dev: DevFacts | None) -> WireName | None:
    """The wire a model of a row with several is behind, as the listing says, else models.dev; None: nobody says, or it
    is none of the row's.
    """
    said = (facts.wire for facts in (listed, dev) if facts is not None)
    return next((wire for wire in said if wire is not None and wire in row.wires), None)


def allow_window(facts: ModelFacts, asked: int) -> int:
    """A caller's own context window: lower is always fine, higher up to the ceiling (OAP-145).

    Refused `invalid_request`, reason `context_window`: above it, where nobody reported a window, or less than
    one token.
    """
    if asked < 1:
        raise _no(f"a context window of {asked} tokens holds nothing", "Ask for at least one token.")
    if facts.ceiling is None:
        raise _no(
            f"nobody says how large a context {facts.id} has, so none can be chosen",
            "Say it in providers.json for a provider of your own, or let models.dev be asked.",
        )
    if asked > facts.ceiling:
        raise _no(f"{facts.id} takes at most {facts.ceiling} tokens, and {asked} were asked for", "Ask for less.")
    return asked


def _no(message: str, help_: str) -> Refused:
    return Refused.because("invalid_request", message, reason="context_window", help=help_)


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
