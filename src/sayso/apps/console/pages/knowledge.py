"""Semantic memory: searched across all domains or in one, and added to by hand (GTW-043)."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from sayso.apps.console.visit import Visit
from sayso.core.refusal import Refusal, Refused
from sayso.gateway.knowledge.memory import Found

__all__ = ("add", "read_keys", "search")

_HITS = 20


async def search(visit: Visit) -> Response:
    """What was found, best first; without words, what there is."""
    return await _show(visit, None)


async def add(visit: Visit) -> Response:
    """Adds a document, with the person as where it came from."""
    form = visit.form
    try:
        await visit.desk.knowledge.ingest(
            title=form.needed("title", "The title", longest=200),
            text=form.needed("text", "The text", longest=100_000),
            domain_keys=read_keys(form.text("domain_keys", longest=500)),
            by=visit.login.user_id,
        )
    except Refused as refused:
        return await _show(visit, refused.refusal)
    return visit.go("/memory", "added")


def read_keys(typed: str) -> tuple[str, ...]:
    """Domain keys as people type them: with spaces or commas between, each once."""
    return tuple(dict.fromkeys(typed.replace(",", " ").split()))


async def _show(visit: Visit, said: Refusal | None) -> Response:
    knowledge, query = visit.desk.knowledge, visit.query("q", longest=500)
    domain, found = visit.query("domain", longest=100), None
    if query and said is None:
        try:
            found = await knowledge.search(query, domain_key=domain or None, limit=_HITS)
        except Refused as refused:
            said = refused.refusal
    values: dict[str, Any] = {
        "query": query,
        "domain": domain,
        "found": found or Found(hits=(), how="", note=""),
        "stats": await knowledge.stats(),
        "domains": knowledge.domains.all(),
    }
    return visit.show("memory_hits.html" if visit.is_part else "memory.html", said=said, **values)
