"""The first page: what waits for a person, who is let in, and how far the receipts go."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from sayso.apps.console.pages.gate import queue_rows
from sayso.apps.console.visit import Visit
from sayso.gateway.guard.rules.standing import SUSPENDED
from sayso.governance.machine import ProposalState

__all__ = ("show",)

_SHOWN = 5
_COUNTED = 100


async def show(visit: Visit) -> Response:
    """The numbers, and the oldest of what waits."""
    desk = visit.desk
    pending = await desk.gate.list(states={ProposalState.PENDING}, limit=_COUNTED)
    asking = await desk.gate.list(states={ProposalState.AWAITING_PERSON}, limit=_COUNTED)
    agents = await desk.agents.list()
    values: dict[str, Any] = {
        "pending": len(pending),
        "most_counted": _COUNTED,
        "asking": await queue_rows(desk, asking),
        "oldest": await queue_rows(desk, pending[-_SHOWN:][::-1]),
        "agents": agents,
        "suspended": [row for row in agents if row.state == SUSPENDED],
        "near": [row for row in agents if row.violations and row.state != SUSPENDED],
        "standing": await desk.ledger.standing(),
    }
    return visit.show("overview_numbers.html" if visit.is_part else "overview.html", **values)
