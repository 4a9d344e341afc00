"""Opening a session, its state, and submitting a message to it (session.schema.json)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from sayso.control.protocol.payloads.capabilities import (
    EffectiveDelivery,
    RequestedDelivery,
    ToolDefinition,
    ToolSourceDescriptor,
    ToolSourceKind,
)
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.inference import ReasoningLevel
from sayso.control.protocol.payloads.run import Recovery, RunStatus
from sayso.control.protocol.payloads.scalars import (
    UNSET,
    Json,
    JsonObject,
    Maybe,
    Natural,
    OpaqueId,
    Ordinal,
    Percent,
    Texts,
    Wire,
    refuse_repeats,
)

__all__ = (
    "ActiveRun",
    "Admission",
    "CompactionPolicy",
    "MessageSubmitRequest",
    "MessageSubmitResponse",
    "OpenMessage",
    "PendingSteer",
    "RunPosition",
    "SessionCapture",
    "SessionOpenRequest",
    "SessionState",
    "SessionStateRequest",
    "SessionStatus",
    "SettledRun",
    "ToolSourceAttachment",
)

SessionStatus = Literal["idle", "queued", "running", "waiting_for_input", "closed", "error"]
Admission = Literal["started", "queued", "steered", "side_started", "rejected"]
Ids = tuple[OpaqueId, ...]
Messages = Annotated[tuple[Message, ...], Meta(min_length=1)]


class CompactionPolicy(Wire, frozen=True, kw_only=True):
    """When history is summarized."""

    kind: Literal["auto", "off", "share", "tokens"]
    share_percent: Maybe[Percent] = UNSET
    tokens: Maybe[Ordinal] = UNSET

    def __post_init__(self) -> None:
        if (self.kind == "share") != (self.share_percent is not UNSET) or (self.kind == "tokens") != (
            self.tokens is not UNSET
        ):
            raise ValueError("`share` has `share_percent`, `tokens` has `tokens`, and no other kind has either")


class PendingSteer(Wire, frozen=True, kw_only=True):
    """A steer that has not settled."""

    submission_id: OpaqueId
    request_id: OpaqueId


class ActiveRun(Wire, frozen=True, kw_only=True):
    """A run that has not ended, as `session.state` lists it."""

    run_id: OpaqueId
    status: RunStatus
    relationship: Literal["primary"]
    queue_position: Maybe[Ordinal] = UNSET
    as_of_sequence: Maybe[Natural] = UNSET
    admitted_submit_requests: Maybe[Ids] = UNSET
    pending_interactions: Maybe[Ids] = UNSET
    acknowledged_interactions: Maybe[Ids] = UNSET
    pending_steers: Maybe[tuple[PendingSteer, ...]] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(
            self, "admitted_submit_requests", "pending_interactions", "acknowledged_interactions", "pending_steers"
        )


class RunPosition(Wire, frozen=True, kw_only=True):
    """A point in a run's sequence, or before any run."""

    run_id: OpaqueId | None
    sequence: Natural


class SettledRun(Wire, frozen=True, kw_only=True):
    """A run that ended, and the number of its terminal."""

    run_id: OpaqueId
    sequence: Ordinal


class SessionCapture(Wire, frozen=True, kw_only=True):
    """When a state was captured, in the run's own numbers."""

    admitted_submit_requests: Maybe[Ids] = UNSET
    settled: Maybe[tuple[SettledRun, ...]] = UNSET
    model_run_sequence: Maybe[RunPosition] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "admitted_submit_requests")


class SessionState(Wire, frozen=True, kw_only=True):
    """`session.open.response`, `session.state.response` and `session.state.updated`."""

    session_id: OpaqueId
    status: SessionStatus
    active_run_id: Maybe[OpaqueId] = UNSET
    active_runs: Maybe[tuple[ActiveRun, ...]] = UNSET
    current_model_id: Maybe[str] = UNSET
    transcript_cursor: Maybe[str] = UNSET
    updated_at_ms: Maybe[int] = UNSET
    metadata: Maybe[JsonObject] = UNSET
    sources: Maybe[tuple[ToolSourceDescriptor, ...]] = UNSET
    recovery: Maybe[Recovery] = UNSET
    as_of: Maybe[SessionCapture] = UNSET
    reasoning_level: Maybe[ReasoningLevel] = UNSET
    compaction_policy: Maybe[CompactionPolicy] = UNSET


class ToolSourceAttachment(Wire, frozen=True, kw_only=True):
    """A source of tools a client asks for. Over a wire only `id` may choose: the hub refuses the rest."""

    id: OpaqueId
    kind: ToolSourceKind
    display_name: Maybe[str] = UNSET
    protocol: Maybe[str] = UNSET
    endpoint: Maybe[str] = UNSET
    command: Maybe[str] = UNSET
    args: Maybe[tuple[str, ...]] = UNSET
    environment: Maybe[Texts] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "environment")


class OpenMessage(Wire, frozen=True, kw_only=True):
    """A first message submitted with the open."""

    messages: Messages
    delivery: RequestedDelivery
    model_id: Maybe[str] = UNSET
    instructions: Maybe[str] = UNSET
    tool_choice: Maybe[Json] = UNSET
    output_schema: Maybe[JsonObject] = UNSET
    allow_degraded_features: Maybe[Texts] = UNSET
    metadata: Maybe[JsonObject] = UNSET
    target_run_id: Maybe[OpaqueId] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "allow_degraded_features")


class SessionOpenRequest(Wire, frozen=True, kw_only=True):
    """`session.open.request`."""

    session_id: Maybe[OpaqueId] = UNSET
    subscribe: Maybe[bool] = UNSET
    reopen: Maybe[bool] = UNSET
    message: Maybe[OpenMessage] = UNSET
    metadata: Maybe[JsonObject] = UNSET
    tool_sources: Maybe[tuple[ToolSourceAttachment, ...]] = UNSET
    tools: Maybe[tuple[ToolDefinition, ...]] = UNSET
    allow_degraded_features: Maybe[Texts] = UNSET
    recovery: Maybe[Recovery] = UNSET
    reasoning_level: Maybe[ReasoningLevel] = UNSET
    compaction_policy: Maybe[CompactionPolicy] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "allow_degraded_features")
        if self.reopen is True and self.session_id is UNSET:
            raise ValueError("a reopen names its `session_id`")


class SessionStateRequest(Wire, frozen=True, kw_only=True):
    """`session.state.request`."""

    session_id: OpaqueId


class MessageSubmitRequest(Wire, frozen=True, kw_only=True):
    """`session.message.submit.request`."""

    session_id: OpaqueId
    messages: Messages
    delivery: RequestedDelivery
    model_id: Maybe[str] = UNSET
    instructions: Maybe[str] = UNSET
    tool_choice: Maybe[Json] = UNSET
    output_schema: Maybe[JsonObject] = UNSET
    allow_degraded_features: Maybe[Texts] = UNSET
    metadata: Maybe[JsonObject] = UNSET
    target_run_id: Maybe[OpaqueId] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "allow_degraded_features")


class MessageSubmitResponse(Wire, frozen=True, kw_only=True):
    """`session.message.submit.response`: how the message was admitted, and as which run."""

    session_id: OpaqueId
    accepted: bool
    submission_id: OpaqueId
    requested_delivery: RequestedDelivery
    effective_delivery: EffectiveDelivery
    admission: Admission
    delivery_resolution: Maybe[str] = UNSET
    run_id: Maybe[OpaqueId] = UNSET
    status: Maybe[RunStatus] = UNSET
    model_id: Maybe[str] = UNSET
    message_ids: Maybe[Ids] = UNSET
    target_sequence: Maybe[Ordinal] = UNSET
