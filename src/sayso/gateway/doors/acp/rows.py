"""A door's runs and sessions, kept as rows (GTW-004).

What a run stands for lives elsewhere: an execution's state is its proposal's. A disclosure's answer is kept for a day,
so that it can be read again; what is older goes as new runs come, a few rows at a time. A session is forgotten a month
after its last run.
"""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import BindParameter, bindparam, delete, select

from sayso.core import strictjson
from sayso.gateway.doors.acp.write import Facts, Outcome
from sayso.store.tables import from_micros, micros
from sayso.store.tables.gateway_acp import gateway_acp_run, gateway_acp_session
from sayso.store.unit import Reading, Unit, insert, statement

__all__ = ("OUTCOME_KEPT", "SESSION_KEPT", "find_run", "has_session", "keep_run")

OUTCOME_KEPT = timedelta(days=1)
SESSION_KEPT = timedelta(days=30)
_PRUNED_AT_ONCE = 4

_r, _s = gateway_acp_run.c, gateway_acp_session.c
_owner: BindParameter[str] = bindparam("owner")
_agent: BindParameter[str] = bindparam("agent")
_RUN = statement(insert(gateway_acp_run))
_FIND = statement(
    select(_r.session_id, _r.agent_name, _r.act, _r.outcome, _r.proposal, _r.created_at_us).where(
        _r.owner == _owner, _r.agent == _agent, _r.run_id == bindparam("run_id")
    )
)
_session = insert(gateway_acp_session)
_SESSION = statement(
    _session.on_conflict_do_update(
        index_elements=["owner", "agent", "session_id"], set_={"used_at_us": _session.excluded.used_at_us}
    )
)
_HAS_SESSION = statement(
    select(_s.used_at_us).where(_s.owner == _owner, _s.agent == _agent, _s.session_id == bindparam("session_id"))
)
_old_runs = (
    select(_r.run_id)
    .where(_r.owner == _owner, _r.created_at_us < bindparam("before"), _r.proposal.is_(None))
    .order_by(_r.created_at_us)
    .limit(_PRUNED_AT_ONCE)
    .with_for_update(skip_locked=True)
)
_PRUNE_RUNS = statement(
    delete(gateway_acp_run).where(
        _r.owner == _owner, _r.created_at_us < bindparam("before"), _r.proposal.is_(None), _r.run_id.in_(_old_runs)
    )
)
_old_sessions = (
    select(_s.session_id)
    .where(_s.owner == _owner, _s.used_at_us < bindparam("before"))
    .order_by(_s.used_at_us)
    .limit(_PRUNED_AT_ONCE)
    .with_for_update(skip_locked=True)
)
_PRUNE_SESSIONS = statement(
    delete(gateway_acp_session).where(
        _s.owner == _owner, _s.used_at_us < bindparam("before"), _s.session_id.in_(_old_sessions)
    )
)


def keep_run(unit: Unit, owner: str, agent: str, facts: Facts) -> None:
    """Keeps a new run and its session, and forgets a few old ones."""
    whose = {"owner": owner, "agent": agent}
    unit.execute(
        _RUN,
        {
            **whose,
            "run_id": facts.run_id,
            "session_id": facts.session_id,
            "agent_name": facts.agent_name,
            "act": facts.act,
            "outcome": None if facts.outcome is None else strictjson.encode(facts.outcome),
            "proposal": facts.proposal,
            "created_at_us": micros(facts.created_at),
        },
    )
    unit.execute(_SESSION, {**whose, "session_id": facts.session_id, "used_at_us": micros(facts.created_at)})
    unit.execute(_PRUNE_RUNS, {"owner": owner, "before": micros(facts.created_at - OUTCOME_KEPT)})
    unit.execute(_PRUNE_SESSIONS, {"owner": owner, "before": micros(facts.created_at - SESSION_KEPT)})


def find_run(view: Reading, owner: str, agent: str, run_id: str) -> Facts | None:
    """A run of this agent's; another agent's is none."""
    row = view.one(_FIND, {"owner": owner, "agent": agent, "run_id": run_id})
    if row is None:
        return None
    session_id, agent_name, act, outcome, proposal, created_at = row
    return Facts(
        run_id=run_id,
        session_id=session_id,
        agent_name=agent_name,
        act=act,
        outcome=None if outcome is None else strictjson.decode(bytes(outcome), Outcome),
        proposal=proposal,
        created_at=from_micros(created_at),
    )


def has_session(view: Reading, owner: str, agent: str, session_id: str) -> bool:
    """Whether this agent has such a session."""
    return view.one(_HAS_SESSION, {"owner": owner, "agent": agent, "session_id": session_id}) is not None
