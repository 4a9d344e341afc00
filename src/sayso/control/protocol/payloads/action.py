"""Tools: their list, one call's life, and the permission a call may need (action.schema.json)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from sayso.control.protocol.payloads.capabilities import ToolDefinition, ToolSourceDescriptor
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.scalars import UNSET, Json, Maybe, OpaqueId, Text, Texts, Wire, refuse_repeats

__all__ = (
    "ActionCallCancelled",
    "ActionCallCompleted",
    "ActionCallFailed",
    "ActionCallProgress",
    "ActionCallRequested",
    "ActionCallResolveRequest",
    "ActionCallResolveResponse",
    "ActionCallStarted",
    "CallAcknowledgement",
    "CallRefusal",
    "CallRefusalReason",
    "PermissionChoice",
    "PermissionOutcome",
    "PermissionRequested",
    "PermissionResolveRequest",
    "PermissionResolveResponse",
    "PermissionResolved",
    "ToolsListRequest",
    "ToolsListResponse",
)

PermissionOutcome = Literal["resolved", "rejected", "cancelled", "failed"]
CallRefusalReason = Literal[
    "unknown_interaction", "wrong_responder", "already_resolved", "repeated_acknowledgement", "late_acknowledgement"
]


class ToolsListRequest(Wire, frozen=True, kw_only=True):
    """`action.tools.list.request`."""

    session_id: Maybe[OpaqueId] = UNSET
    allow_degraded_features: Maybe[Texts] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "allow_degraded_features")


class ToolsListResponse(Wire, frozen=True, kw_only=True):
    """`action.tools.list.response`; its envelope names the revision."""

    tools: tuple[ToolDefinition, ...]
    session_id: Maybe[OpaqueId] = UNSET
    sources: Maybe[tuple[ToolSourceDescriptor, ...]] = UNSET


class ActionCallRequested(Wire, frozen=True, kw_only=True):
    """`action.call.requested`: the model asked for a tool; `execution_owner` is who will run it."""

    session_id: OpaqueId
    run_id: OpaqueId
    tool_call_id: OpaqueId
    requested_by: OpaqueId
    execution_owner: OpaqueId
    name: Text
    arguments_json: Json
    interaction_id: Maybe[OpaqueId] = UNSET
    responded_by: Maybe[OpaqueId] = UNSET
    source: Maybe[OpaqueId] = UNSET


class ActionCallStarted(Wire, frozen=True, kw_only=True):
    """`action.call.started`."""

    session_id: OpaqueId
    run_id: OpaqueId
    tool_call_id: OpaqueId
    execution_owner: OpaqueId
    name: Text
    interaction_id: Maybe[OpaqueId] = UNSET
    request_id: Maybe[OpaqueId] = UNSET
    requested_by: Maybe[OpaqueId] = UNSET
    responded_by: Maybe[OpaqueId] = UNSET
    source: Maybe[OpaqueId] = UNSET
    arguments_json: Maybe[Json] = UNSET


class ActionCallProgress(Wire, frozen=True, kw_only=True):
    """`action.call.progress`."""

    session_id: OpaqueId
    run_id: OpaqueId
    tool_call_id: OpaqueId
    execution_owner: OpaqueId
    progress: Json
    interaction_id: Maybe[OpaqueId] = UNSET
    requested_by: Maybe[OpaqueId] = UNSET
    responded_by: Maybe[OpaqueId] = UNSET
    source: Maybe[OpaqueId] = UNSET
    name: Maybe[str] = UNSET


class ActionCallCompleted(Wire, frozen=True, kw_only=True):
    """`action.call.completed`."""

    session_id: OpaqueId
    run_id: OpaqueId
    tool_call_id: OpaqueId
    execution_owner: OpaqueId
    result: Json
    interaction_id: Maybe[OpaqueId] = UNSET
    request_id: Maybe[OpaqueId] = UNSET
    requested_by: Maybe[OpaqueId] = UNSET
    responded_by: Maybe[OpaqueId] = UNSET
    source: Maybe[OpaqueId] = UNSET
    name: Maybe[str] = UNSET


class ActionCallFailed(Wire, frozen=True, kw_only=True):
    """`action.call.failed`."""

    session_id: OpaqueId
    run_id: OpaqueId
    tool_call_id: OpaqueId
    execution_owner: OpaqueId
    error: ProtocolError
    interaction_id: Maybe[OpaqueId] = UNSET
    request_id: Maybe[OpaqueId] = UNSET
    requested_by: Maybe[OpaqueId] = UNSET
    responded_by: Maybe[OpaqueId] = UNSET
    source: Maybe[OpaqueId] = UNSET
    name: Maybe[str] = UNSET


class ActionCallCancelled(Wire, frozen=True, kw_only=True):
    """`action.call.cancelled`."""

    session_id: OpaqueId
    run_id: OpaqueId
    tool_call_id: OpaqueId
    execution_owner: OpaqueId
    interaction_id: Maybe[OpaqueId] = UNSET
    requested_by: Maybe[OpaqueId] = UNSET
    responded_by: Maybe[OpaqueId] = UNSET
    source: Maybe[OpaqueId] = UNSET
    name: Maybe[str] = UNSET


class CallAcknowledgement(Wire, frozen=True, kw_only=True):
    """The client has begun to run its tool; it says nothing more."""


class ActionCallResolveRequest(Wire, frozen=True, kw_only=True):
    """`action.call.resolve.request`: the client says that its tool began, or how it ended."""

    interaction_id: OpaqueId
    session_id: OpaqueId
    run_id: OpaqueId
    tool_call_id: OpaqueId
    requested_by: OpaqueId
    responded_by: OpaqueId
    started: Maybe[CallAcknowledgement] = UNSET
    result: Maybe[Json] = UNSET
    error: Maybe[ProtocolError] = UNSET

    def __post_init__(self) -> None:
        if sum(said is not UNSET for said in (self.started, self.result, self.error)) != 1:
            raise ValueError("a resolve has exactly one of `started`, `result` and `error`")


class CallRefusal(Wire, frozen=True, kw_only=True):
    """Beside `already_resolved`: the request that settled the call."""

    settlement_id: Maybe[OpaqueId] = UNSET


class ActionCallResolveResponse(Wire, frozen=True, kw_only=True):
    """`action.call.resolve.response`."""

    interaction_id: OpaqueId
    session_id: OpaqueId
    run_id: OpaqueId
    tool_call_id: OpaqueId
    accepted: bool
    reason: Maybe[CallRefusalReason] = UNSET
    details: Maybe[CallRefusal] = UNSET

    def __post_init__(self) -> None:
        if self.accepted == (self.reason is not UNSET):
            raise ValueError("a refusal, and no other answer, has a `reason`")
        settlement = UNSET if self.details is UNSET else self.details.settlement_id
        if (self.reason == "already_resolved") != (settlement is not UNSET) or (
            self.details is not UNSET and settlement is UNSET
        ):
            raise ValueError("`already_resolved`, and no other reason, has `details.settlement_id`")


class PermissionChoice(Wire, frozen=True, kw_only=True):
    """One way to answer."""

    id: Text
    label: Text
    description: Maybe[str] = UNSET


class PermissionRequested(Wire, frozen=True, kw_only=True):
    """`action.permission.requested`: only `responded_by` may answer, once."""

    interaction_id: OpaqueId
    requested_by: OpaqueId
    responded_by: OpaqueId
    session_id: OpaqueId
    run_id: OpaqueId
    title: Text
    choices: Annotated[tuple[PermissionChoice, ...], Meta(min_length=1)]
    tool_call_id: Maybe[OpaqueId] = UNSET
    description: Maybe[str] = UNSET
    arguments_json: Maybe[Json] = UNSET


class PermissionResolveRequest(Wire, frozen=True, kw_only=True):
    """`action.permission.resolve.request`."""

    interaction_id: OpaqueId
    requested_by: OpaqueId
    responded_by: OpaqueId
    session_id: OpaqueId
    run_id: OpaqueId
    granted: bool
    choice_id: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET
    updated_arguments_json: Maybe[Json] = UNSET


class PermissionResolveResponse(Wire, frozen=True, kw_only=True):
    """`action.permission.resolve.response`."""

    interaction_id: OpaqueId
    session_id: OpaqueId
    run_id: OpaqueId
    accepted: bool


class PermissionResolved(Wire, frozen=True, kw_only=True):
    """`action.permission.resolved`: how the interaction ended; here `reason` is an error object."""

    interaction_id: OpaqueId
    requested_by: OpaqueId
    responded_by: OpaqueId
    session_id: OpaqueId
    run_id: OpaqueId
    outcome: PermissionOutcome
    tool_call_id: Maybe[OpaqueId] = UNSET
    choice_id: Maybe[str] = UNSET
    granted: Maybe[bool] = UNSET
    reason: Maybe[ProtocolError] = UNSET
