"""What frames a run on any transport: the names of its terminals, and the three signals of an event stream (OAP-110).

A signal is framing, not an envelope: it has no id and no number, and stands under its name beside the envelopes.
"""

from __future__ import annotations

from sayso.control.protocol.payloads.scalars import Natural, OpaqueId, Ordinal, Wire

__all__ = ("OVERFLOW", "REPLAY_GAP", "SUBSCRIBED", "TERMINALS", "JoinedSignal", "OverflowSignal", "ReplayGapSignal")

TERMINALS = ("run.completed", "run.failed", "run.cancelled")
SUBSCRIBED = "oap-subscribed"
OVERFLOW = "oap-overflow"
REPLAY_GAP = "oap-replay-gap"


class JoinedSignal(Wire, frozen=True, kw_only=True):
    """`oap-subscribed`, first of its stream: it joined a run behind the event `joined_after`."""

    session_id: OpaqueId
    run_id: OpaqueId
    joined_after: Ordinal


class OverflowSignal(Wire, frozen=True, kw_only=True):
    """`oap-overflow`, last of its stream: the reader fell behind; `last_sequence` is what it really got."""

    session_id: OpaqueId
    run_id: str
    last_sequence: Natural


class ReplayGapSignal(Wire, frozen=True, kw_only=True):
    """`oap-replay-gap`, last of its stream: the cursor is no longer kept, these events are."""

    session_id: OpaqueId
    run_id: OpaqueId
    oldest_available: Ordinal
    latest_available: Natural
