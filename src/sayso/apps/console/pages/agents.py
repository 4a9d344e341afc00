"""Agents and their keys: who was let in, what each may do, and how near it is to suspension (GTW-010, GTW-013).

A key stands on the page that answers the form which made it, and nowhere ever after. Whoever gives keys away unlocks
the person's own keys first: a browser left open lets nobody new in.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from sayso.apps.console.visit import Visit
from sayso.core.refusal import Refusal, Refused
from sayso.gateway.guard.agents import Issued
from sayso.gateway.guard.rules.standing import SCOPES

__all__ = ("issue", "reissue", "revoke", "rotate", "show_all", "show_one", "suspend")

SCOPE_WORDS = {
    "mcp": "MCP door",
    "a2a": "A2A door",
    "acp": "ACP door",
    "tasks": "task feed",
    "disclose": "look things up",
    "propose": "propose acts",
}
"""What a key may do, in words; each is a box to tick."""
_VIOLATIONS_SHOWN = 50


async def show_all(visit: Visit) -> Response:
    """Every agent, and the form that lets another in."""
    return await _list(visit, None)


async def issue(visit: Visit) -> Response:
    """Lets an agent in and shows its key, once."""
    try:
        name = visit.form.needed("name", "A name", longest=64)
        scopes = frozenset(visit.form.all("scope"))
        await visit.unlock()
        issued = await visit.desk.agents.issue(name, by=visit.login.user_id, scopes=scopes)
    except Refused as refused:
        return await _list(visit, refused.refusal)
    return _show_key(visit, issued)


async def show_one(visit: Visit) -> Response:
    """One agent with its keys and its violations."""
    return await _one(visit, None)


async def rotate(visit: Visit) -> Response:
    """A new key instead of the old ones, or beside them."""
    try:
        await visit.unlock()
        keep_old = visit.form.text("keep_old") == "yes"
        issued = await visit.desk.agents.rotate(visit.passed("agent_id"), by=visit.login.user_id, keep_old=keep_old)
    except Refused as refused:
        return await _one(visit, refused.refusal)
    return _show_key(visit, issued)


async def reissue(visit: Visit) -> Response:
    """Ends a suspension with one new key."""
    try:
        await visit.unlock()
        issued = await visit.desk.agents.reissue(visit.passed("agent_id"), by=visit.login.user_id)
    except Refused as refused:
        return await _one(visit, refused.refusal)
    return _show_key(visit, issued)


async def revoke(visit: Visit) -> Response:
    """Takes one key back, or all of them; needs no passphrase, so that nothing slows it down."""
    agent_id = visit.passed("agent_id")
    try:
        row = await visit.desk.agents.find(agent_id)
        which = visit.form.text("key_id", longest=64) or agent_id
        if which != agent_id and which not in {key.key_id for key in row.keys}:
            raise Refused.because("unknown_key_id", "This agent has no such key", help="See its keys.")
        await visit.desk.agents.revoke(which, by=visit.login.user_id)
    except Refused as refused:
        return await _one(visit, refused.refusal)
    return visit.go(f"/agents/{agent_id}", "revoked")


async def suspend(visit: Visit) -> Response:
    """Stops every key of an agent, with a reason."""
    agent_id = visit.passed("agent_id")
    try:
        reason = visit.form.needed("reason", "The reason", longest=200)
        await visit.desk.agents.suspend(agent_id, by=visit.login.user_id, reason=reason)
    except Refused as refused:
        return await _one(visit, refused.refusal)
    return visit.go(f"/agents/{agent_id}", "suspended")


def _show_key(visit: Visit, issued: Issued) -> Response:
    return visit.show("agent_key.html", issued=issued)


async def _list(visit: Visit, said: Refusal | None) -> Response:
    rows = await visit.desk.agents.list()
    ticked = frozenset(visit.form.all("scope")) if said is not None else SCOPES
    scopes = [(name, SCOPE_WORDS.get(name, name)) for name in sorted(SCOPES, key=list(SCOPE_WORDS).index)]
    return visit.show(
        "agents.html", said=said, rows=rows, scopes=scopes, ticked=ticked, most=visit.desk.limits.violations
    )


async def _one(visit: Visit, said: Refusal | None) -> Response:
    if said is not None and said.code == "unknown_agent":
        raise Refused(said)
    desk, agent_id = visit.desk, visit.passed("agent_id")
    row = await desk.agents.find(agent_id)
    violations = await desk.agents.violations(agent_id, _VIOLATIONS_SHOWN)
    values: dict[str, Any] = {
        "row": row,
        "violations": violations,
        "most": desk.limits.violations,
        "words": SCOPE_WORDS,
    }
    return visit.show("agent.html", said=said, **values)
