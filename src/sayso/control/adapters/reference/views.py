"""What a session shows of itself: state, models, tools."""

from __future__ import annotations

from sayso.control.adapters.reference.talk import MemoryRun, MemorySession, Phase
from sayso.control.protocol.payloads.action import ToolsListResponse
from sayso.control.protocol.payloads.models import ModelEventPosition, ModelsResponse
from sayso.control.protocol.payloads.run import Recovery, RunStatus
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.payloads.session import (
    ActiveRun,
    PendingSteer,
    SessionCapture,
    SessionState,
    SessionStatus,
    SettledRun,
)

__all__ = ("models_of", "state_of", "tools_of")

_WAITS = (Phase.PERMITTING, Phase.ASKING, Phase.CALLING)


def state_of(session: MemorySession) -> SessionState:
    """The whole state. A run whose terminal was not read yet is still listed, as it stood before."""
    started = session.started
    return SessionState(
        session_id=session.session_id,
        status=_status(session),
        active_run_id=started.run_id if started else UNSET,
        active_runs=tuple(_active(session, run) for run in session.live_runs),
        current_model_id=session.model_id,
        sources=session.sources,
        recovery=Recovery(recovered=True, previous_session_id=session.session_id) if session.is_recovered else UNSET,
        as_of=SessionCapture(
            admitted_submit_requests=tuple(run.request_id for run in session.live_runs),
            settled=tuple(
                SettledRun(run_id=name, sequence=run.told)
                for name, run in session.runs.items()
                if name not in session.live
            ),
        ),
        reasoning_level=session.reasoning_level,
        compaction_policy=session.policy,
    )


def models_of(session: MemorySession) -> ModelsResponse:
    """The whole catalog, and the switch it was read after, if there was one."""
    switched = session.switched_by
    return ModelsResponse(
        session_id=session.session_id,
        models=session.models,
        current_model_id=session.model_id,
        providers=session.providers,
        as_of_model_event=ModelEventPosition(switch_request_id=switched) if switched else UNSET,
    )


def tools_of(session: MemorySession) -> ToolsListResponse:
    """The session's tools, each under its source."""
    return ToolsListResponse(session_id=session.session_id, sources=session.sources, tools=session.tools)


def _status(session: MemorySession) -> SessionStatus:
    if session.is_closed:
        return "closed"
    started = session.started
    if started is None:
        return "queued" if session.live else "idle"
    return "waiting_for_input" if started.phase in _WAITS else "running"


def _active(session: MemorySession, run: MemoryRun) -> ActiveRun:
    is_over = run.phase is Phase.ENDED
    is_acknowledged = run.call is not None and run.call.acknowledged is not None
    pending = () if run.gate is None else (run.gate.interaction_id,)
    return ActiveRun(
        run_id=run.run_id,
        status=_run_status(run),
        relationship="primary",
        queue_position=UNSET if run.has_started else session.reservations.index(run) + 1,
        as_of_sequence=run.told - 1 if is_over else run.told,
        admitted_submit_requests=(run.request_id,),
        pending_interactions=pending,
        acknowledged_interactions=pending if is_acknowledged and run.phase is Phase.CALLING else (),
        pending_steers=tuple(
            PendingSteer(submission_id=steer.submission_id, request_id=steer.request_id) for steer in run.steers
        ),
    )


def _run_status(run: MemoryRun) -> RunStatus:
    if not run.has_started:
        return "cancelling" if run.ending == "run.cancelled" else "queued"
    return "waiting_for_input" if run.phase in _WAITS else "running"
