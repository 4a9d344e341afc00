"""What the service publishes of its providers and their models: catalog rows in the profile's words (OAP-130, 145).

Facts nobody said are left out, which means unknown. Nothing here needs the network or a credential.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import msgspec

from sayso.control.protocol.payloads.provider import (
    ModelCapability,
    ModelEntry,
    ProviderAuthStatus,
    ProviderDescriptor,
    ProviderWire,
)
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.provider.catalog.facts import address_of
from sayso.control.provider.catalog.limits import model_facts
from sayso.control.provider.catalog.rows import Row, WireName
from sayso.control.provider.listings import Listed
from sayso.control.provider.planner.descriptor import DESCRIPTION, MODELS
from sayso.control.provider.snapshots import POLICIES
from sayso.control.provider.wires.offering import WireName as SpokenWire
from sayso.core.refusal import Refused

__all__ = (
    "SPOKEN",
    "describe_planner",
    "describe_row",
    "known_of",
    "list_models",
    "list_planner",
    "wire_of",
)

SPOKEN: tuple[str, ...] = get_args(SpokenWire)
"""The wires there is code for; a row may name others."""
_NAMED: Mapping[WireName, ProviderWire] = {
    "openai-chat-completions": "openai-chat-completions",
    "openai-responses": "openai-responses",
    "openai-codex-responses": "openai-responses",
    "anthropic-messages": "anthropic-messages",
}


def wire_of(row: Row) -> WireName | None:
    """The first of the row's wires that is spoken here."""
    return next((wire for wire in row.wires if wire in SPOKEN), None)


def describe_row(row: Row, environ: Mapping[str, str]) -> ProviderDescriptor:
    """One row as a descriptor; its endpoint is left out where it cannot be known yet."""
    wire = wire_of(row) or (row.wires[0] if row.wires else None)
    named = _NAMED.get(wire, "other") if wire is not None else "other"
    return ProviderDescriptor(
        id=row.id,
        display_name=row.name,
        wire=named,
        wire_id=wire if named == "other" and wire is not None else UNSET,
        framing="sse",
        endpoint=_endpoint(row, environ) or UNSET,
        snapshot_policies=POLICIES,
        answers_sync=True,
        credential_grant="none",
        allows_anonymous="none" in row.auth,
        round_trips_carry=wire in SPOKEN,
        context_window=row.context_window or UNSET,
        max_output_tokens=row.max_tokens or UNSET,
    )


def describe_planner() -> ProviderDescriptor:
    """The offline planner; the service records for it as for all."""
    own = msgspec.convert(msgspec.to_builtins(DESCRIPTION.providers[0]), ProviderDescriptor)
    return msgspec.structs.replace(own, snapshot_policies=POLICIES, answers_sync=True)


def list_models(row: Row, known: Sequence[Listed], status: ProviderAuthStatus) -> list[ModelEntry]:
    """The row's models in the order they are known."""
    named = describe_row(row, {}).wire
    return [_entry(row, model, named, status) for model in known]


def list_planner() -> list[ModelEntry]:
    """The planner's one model, under the name it always had."""
    return [msgspec.convert(msgspec.to_builtins(entry), ModelEntry) for entry in MODELS.models]


def known_of(row: Row) -> tuple[Listed, ...]:
    """What the row itself says of its models, where no listing is kept."""
    facts = [model_facts(row, model.id) for model in row.models]
    return tuple(
        Listed(
            id=each.id,
            display_name=each.name,
            context_window=each.context_window,
            max_output_tokens=each.max_tokens,
            source="row",
        )
        for each in facts
    )


def _entry(row: Row, model: Listed, wire: ProviderWire, status: ProviderAuthStatus) -> ModelEntry:
    abilities: tuple[ModelCapability, ...] = (
        *(("chat",) if model.is_chat else ()),
        *(("tools",) if model.has_tools else ()),
    )
    return ModelEntry(
        model_ref=f"{row.id}/{model.id}",
        model_id=model.id,
        provider_id=row.id,
        wire=wire if model.wire is None else _NAMED.get(model.wire, "other"),
        display_name=model.display_name or UNSET,
        context_window=model.context_window or UNSET,
        max_output_tokens=model.max_output_tokens or UNSET,
        capabilities=abilities or UNSET,
        lifecycle="deprecated" if model.is_deprecated else UNSET,
        source="discovered" if model.source == "listing" else "fallback",
        auth_status=status,
    )


def _endpoint(row: Row, environ: Mapping[str, str]) -> str | None:
    try:
        return address_of(row, environ, wire=wire_of(row)).base_url
    except Refused:
        return None
