"""Initialization, capabilities and the descriptors they publish (capabilities.schema.json)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sayso.control.protocol.payloads.scalars import (
    UNSET,
    JsonObject,
    Maybe,
    OpaqueId,
    Ordinal,
    Text,
    Texts,
    Wire,
    refuse_repeats,
)

__all__ = (
    "Binding",
    "CapabilitiesRequest",
    "CapabilitiesResponse",
    "CapabilitiesUpdated",
    "CapabilityLimits",
    "Degradation",
    "EffectiveDelivery",
    "Endpoint",
    "FeatureConstraints",
    "FeatureLimits",
    "FeatureSupport",
    "Features",
    "InitializeRequest",
    "InitializeResponse",
    "Layer",
    "Level",
    "Participant",
    "RequestedDelivery",
    "ToolDefinition",
    "ToolSourceDescriptor",
    "ToolSourceKind",
)

Level = Literal["native", "emulated", "degraded", "unavailable"]
RequestedDelivery = Literal["auto", "queue", "steer", "btw"]
EffectiveDelivery = Literal["start", "queue", "steer", "btw"]
ToolSourceKind = Literal["native", "local", "process", "remote", "hosted"]
SomeTexts = Annotated[Texts, Meta(min_length=1)]


class Endpoint(Wire, frozen=True, kw_only=True):
    """Who answers."""

    id: OpaqueId
    name: Maybe[str] = UNSET
    version: Maybe[str] = UNSET
    adapter: Maybe[str] = UNSET


class Participant(Wire, frozen=True, kw_only=True):
    """Who asks."""

    id: OpaqueId
    name: Maybe[str] = UNSET
    version: Maybe[str] = UNSET


class FeatureConstraints(msgspec.Struct, frozen=True, kw_only=True):
    """The constraints the specification names; others may stand beside them."""

    fixed_result: Maybe[JsonObject] = UNSET


class FeatureLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits the specification names; others may stand beside them."""

    max_sources: Maybe[Ordinal] = UNSET
    transports: Maybe[Annotated[tuple[ToolSourceKind, ...], Meta(min_length=1)]] = UNSET
    max_tools: Maybe[Ordinal] = UNSET
    name_pattern: Maybe[Text] = UNSET
    schema_dialect: Maybe[Text] = UNSET

    def __post_init__(self) -> None:
        if self.transports is not UNSET and len(set(self.transports)) != len(self.transports):
            raise ValueError("`transports` holds a value twice")


class FeatureSupport(Wire, frozen=True, kw_only=True):
    """How well one feature is supported; anything but native says why."""

    level: Level
    reason: Maybe[str] = UNSET
    scope: Maybe[str] = UNSET
    modes: Maybe[Texts] = UNSET
    constraints: Maybe[JsonObject] = UNSET
    limits: Maybe[JsonObject] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "modes")
        if self.constraints is not UNSET:
            msgspec.convert(self.constraints, FeatureConstraints)
        if self.limits is not UNSET:
            msgspec.convert(self.limits, FeatureLimits)


Features = Mapping[str, FeatureSupport]


class CapabilityLimits(Wire, frozen=True, kw_only=True):
    """Bounds on runs of one session."""

    max_active_runs_per_session: Maybe[Ordinal] = UNSET
    max_queued_runs_per_session: Maybe[Ordinal] = UNSET


class ToolSourceDescriptor(Wire, frozen=True, kw_only=True):
    """Where tools come from; commands, arguments and environments are never published."""

    id: OpaqueId
    kind: ToolSourceKind
    display_name: Maybe[str] = UNSET
    protocol: Maybe[str] = UNSET
    endpoint: Maybe[str] = UNSET


class ToolDefinition(Wire, frozen=True, kw_only=True):
    """A tool as it is published."""

    name: Text
    input_schema: JsonObject
    execution_owner: OpaqueId
    description: Maybe[str] = UNSET
    source: Maybe[OpaqueId] = UNSET
    features: Maybe[Features] = UNSET
    annotations: Maybe[JsonObject] = UNSET


class Binding(Wire, frozen=True, kw_only=True):
    """A transport the endpoint offers."""

    kind: Text
    serialization: Maybe[str] = UNSET


class Degradation(Wire, frozen=True, kw_only=True):
    """A feature that is less than it was asked to be, and why."""

    feature: Text
    to: Level
    reason: Text
    from_: Maybe[Level] = msgspec.field(default=UNSET, name="from")
    mode: Maybe[str] = UNSET


class Layer(Wire, frozen=True, kw_only=True):
    """What one layer below the endpoint supports."""

    features: Maybe[Features] = UNSET
    requested_delivery_modes: Maybe[Annotated[tuple[RequestedDelivery, ...], Meta(min_length=1)]] = UNSET
    effective_delivery_modes: Maybe[Annotated[tuple[EffectiveDelivery, ...], Meta(min_length=1)]] = UNSET
    tools: Maybe[tuple[ToolDefinition, ...]] = UNSET
    sources: Maybe[tuple[ToolSourceDescriptor, ...]] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "requested_delivery_modes", "effective_delivery_modes")


class InitializeRequest(Wire, frozen=True, kw_only=True):
    """`protocol.initialize.request`."""

    protocol_versions: SomeTexts
    profiles: SomeTexts
    participant: Maybe[Participant] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "protocol_versions", "profiles")


class InitializeResponse(Wire, frozen=True, kw_only=True):
    """`protocol.initialize.response`."""

    protocol_version: Literal["0.1"]
    profile: Literal["open-agent-protocol.agent-control-core"]
    endpoint: Endpoint


class CapabilitiesRequest(Wire, frozen=True, kw_only=True):
    """`capabilities.request`."""


class CapabilitiesResponse(Wire, frozen=True, kw_only=True):
    """`capabilities.response`; its envelope names the revision."""

    endpoint: Endpoint
    protocol_versions: Maybe[SomeTexts] = UNSET
    profiles: Maybe[SomeTexts] = UNSET
    bindings: Maybe[tuple[Binding, ...]] = UNSET
    features: Maybe[Features] = UNSET
    layers: Maybe[Mapping[str, Layer]] = UNSET
    tools: Maybe[tuple[ToolDefinition, ...]] = UNSET
    sources: Maybe[tuple[ToolSourceDescriptor, ...]] = UNSET
    degradation: Maybe[tuple[Degradation, ...]] = UNSET
    limits: Maybe[CapabilityLimits] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "protocol_versions", "profiles")


class CapabilitiesUpdated(Wire, frozen=True, kw_only=True):
    """`capabilities.updated`: an invalidation, not a delta."""

    previous_revision: Text
    reason: Maybe[str] = UNSET
