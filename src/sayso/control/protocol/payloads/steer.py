"""How a steer ended, told in the sequence of the run it was for (run.schema.json). Each settles once (OAP-057)."""

from __future__ import annotations

from typing import Literal

from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.scalars import OpaqueId, Wire

__all__ = ("RunSteerApplied", "RunSteerDropped", "SteerBoundary")

SteerBoundary = Literal["immediate", "turn", "tool_result", "unknown"]


class RunSteerApplied(Wire, frozen=True, kw_only=True):
    """`run.steer.applied`: the messages joined the run at `boundary`; `request_id` is the submit's envelope id."""

    session_id: OpaqueId
    run_id: OpaqueId
    submission_id: OpaqueId
    request_id: OpaqueId
    message_ids: tuple[OpaqueId, ...]
    boundary: SteerBoundary


class RunSteerDropped(Wire, frozen=True, kw_only=True):
    """`run.steer.dropped`: the run will not take the messages."""

    session_id: OpaqueId
    run_id: OpaqueId
    submission_id: OpaqueId
    request_id: OpaqueId
    reason: ProtocolError
