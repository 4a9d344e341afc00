"""What a model-provider endpoint publishes, and handing it a credential (provider.schema.json).

A fact a model row leaves out is unknown. Destinations and headers are the operator's; no request chooses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from sayso.control.protocol.payloads.inference import ProviderError, ReasoningLevel, SnapshotPolicy
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Ordinal, Text, Wire

__all__ = (
    "CredentialGrantChannel",
    "CredentialGrantRequest",
    "CredentialGrantResponse",
    "CredentialGrantTier",
    "DescribeRequest",
    "DescribeResponse",
    "Framing",
    "GrantKind",
    "ModelCapability",
    "ModelEntry",
    "ModelLifecycle",
    "ModelSource",
    "ModelsListRequest",
    "ModelsListResponse",
    "ProviderAuthStatus",
    "ProviderDescriptor",
    "ProviderWire",
    "WireCompatibility",
)

ProviderWire = Literal["openai-responses", "anthropic-messages", "openai-chat-completions", "other"]
Framing = Literal["sse", "ndjson", "unary"]
CredentialGrantTier = Literal["none", "out_of_band", "on_envelope"]
GrantKind = Literal["static", "refreshable"]
ProviderAuthStatus = Literal["authenticated", "login_required", "expired", "failed", "unknown"]
ModelLifecycle = Literal["stable", "preview", "deprecated"]
ModelSource = Literal["discovered", "fallback"]
ModelCapability = Literal[
    "chat", "streaming", "tools", "vision", "reasoning", "prompt_cache", "audio_input", "audio_output"
]


class WireCompatibility(Wire, frozen=True, kw_only=True):
    """Where a provider's wire differs from others of its kind."""

    max_tokens_field: Maybe[Literal["max_tokens", "max_completion_tokens"]] = UNSET
    thinking_format: Maybe[Literal["openai", "zai", "qwen"]] = UNSET
    usage_in_streaming: Maybe[Literal["always", "terminal_only", "never"]] = UNSET
    requires_assistant_after_tool_result: Maybe[bool] = UNSET
    requires_tool_result_name: Maybe[bool] = UNSET
    requires_thinking_as_text: Maybe[bool] = UNSET
    supports_strict_mode: Maybe[bool] = UNSET
    supports_store: Maybe[bool] = UNSET
    supports_developer_role: Maybe[bool] = UNSET
    supports_reasoning_effort: Maybe[bool] = UNSET
    tool_call_id_format: Maybe[Literal["unconstrained", "constrained"]] = UNSET
    cache_ttl_control: Maybe[bool] = UNSET


class ProviderDescriptor(Wire, frozen=True, kw_only=True):
    """One provider behind the endpoint; `wire_id` names a wire the enumeration does not."""

    id: Text
    wire: ProviderWire
    framing: Framing
    display_name: Maybe[str] = UNSET
    wire_id: Maybe[Text] = UNSET
    endpoint: Maybe[str] = UNSET
    headers: Maybe[Mapping[str, str]] = UNSET
    compatibility: Maybe[WireCompatibility] = UNSET
    snapshot_policies: Maybe[tuple[SnapshotPolicy, ...]] = UNSET
    answers_sync: Maybe[bool] = UNSET
    credential_grant: Maybe[CredentialGrantTier] = UNSET
    grant_kinds: Maybe[tuple[GrantKind, ...]] = UNSET
    allows_anonymous: Maybe[bool] = UNSET
    round_trips_carry: Maybe[bool] = UNSET
    context_window: Maybe[Ordinal] = UNSET
    max_output_tokens: Maybe[Ordinal] = UNSET

    def __post_init__(self) -> None:
        if self.wire != "other" and self.wire_id is not UNSET:
            raise ValueError("only the wire `other` has a `wire_id`")


class ModelEntry(Wire, frozen=True, kw_only=True):
    """One model of the endpoint's list."""

    model_ref: Text
    model_id: Text
    provider_id: Text
    wire: ProviderWire
    display_name: Maybe[str] = UNSET
    context_window: Maybe[Ordinal] = UNSET
    max_output_tokens: Maybe[Ordinal] = UNSET
    capabilities: Maybe[tuple[ModelCapability, ...]] = UNSET
    lifecycle: Maybe[ModelLifecycle] = UNSET
    source: Maybe[ModelSource] = UNSET
    reasoning_default: Maybe[ReasoningLevel] = UNSET
    auth_status: Maybe[ProviderAuthStatus] = UNSET


class DescribeRequest(Wire, frozen=True, kw_only=True):
    """`provider.describe.request`."""


class DescribeResponse(Wire, frozen=True, kw_only=True):
    """`provider.describe.response`; its envelope names the revision."""

    providers: tuple[ProviderDescriptor, ...]
    protocol_versions: Annotated[tuple[Text, ...], Meta(min_length=1)]
    profile_revision: Maybe[Text] = UNSET


class ModelsListRequest(Wire, frozen=True, kw_only=True):
    """`provider.models.list.request`."""

    provider_id: Maybe[Text] = UNSET


class ModelsListResponse(Wire, frozen=True, kw_only=True):
    """`provider.models.list.response`; its envelope names the revision."""

    models: tuple[ModelEntry, ...]


class CredentialGrantRequest(Wire, frozen=True, kw_only=True):
    """`provider.credential.grant.request`; `value` only where the endpoint takes one on the envelope."""

    provider_id: Text
    nonce: Text
    ttl_ms: Maybe[Ordinal] = UNSET
    value: Maybe[str] = UNSET


class CredentialGrantChannel(Wire, frozen=True, kw_only=True):
    """`provider.credential.grant.channel`: where to hand the credential over, outside the envelopes."""

    nonce: Text
    channel: Text


class CredentialGrantResponse(Wire, frozen=True, kw_only=True):
    """`provider.credential.grant.response`: a reference to what was granted, or why nothing was."""

    accepted: bool
    credential_ref: Maybe[Text] = UNSET
    expires_at_ms: Maybe[int] = UNSET
    error: Maybe[ProviderError] = UNSET

    def __post_init__(self) -> None:
        if self.accepted != (self.credential_ref is not UNSET) or self.accepted == (self.error is not UNSET):
            raise ValueError("an accepted grant has `credential_ref`, a refused one has `error`")
        if not self.accepted and self.expires_at_ms is not UNSET:
            raise ValueError("what was not granted does not expire")
