"""One run: cancel, start, status, content and the three terminals (run.schema.json)."""

from __future__ import annotations

from typing import Literal

from sayso.control.protocol.payloads.content import ContentPart, Message, Usage
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe, Natural, OpaqueId, Text, Wire

__all__ = (
    "ContentDelta",
    "Recovery",
    "RunCancelRequest",
    "RunCancelResponse",
    "RunCancelled",
    "RunCompleted",
    "RunFailed",
    "RunStarted",
    "RunStatus",
    "RunStatusUpdated",
    "SettledBy",
)

RunStatus = Literal["queued", "running", "waiting_for_input", "cancelling", "completed", "failed", "cancelled"]
SettledBy = Literal["observed", "inferred"]


class Recovery(Wire, frozen=True, kw_only=True):
    """What was recovered, and up to where."""

    recovered: Maybe[bool] = UNSET
    previous_session_id: Maybe[OpaqueId] = UNSET
    previous_run_id: Maybe[OpaqueId] = UNSET
    resume_cursor: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET


class RunCancelRequest(Wire, frozen=True, kw_only=True):
    """`run.cancel.request`."""

    session_id: OpaqueId
    run_id: OpaqueId
    reason: Maybe[str] = UNSET


class RunCancelResponse(Wire, frozen=True, kw_only=True):
    """`run.cancel.response`: intent only; completion or failure may still win."""

    session_id: OpaqueId
    run_id: OpaqueId
    accepted: bool
    status: RunStatus


class RunStarted(Wire, frozen=True, kw_only=True):
    """`run.started`: the run's first event unless it settles before it starts."""

    session_id: OpaqueId
    run_id: OpaqueId
    status: Literal["running"]
    model_id: Maybe[str] = UNSET
    started_at_ms: Maybe[int] = UNSET


class RunStatusUpdated(Wire, frozen=True, kw_only=True):
    """`run.status.updated`."""

    session_id: OpaqueId
    run_id: OpaqueId
    status: RunStatus
    pending_user_input_id: Maybe[OpaqueId] = UNSET
    updated_at_ms: Maybe[int] = UNSET


class ContentDelta(Wire, frozen=True, kw_only=True):
    """`content.delta`: more of a message, as a content part."""

    session_id: OpaqueId
    run_id: OpaqueId
    part: ContentPart
    message_id: Maybe[OpaqueId] = UNSET


class RunCompleted(Wire, frozen=True, kw_only=True):
    """`run.completed`."""

    session_id: OpaqueId
    run_id: OpaqueId
    final_response: Message
    stop_reason: Text
    model_id: Maybe[str] = UNSET
    result: Maybe[JsonObject] = UNSET
    usage: Maybe[Usage] = UNSET
    duration_ms: Maybe[Natural] = UNSET
    settled_by: Maybe[SettledBy] = UNSET


class RunFailed(Wire, frozen=True, kw_only=True):
    """`run.failed`."""

    session_id: OpaqueId
    run_id: OpaqueId
    error: ProtocolError
    usage: Maybe[Usage] = UNSET
    duration_ms: Maybe[Natural] = UNSET
    recovery: Maybe[Recovery] = UNSET
    settled_by: Maybe[SettledBy] = UNSET


class RunCancelled(Wire, frozen=True, kw_only=True):
    """`run.cancelled`: follows an accepted cancel."""

    session_id: OpaqueId
    run_id: OpaqueId
    reason: Maybe[str] = UNSET
    usage: Maybe[Usage] = UNSET
    duration_ms: Maybe[Natural] = UNSET
    settled_by: Maybe[SettledBy] = UNSET
