"""One inference of the model-provider-core profile: create, its parts as they stream, its terminal, cancel and sync
(inference.schema.json, and the error set of provider.schema.json).

The shapes alone stand here; their order is `control.provider.machine`, writing them in order `control.provider.writer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sayso.control.protocol.payloads.content import ImagePart, Message, ReasoningPart, TextPart, ToolResultPart, Usage
from sayso.control.protocol.payloads.scalars import (
    UNSET,
    Json,
    JsonObject,
    Maybe,
    Natural,
    OpaqueId,
    Ordinal,
    Role,
    Text,
    Wire,
)

__all__ = (
    "Honoured",
    "InferenceCancelRequest",
    "InferenceCancelResponse",
    "InferenceCompleted",
    "InferenceCreateRequest",
    "InferenceCreateResponse",
    "InferenceFailed",
    "InferenceStarted",
    "InferenceSyncRequest",
    "InferenceSyncResponse",
    "InferenceTool",
    "PartDelta",
    "PartEnded",
    "PartKind",
    "PartStarted",
    "ProviderError",
    "ProviderErrorCode",
    "ReasoningLevel",
    "ReasoningRequest",
    "SnapshotMessage",
    "SnapshotPolicy",
    "SnapshotToolCall",
    "StopReason",
    "ToolCallEnd",
)

PartKind = Literal["text", "reasoning", "tool_call"]
StopReason = Literal["stop", "length", "tool_use", "content_filter", "error", "aborted"]
SnapshotPolicy = Literal["never", "on_part_end", "every_delta"]
ReasoningLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
ProviderErrorCode = Literal[
    "rate_limited",
    "provider_unavailable",
    "resource_exhausted",
    "endpoint_error",
    "credential_expired",
    "credential_missing",
    "credential_rejected",
    "invalid_request",
    "protocol_violation",
    "unsupported_version",
    "unsupported_feature",
    "model_not_found",
    "aborted",
]


class ProviderError(Wire, frozen=True, kw_only=True):
    """A provider's error: the closed set of thirteen codes."""

    code: ProviderErrorCode
    message: Text
    retriable: Maybe[bool] = UNSET
    details: Maybe[JsonObject] = UNSET


class ReasoningRequest(Wire, frozen=True, kw_only=True):
    """How much the model may think."""

    enabled: Maybe[bool] = UNSET
    budget_tokens: Maybe[Natural] = UNSET
    effort: Maybe[ReasoningLevel] = UNSET


class InferenceTool(Wire, frozen=True, kw_only=True):
    """A tool as the model is told about it."""

    name: Text
    input_schema: Json
    description: Maybe[str] = UNSET


class InferenceCreateRequest(Wire, frozen=True, kw_only=True):
    """`inference.create.request`. `metadata` never goes upstream; `headers` may carry no credential."""

    model_ref: Text
    messages: tuple[Message, ...]
    tools: Maybe[tuple[InferenceTool, ...]] = UNSET
    tool_choice: Maybe[Json] = UNSET
    max_output_tokens: Maybe[Ordinal] = UNSET
    temperature: Maybe[float] = UNSET
    top_p: Maybe[float] = UNSET
    output_schema: Maybe[Json] = UNSET
    stream: Maybe[bool] = UNSET
    reasoning: Maybe[ReasoningRequest] = UNSET
    include_snapshot: Maybe[SnapshotPolicy] = UNSET
    allow_degraded_features: Maybe[tuple[Text, ...]] = UNSET
    headers: Maybe[Mapping[str, str]] = UNSET
    credential_ref: Maybe[Text] = UNSET
    metadata: Maybe[JsonObject] = UNSET


class Honoured(Wire, frozen=True, kw_only=True):
    """What the provider promises for this inference."""

    include_snapshot: SnapshotPolicy


class InferenceCreateResponse(Wire, frozen=True, kw_only=True):
    """`inference.create.response`: accepted with what is honoured, or refused with an error and nothing allocated."""

    accepted: bool
    honoured: Maybe[Honoured] = UNSET
    error: Maybe[ProviderError] = UNSET

    def __post_init__(self) -> None:
        if self.accepted != (self.honoured is not UNSET) or self.accepted == (self.error is not UNSET):
            raise ValueError("an accepted create has `honoured`, a refused one has `error`")


class InferenceStarted(Wire, frozen=True, kw_only=True):
    """`inference.started`."""

    model_ref: Text
    started_at_ms: Maybe[int] = UNSET
    endpoint: Maybe[str] = UNSET


class PartStarted(Wire, frozen=True, kw_only=True):
    """`inference.part.started`: a tool call names itself at once, the other kinds never do."""

    part_index: Natural
    part_kind: PartKind
    tool_call_id: Maybe[OpaqueId] = UNSET
    name: Maybe[Text] = UNSET

    def __post_init__(self) -> None:
        is_call = self.part_kind == "tool_call"
        if is_call != (self.tool_call_id is not UNSET) or is_call != (self.name is not UNSET):
            raise ValueError("a tool_call part, and no other, starts with `tool_call_id` and `name`")


class SnapshotToolCall(Wire, frozen=True, kw_only=True, tag_field="type", tag="tool_call"):
    """A tool call inside a snapshot: complete arguments, or the text received so far."""

    tool_call_id: OpaqueId
    name: Text
    arguments_json: Maybe[Json] = UNSET
    arguments_partial: Maybe[str] = UNSET
    carry: Maybe[str] = UNSET

    def __post_init__(self) -> None:
        if (self.arguments_json is UNSET) == (self.arguments_partial is UNSET):
            raise ValueError("a tool call of a snapshot has either `arguments_json` or `arguments_partial`")


SnapshotPart = TextPart | ReasoningPart | ImagePart | SnapshotToolCall | ToolResultPart


class SnapshotMessage(Wire, frozen=True, kw_only=True):
    """One message of a snapshot."""

    role: Role
    content: str | tuple[SnapshotPart, ...]
    id: Maybe[OpaqueId] = UNSET
    metadata: Maybe[JsonObject] = UNSET


class PartDelta(Wire, frozen=True, kw_only=True):
    """`inference.part.delta`: more of a part; for a tool call, more of its arguments' text."""

    part_index: Natural
    delta: str
    snapshot: Maybe[tuple[SnapshotMessage, ...]] = UNSET


class ToolCallEnd(Wire, frozen=True, kw_only=True):
    """The whole call, arguments parsed."""

    tool_call_id: OpaqueId
    name: Text
    arguments_json: Json


class PartEnded(Wire, frozen=True, kw_only=True):
    """`inference.part.ended`: the part as it stands; it replaces what the deltas added up to."""

    part_index: Natural
    part_kind: PartKind
    text: Maybe[str] = UNSET
    tool_call: Maybe[ToolCallEnd] = UNSET
    carry: Maybe[str] = UNSET
    snapshot: Maybe[tuple[SnapshotMessage, ...]] = UNSET

    def __post_init__(self) -> None:
        is_call = self.part_kind == "tool_call"
        if is_call != (self.tool_call is not UNSET) or is_call == (self.text is not UNSET):
            raise ValueError("a tool_call part ends with `tool_call`, any other with `text`")
        if self.part_kind == "text" and self.carry is not UNSET:
            raise ValueError("only tool_call and reasoning parts have a carry")


class InferenceCompleted(Wire, frozen=True, kw_only=True):
    """`inference.completed`: the ended parts in index order with their carries, and why the model stopped."""

    message: Message
    stop_reason: StopReason
    usage: Maybe[Usage] = UNSET


class InferenceFailed(Wire, frozen=True, kw_only=True):
    """`inference.failed`."""

    error: ProviderError
    usage: Maybe[Usage] = UNSET


class InferenceCancelRequest(Wire, frozen=True, kw_only=True):
    """`inference.cancel.request`; settles the inference as completed with stop reason `aborted`."""

    reason: Maybe[str] = UNSET


class InferenceCancelResponse(Wire, frozen=True, kw_only=True):
    """`inference.cancel.response`: intent only."""

    accepted: bool


class InferenceSyncRequest(Wire, frozen=True, kw_only=True):
    """`inference.sync.request`."""


class InferenceSyncResponse(Wire, frozen=True, kw_only=True):
    """`inference.sync.response`."""

    snapshot: Maybe[tuple[SnapshotMessage, ...]] = UNSET
