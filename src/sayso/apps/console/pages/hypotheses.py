"""Hypotheses: what the observations suggest, on which evidence, and simulations asked for at the Gate (GTW-044).

A simulation is an execution like an agent's: the house asks in the person's name, the Gate holds it, and a person
decides. Nothing on this page computes anything itself.
"""

from __future__ import annotations

from typing import Any, Final, cast, get_args

from starlette.responses import Response

from sayso.apps.console.desk import HOUSE_AGENT, Desk
from sayso.apps.console.visit import Visit
from sayso.core.refusal import Refusal, Refused
from sayso.gateway.knowledge.rules.evidence import Kind
from sayso.governance.proposal import Ask, Proposal

__all__ = ("KIND_WORDS", "ask_for_simulation", "show_all", "show_one", "simulate")

KIND_WORDS: Final = {
    "intent": "Intents",
    "bridge": "Bridges",
    "alignment": "Alignments",
    "risk": "Risks",
}
_SHOWN = 50
_ACT = "run_simulation"


async def show_all(visit: Visit) -> Response:
    """The surest first; by kind, domain and least confidence."""
    kind, domain = visit.query("kind", longest=20), visit.query("domain", longest=100)
    if kind and kind not in get_args(Kind):
        raise Refused.because("unknown_kind", "There is no such kind of hypothesis")
    least = visit.number("least", otherwise=0)
    said: Refusal | None = None
    try:
        rows = await visit.desk.knowledge.hypotheses(
            domain_key=domain or None,
            kind=cast("Kind", kind) if kind else None,
            min_confidence=min(least, 100) / 100,
            limit=_SHOWN,
        )
    except Refused as refused:
        rows, said = (), refused.refusal
    values: dict[str, Any] = {
        "rows": rows,
        "most": _SHOWN,
        "kind": kind,
        "domain": domain,
        "least": least,
        "kinds": KIND_WORDS,
        "domains": visit.desk.knowledge.domains.all(),
    }
    return visit.show("hypotheses.html", said=said, **values)


async def show_one(visit: Visit) -> Response:
    """One, with every piece of evidence and its simulations."""
    return await _show(visit, None)


async def simulate(visit: Visit) -> Response:
    """Puts a simulation before the Gate."""
    try:
        asked = await ask_for_simulation(visit.desk, visit.passed("hypothesis_id"), by=visit.login.user_id)
    except Refused as refused:
        return await _show(visit, refused.refusal)
    return visit.go(f"/gate/{asked.id}", "asked")


async def ask_for_simulation(desk: Desk, hypothesis_id: str, *, by: str) -> Proposal:
    """The proposal, which waits for a decision. Refused: `unknown_hypothesis`, and as `Gate.prepare`."""
    found = await desk.knowledge.hypothesis(hypothesis_id)
    scopes = frozenset({HOUSE_AGENT, "propose"})
    ask = Ask(
        agent=HOUSE_AGENT,
        owner=desk.owner,
        door=HOUSE_AGENT,
        act=_ACT,
        arguments={"hypothesis_id": found.id},
        scopes=scopes,
        note=by.encode(),
    )
    return await desk.gate.file(desk.gate.prepare(ask))


async def _show(visit: Visit, said: Refusal | None) -> Response:
    desk = visit.desk
    found = await desk.knowledge.hypothesis(visit.passed("hypothesis_id"))
    proposals = await desk.gate.list(agent=HOUSE_AGENT, limit=_SHOWN)
    values: dict[str, Any] = {
        "found": found,
        "simulations": [each for each in proposals if each.arguments.get("hypothesis_id") == found.id],
        "kinds": KIND_WORDS,
    }
    return visit.show("hypothesis.html", said=said, **values)
