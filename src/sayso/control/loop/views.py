"""What a session of our own loop shows of itself: its state and the runs that have not ended for everybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sayso.control.loop.driver import RunDriver
from sayso.control.loop.line.places import Place, RunLine, Standing
from sayso.control.loop.run import Phase
from sayso.control.loop.told import RunTold
from sayso.control.protocol.payloads.capabilities import ToolSourceDescriptor
from sayso.control.protocol.payloads.inference import ReasoningLevel
from sayso.control.protocol.payloads.run import Recovery, RunStatus
from sayso.control.protocol.payloads.scalars import UNSET, Maybe
from sayso.control.protocol.payloads.session import (
    ActiveRun,
    CompactionPolicy,
    PendingSteer,
    SessionCapture,
    SessionState,
    SessionStatus,
    SettledRun,
)

__all__ = ("SessionView", "state_of")

_STATUS: Mapping[Phase, RunStatus] = {
    Phase.THINKING: "running",
    Phase.CALLING: "running",
    Phase.COMPACTING: "running",
    Phase.ASKING: "waiting_for_input",
    Phase.HANDED: "waiting_for_input",
    Phase.WINDING: "cancelling",
    Phase.RELEASING: "cancelling",
    Phase.ENDED: "running",
}
"""A run that has ended is still told as running until its terminal was read."""
_SETTLED = 64
"""How many of the runs that are over a state names: the latest; a long session's state must not grow with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """What there is to show. `requests` names the request that each run was admitted for."""

    session_id: str
    line: RunLine
    drivers: Mapping[str, RunDriver]
    told: Mapping[str, RunTold]
    requests: Mapping[str, str]
    model_ref: str
    sources: tuple[ToolSourceDescriptor, ...]
    policy: Maybe[CompactionPolicy]
    level: Maybe[ReasoningLevel]
    is_recovered: bool
    at_ms: int


def state_of(view: SessionView) -> SessionState:
    """The whole state. A run whose terminal was not read yet is still listed, as it stood before."""
    active = tuple(_active(view, place) for place in view.line.places)
    at_work = view.line.at_work
    status: SessionStatus = "idle"
    if view.line.is_closed:
        status = "closed"
    elif at_work is not None:
        run = next(run for run in active if run.run_id == at_work.run_id)
        status = "waiting_for_input" if run.status == "waiting_for_input" else "running"
    elif active:
        status = "queued"
    is_over = view.line.is_closed
    return SessionState(
        session_id=view.session_id,
        status=status,
        active_run_id=UNSET if at_work is None or is_over else at_work.run_id,
        active_runs=() if is_over else active,
        current_model_id=view.model_ref,
        updated_at_ms=view.at_ms,
        sources=view.sources,
        recovery=Recovery(recovered=True, previous_session_id=view.session_id) if view.is_recovered else UNSET,
        as_of=_captured(view),
        reasoning_level=view.level,
        compaction_policy=CompactionPolicy(kind="auto") if view.policy is UNSET else view.policy,
    )


def _captured(view: SessionView) -> SessionCapture:
    live = {place.run_id for place in view.line.places}
    over = [name for name in view.told if name not in live][-_SETTLED:]
    return SessionCapture(
        admitted_submit_requests=tuple(view.requests[name] for name in view.told if name in live),
        settled=tuple(SettledRun(run_id=name, sequence=view.told[name].sequence) for name in over),
    )


def _active(view: SessionView, place: Place) -> ActiveRun:
    told, driver = view.told[place.run_id], view.drivers.get(place.run_id)
    run = None if driver is None else driver.run
    open_ = (run.interaction_id,) if run is not None and run.interaction_id else ()
    is_taken = run is not None and run.phase is Phase.HANDED and run.current and run.current.acknowledged
    return ActiveRun(
        run_id=place.run_id,
        status=_status(place, None if run is None else run.phase),
        relationship="primary",
        queue_position=_position(view.line, place),
        as_of_sequence=told.sequence - (1 if told.ending else 0),
        admitted_submit_requests=(view.requests[place.run_id],),
        pending_interactions=open_,
        acknowledged_interactions=open_ if is_taken else (),
        pending_steers=tuple(
            PendingSteer(submission_id=steer.submission_id, request_id=steer.request_id)
            for steer in (run.steers if run is not None else ())
        ),
    )


def _status(place: Place, phase: Phase | None) -> RunStatus:
    if not place.has_started:
        return "queued" if place.standing is Standing.RESERVED else "cancelling"
    return _STATUS[phase or Phase.THINKING]


def _position(line: RunLine, place: Place) -> Maybe[int]:
    if place.has_started:
        return UNSET
    return [each.run_id for each in line.places if not each.has_started].index(place.run_id) + 1
