"""Work given to agents: assigned here with a budget and a reason, fetched and answered at the task feed (GTW-005)."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from sayso.apps.console.visit import Visit
from sayso.core import strictjson
from sayso.core.refusal import Refusal, Refused
from sayso.core.strictjson import JsonValue

__all__ = ("assign", "read_input", "show_all", "withdraw")

_SHOWN = 100
_MOST_CENTS = 2**31 - 1


async def show_all(visit: Visit) -> Response:
    """What is assigned and what came of it, and the form that assigns."""
    return await _show(visit, None)


async def assign(visit: Visit) -> Response:
    """Assigns work to one agent."""
    form = visit.form
    try:
        await visit.desk.tasks.assign(
            form.needed("agent", "The agent", longest=64),
            form.needed("task_type", "The kind of work", longest=64),
            read_input(form.text("input", longest=4000)),
            budget_cents=form.whole("budget_cents", "The budget", least=0, most=_MOST_CENTS),
            domain_key=form.text("domain_key", longest=64) or None,
            reason=form.needed("reason", "The reason", longest=1000),
            approved_by=visit.login.user_id,
        )
    except Refused as refused:
        return await _show(visit, refused.refusal)
    return visit.go("/tasks", "assigned")


async def withdraw(visit: Visit) -> Response:
    """Takes work back that is not done."""
    try:
        await visit.desk.tasks.withdraw(visit.passed("run_id"), by=visit.login.user_id)
    except Refused as refused:
        return await _show(visit, refused.refusal)
    return visit.go("/tasks", "withdrawn")


def read_input(typed: str) -> JsonValue:
    """What the agent gets: a JSON object as typed, or the words under `instructions`. Refused: `malformed_json`."""
    if typed.startswith("{"):
        return strictjson.parse(typed.encode("utf-8", "surrogatepass"))
    return {"instructions": typed} if typed else {}


async def _show(visit: Visit, said: Refusal | None) -> Response:
    desk = visit.desk
    agents = await desk.agents.list()
    values: dict[str, Any] = {
        "rows": await desk.tasks.list(limit=_SHOWN),
        "most": _SHOWN,
        "agents": [row for row in agents if "tasks" in row.agent.scopes],
        "names": {row.agent.id: row.agent.name for row in agents},
        "domains": desk.knowledge.domains.all(),
    }
    return visit.show("tasks.html", said=said, **values)
