"""Compacting a session's history: asked for, admitted like a message, and bracketed by two events of its run
(session.schema.json and run.schema.json).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from sayso.control.protocol.payloads.capabilities import EffectiveDelivery, RequestedDelivery
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.run import RunStatus
from sayso.control.protocol.payloads.scalars import (
    UNSET,
    JsonObject,
    Maybe,
    Natural,
    OpaqueId,
    Texts,
    Wire,
    refuse_repeats,
)
from sayso.control.protocol.payloads.session import Admission

__all__ = (
    "CompactionOutcome",
    "CompactionReason",
    "RunCompactionEnded",
    "RunCompactionStarted",
    "SessionCompactRequest",
    "SessionCompactResponse",
)

CompactionReason = Literal["requested", "threshold", "overflow"]
CompactionOutcome = Literal["completed", "failed", "cancelled"]


class SessionCompactRequest(Wire, frozen=True, kw_only=True):
    """`session.compact.request`: `focus` says what the summary keeps, `continue` asks for a turn after it."""

    session_id: OpaqueId
    delivery: Maybe[RequestedDelivery] = UNSET
    focus: Maybe[str] = UNSET
    continue_: Maybe[bool] = msgspec.field(default=UNSET, name="continue")
    allow_degraded_features: Maybe[Texts] = UNSET
    metadata: Maybe[JsonObject] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "allow_degraded_features")


class SessionCompactResponse(Wire, frozen=True, kw_only=True):
    """`session.compact.response`: admitted as a run, like a submit."""

    session_id: OpaqueId
    accepted: bool
    submission_id: OpaqueId
    requested_delivery: RequestedDelivery
    effective_delivery: EffectiveDelivery
    admission: Admission
    delivery_resolution: Maybe[str] = UNSET
    run_id: Maybe[OpaqueId] = UNSET
    status: Maybe[RunStatus] = UNSET


class RunCompactionStarted(Wire, frozen=True, kw_only=True):
    """`run.compaction.started`."""

    session_id: OpaqueId
    run_id: OpaqueId
    compaction_id: OpaqueId
    reason: CompactionReason
    history_tokens: Maybe[Natural] = UNSET


class RunCompactionEnded(Wire, frozen=True, kw_only=True):
    """`run.compaction.ended`: the history changed only when the outcome is `completed`."""

    session_id: OpaqueId
    run_id: OpaqueId
    compaction_id: OpaqueId
    outcome: CompactionOutcome
    summary: Maybe[Message] = UNSET
    history_tokens: Maybe[Natural] = UNSET
    error: Maybe[ProtocolError] = UNSET
