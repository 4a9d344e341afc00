"""A steer: guidance into a run under way, admitted without a run of its own and settled once before the target's
terminal, in the target's sequence (OAP-056, OAP-057). `queue` admits it; here it settles.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from sayso.control.protocol.conversation import Run, SteerState
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.machine.faults import Faults
from sayso.control.protocol.payloads.scalars import Wire

__all__ = ("STEER_TABLE", "SteerMove", "steer_event")


class SteerMove(Enum):
    """What an admission or an event does to a steer."""

    ADMIT = "admitted as steered"
    APPLY = "run.steer.applied"
    DROP = "run.steer.dropped"


STEER_TABLE: Mapping[tuple[SteerState, SteerMove], SteerState] = {
    (SteerState.ABSENT, SteerMove.ADMIT): SteerState.PENDING,
    (SteerState.PENDING, SteerMove.APPLY): SteerState.APPLIED,
    (SteerState.PENDING, SteerMove.DROP): SteerState.DROPPED,
}
_LANDS = {SteerMove.APPLY: SteerState.APPLIED, SteerMove.DROP: SteerState.DROPPED}


def steer_event(run: Run, envelope: Envelope[Wire], faults: Faults, *, is_partial: bool) -> Run:
    """The run after guidance settled."""
    name, move = str(getattr(envelope.payload, "request_id", "")), SteerMove(envelope.type)
    before = run.steers.get(name, SteerState.ABSENT)
    after = STEER_TABLE.get((before, move))
    if after is None and before is SteerState.ABSENT and (is_partial or run.is_met):
        after = _LANDS[move]
    if after is None:
        faults.add("illegal_run_transition", f"a steer that is {before.value} cannot be {_LANDS[move].value}")
        return run
    return msgspec.structs.replace(run, steers=run.steers.set(name, after))
