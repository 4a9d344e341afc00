"""What the planner says of itself when it is asked: its descriptor and its one model, named for what it is."""

from __future__ import annotations

from typing import Literal

from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Text, Wire

__all__ = (
    "DESCRIPTION",
    "MODEL",
    "MODELS",
    "PROVIDER_ID",
    "REVISION",
    "DescribeRequest",
    "DescribeResponse",
    "ModelEntry",
    "ModelsListRequest",
    "ModelsListResponse",
    "ProviderDescriptor",
)

MODEL = "offline-planner"
"""The one model it has."""
PROVIDER_ID = "sayso-offline"
REVISION = "offline-planner-1"

_NAME = "Offline planner (a fixed program, not a language model)"
_WIRE: Literal["other"] = "other"


class ProviderDescriptor(Wire, frozen=True, kw_only=True):
    """The members of a provider descriptor that apply to the planner (provider.schema.json)."""

    id: Text
    display_name: str
    wire: Literal["other"]
    wire_id: Text
    framing: Literal["unary"]
    snapshot_policies: tuple[Literal["never"], ...]
    answers_sync: bool
    credential_grant: Literal["none"]
    allows_anonymous: bool
    round_trips_carry: bool


class ModelEntry(Wire, frozen=True, kw_only=True):
    """The members of a model entry that apply to the planner (provider.schema.json)."""

    model_ref: Text
    model_id: Text
    display_name: str
    provider_id: Text
    wire: Literal["other"]
    capabilities: tuple[Literal["chat", "streaming", "tools"], ...]
    lifecycle: Literal["stable"]
    source: Literal["fallback"]


class DescribeRequest(Wire, frozen=True, kw_only=True):
    """`provider.describe.request`."""


class ModelsListRequest(Wire, frozen=True, kw_only=True):
    """`provider.models.list.request`."""

    provider_id: Maybe[Text] = UNSET


class DescribeResponse(Wire, frozen=True, kw_only=True):
    """`provider.describe.response`."""

    providers: tuple[ProviderDescriptor, ...]
    protocol_versions: tuple[Text, ...]


class ModelsListResponse(Wire, frozen=True, kw_only=True):
    """`provider.models.list.response`."""

    models: tuple[ModelEntry, ...]


DESCRIPTION = DescribeResponse(
    providers=(
        ProviderDescriptor(
            id=PROVIDER_ID,
            display_name=_NAME,
            wire=_WIRE,
            wire_id=MODEL,
            framing="unary",
            snapshot_policies=("never",),
            answers_sync=False,
            credential_grant="none",
            allows_anonymous=True,
            round_trips_carry=False,
        ),
    ),
    protocol_versions=("0.1",),
)

MODELS = ModelsListResponse(
    models=(
        ModelEntry(
            model_ref=MODEL,
            model_id=MODEL,
            display_name=_NAME,
            provider_id=PROVIDER_ID,
            wire=_WIRE,
            capabilities=("chat", "streaming", "tools"),
            lifecycle="stable",
            source="fallback",
        ),
    )
)
