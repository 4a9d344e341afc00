"""The protocol's operations as the house's description lists them (GTW-004)."""

from __future__ import annotations

from sayso.gateway.doors.acp import wire
from sayso.gateway.doors.acp.read import DEFAULT_LIMIT, MAX_LIMIT, PREFIX
from sayso.gateway.operation import EVENTS, Operation, Parameter

__all__ = ("OPERATIONS",)

_BASE = PREFIX.decode()
_UUID = {"type": "string", "format": "uuid"}
_RUN = Parameter(name="run_id", where="path", schema=_UUID, description="The run's id")
_SESSION = Parameter(name="session_id", where="path", schema=_UUID, description="The session's id")
_NAME = Parameter(
    name="name",
    where="path",
    schema={"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"},
    description="The agent's name, an RFC 1123 label",
)
_PAGE = (
    Parameter(
        name="limit",
        where="query",
        schema={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        description="How many agents",
        required=False,
    ),
    Parameter(
        name="offset",
        where="query",
        schema={"type": "integer", "minimum": 0, "maximum": 999_999_999, "default": 0},
        description="How many are left out first",
        required=False,
    ),
)


def _get(id_: str, path: str, summary: str, answer: type, *parameters: Parameter) -> Operation:
    return Operation(
        id=id_,
        method="GET",
        path=_BASE + path,
        summary=summary,
        answers={200: (answer,)},
        failure=wire.Error,
        parameters=parameters,
    )


def _post(
    id_: str, path: str, summary: str, answers: dict[int, tuple[type | str, ...]], body: type | None, *named: Parameter
) -> Operation:
    return Operation(
        id=id_,
        method="POST",
        path=_BASE + path,
        summary=summary,
        answers=answers,
        failure=wire.Error,
        parameters=named,
        body=body,
    )


_RUNS: dict[int, tuple[type | str, ...]] = {200: (wire.AcpRun, EVENTS), 202: (wire.AcpRun,)}

OPERATIONS = (
    _get("acpPing", "/ping", "Whether the door answers", wire.Pong),
    _get("acpAgents", "/agents", "The agents: one for each act, and one that does any", wire.AgentList, *_PAGE),
    _get("acpAgent", "/agents/{name}", "One agent, with the schema of what it takes", wire.Agent, _NAME),
    _post("acpStart", "/runs", "Start a run", _RUNS, wire.Create),
    _get("acpRun", "/runs/{run_id}", "A run as it stands", wire.AcpRun, _RUN),
    _post("acpResume", "/runs/{run_id}", "Ask a run that awaits how far it is", _RUNS, wire.Resume, _RUN),
    _post("acpCancel", "/runs/{run_id}/cancel", "Take a proposal back", {202: (wire.AcpRun,)}, None, _RUN),
    _get("acpEvents", "/runs/{run_id}/events", "What happened in a run", wire.EventList, _RUN),
    _get("acpSession", "/session/{session_id}", "A session", wire.AcpSession, _SESSION),
    _get("acpSessions", "/sessions/{session_id}", "A session, at its other address", wire.AcpSession, _SESSION),
)
"""Every operation of the door."""
