"""What the planner says of itself when it is asked: its descriptor and its one model, named for what it is."""

from __future__ import annotations

from sayso.control.protocol.payloads.provider import (
    DescribeRequest,
    DescribeResponse,
    ModelEntry,
    ModelsListRequest,
    ModelsListResponse,
    ProviderDescriptor,
)

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

DESCRIPTION = DescribeResponse(
    providers=(
        ProviderDescriptor(
            id=PROVIDER_ID,
            display_name=_NAME,
            wire="other",
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
            wire="other",
            capabilities=("chat", "streaming", "tools"),
            lifecycle="stable",
            source="fallback",
        ),
    )
)
