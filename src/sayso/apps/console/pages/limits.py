"""The limits in force, and who went past them (GTW-013, GTW-020, GTW-021)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from starlette.responses import Response

from sayso.apps.console.pages.gate import agent_names
from sayso.apps.console.visit import Visit
from sayso.core.gcra import Limit
from sayso.gateway.guard.rules.codes import find_code
from sayso.gateway.guard.rules.limits import Limits

__all__ = ("limit_rows", "show")

_VIOLATIONS_SHOWN = 100


async def show(visit: Visit) -> Response:
    """Each limit with its value, each agent's count, and the newest violations of all."""
    desk = visit.desk
    values: dict[str, Any] = {
        "limits": limit_rows(desk.limits),
        "rows": await desk.agents.list(),
        "most": desk.limits.violations,
        "violations": await desk.agents.violations(None, _VIOLATIONS_SHOWN),
        "names": await agent_names(desk),
        "meaning": lambda code: find_code(code).title,
    }
    return visit.show("limits.html", **values)


def limit_rows(limits: Limits) -> Sequence[tuple[str, str]]:
    """What is limited, and to what, in words."""
    return (
        ("Calls of one agent, sustained", _rate(limits.minute)),
        ("Calls of one agent, at once", _rate(limits.second)),
        ("Requests of one agent, refused ones too", _rate(limits.coarse)),
        ("Tries of one address without a known key", _rate(limits.address)),
        ("Body", f"{limits.body_bytes} bytes"),
        ("Text", f"{limits.string_chars} characters"),
        ("Payload", f"{limits.payload_levels} levels"),
        ("Envelope", f"{limits.envelope_levels} levels"),
        ("Age of a signature", _span(limits.signature_age)),
        ("Violations until suspension", f"{limits.violations} within {_span(limits.violation_window)}"),
    )


def _rate(limit: Limit) -> str:
    return f"{limit.burst} in {_span(limit.period)}"


def _span(length: timedelta) -> str:
    seconds = length.total_seconds()
    if seconds >= 3600 and seconds % 3600 == 0:
        return f"{seconds / 3600:g} h"
    return f"{seconds / 60:g} min" if seconds >= 60 and seconds % 60 == 0 else f"{seconds:g} s"
