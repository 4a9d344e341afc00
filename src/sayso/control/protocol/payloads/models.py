"""The models of a session: their catalog, switching the session's own, attaching a provider (capabilities.schema.json
and session.schema.json).

What a model row leaves out is unknown. That listing and refusing agree, that ids are unique and that the current model
is listed are the validator's to say.
"""

from __future__ import annotations

from typing import Literal

from sayso.control.protocol.payloads.capabilities import Features
from sayso.control.protocol.payloads.scalars import (
    UNSET,
    Maybe,
    OpaqueId,
    Ordinal,
    Text,
    Texts,
    Wire,
    refuse_repeats,
)

__all__ = (
    "ModelDescriptor",
    "ModelEventPosition",
    "ModelSwitchRequest",
    "ModelSwitchResponse",
    "ModelsRequest",
    "ModelsResponse",
    "ProviderAttachRequest",
    "ProviderAttachResponse",
    "ProviderAttachment",
    "SessionProvider",
)


class ModelDescriptor(Wire, frozen=True, kw_only=True):
    """One model a session may run with."""

    id: Text
    display_name: Maybe[str] = UNSET
    provider_id: Maybe[str] = UNSET
    context_window: Maybe[Ordinal] = UNSET
    features: Maybe[Features] = UNSET
    default: Maybe[bool] = UNSET


class SessionProvider(Wire, frozen=True, kw_only=True):
    """A provider that model rows may name."""

    id: Text
    display_name: Maybe[str] = UNSET
    wire: Maybe[Literal["openai-responses", "anthropic-messages", "openai-chat-completions"]] = UNSET
    kind: Maybe[Literal["direct", "gateway"]] = UNSET
    endpoint: Maybe[str] = UNSET
    service_id: Maybe[Text] = UNSET
    upstream_provider_id: Maybe[Text] = UNSET


class ModelEventPosition(Wire, frozen=True, kw_only=True):
    """The event after which a catalog was read: one of a run, or a switch by its request."""

    run_id: Maybe[OpaqueId] = UNSET
    sequence: Maybe[Ordinal] = UNSET
    switch_request_id: Maybe[OpaqueId] = UNSET

    def __post_init__(self) -> None:
        is_switch = self.switch_request_id is not UNSET
        if is_switch == (self.run_id is not UNSET) or is_switch == (self.sequence is not UNSET):
            raise ValueError("a position is either `run_id` and `sequence`, or `switch_request_id`")


class ModelsRequest(Wire, frozen=True, kw_only=True):
    """`models.request`."""

    session_id: OpaqueId
    allow_degraded_features: Maybe[Texts] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "allow_degraded_features")


class ModelsResponse(Wire, frozen=True, kw_only=True):
    """`models.response`; its envelope names the revision the catalog belongs to."""

    session_id: OpaqueId
    models: tuple[ModelDescriptor, ...]
    current_model_id: Maybe[Text] = UNSET
    providers: Maybe[tuple[SessionProvider, ...]] = UNSET
    as_of_model_event: Maybe[ModelEventPosition] = UNSET


class ModelSwitchRequest(Wire, frozen=True, kw_only=True):
    """`session.model.switch.request`: the model of later runs; a run under way keeps its own."""

    session_id: OpaqueId
    model_id: Text
    allow_degraded_features: Maybe[Texts] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "allow_degraded_features")


class ModelSwitchResponse(Wire, frozen=True, kw_only=True):
    """`session.model.switch.response`."""

    session_id: OpaqueId
    model_id: Text
    previous_model_id: Maybe[Text] = UNSET


class ProviderAttachment(Wire, frozen=True, kw_only=True):
    """A provider to attach under an id of the client's."""

    id: Text
    provider_id: Text
    service_id: Maybe[Text] = UNSET


class ProviderAttachRequest(Wire, frozen=True, kw_only=True):
    """`session.provider.attach.request`."""

    session_id: OpaqueId
    provider: ProviderAttachment
    allow_degraded_features: Maybe[Texts] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "allow_degraded_features")


class ProviderAttachResponse(Wire, frozen=True, kw_only=True):
    """`session.provider.attach.response`."""

    session_id: OpaqueId
    provider_id: Text
