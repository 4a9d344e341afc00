"""A house with the task feed open, and agents that fetch work and deliver it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from starlette.applications import Starlette

from sayso.core import strictjson
from sayso.gateway.doors.tasks.door import routes
from sayso.gateway.guard.agents import Issued
from sayso.gateway.knowledge.domains import load_domains
from sayso.gateway.knowledge.embedding import Embedder
from sayso.gateway.knowledge.memory import SemanticMemory
from sayso.gateway.tasks import Assignment, Tasks
from sayso.net.listen import serving
from sayso.testing.gateway import Bench, open_gateway
from tests.gateway.doors.acp.houses import WIDE, Said, Signing

BASE = "/api/protocols/tasks"
DOMAIN = load_domains().all()[0].key


class Worker:
    """An agent that sends bytes."""

    def __init__(self, url: str, key: str, bench: Bench) -> None:
        self.http = httpx.AsyncClient(base_url=url, auth=Signing(key, bench), timeout=None)

    async def feed(self) -> Said:
        return _said(await self.http.get(BASE))

    async def deliver(self, run_id: str, result: object, path: str = BASE) -> Said:
        data = result if isinstance(result, bytes) else strictjson.encode(result)
        return _said(await self.http.post(f"{path}/{run_id}/result", content=data))


@dataclass(frozen=True)
class Office:
    """The house, its tasks, and two agents."""

    bench: Bench
    tasks: Tasks
    memory: SemanticMemory
    url: str
    ada: Issued
    eve: Issued
    worker: Worker
    other: Worker

    async def assign(
        self, agent: Issued | None = None, text: str = "Look for cheap flour", **more: object
    ) -> Assignment:
        wanted = {"budget_cents": 500, "reason": "We bake", "approved_by": "ada", "domain_key": DOMAIN, **more}
        return await self.tasks.assign((agent or self.ada).agent.id, "research", {"question": text}, **wanted)


@asynccontextmanager
async def open_office(
    folder: Path, location: str | None = None, *, embedder: Embedder | None = None
) -> AsyncIterator[Office]:
    async with open_gateway(folder, limits=WIDE, location=location) as bench:
        memory = memory_of(bench, embedder)
        tasks = Tasks(bench.store, bench.ledger, memory, bench.gateway.owner, bench.ids)
        app = Starlette(routes=list(routes(bench.gateway, tasks)))
        async with serving(app) as address:
            ada, eve = await bench.issue("ada"), await bench.issue("eve")
            worker, other = (Worker(address.url, each.key, bench) for each in (ada, eve))
            async with worker.http, other.http:
                yield Office(bench, tasks, memory, address.url, ada, eve, worker, other)


def memory_of(bench: Bench, embedder: Embedder | None = None) -> SemanticMemory:
    """The owner's memory, searched by words alone unless there is a model."""
    owner, domains = bench.gateway.owner, load_domains()
    return SemanticMemory(bench.store, bench.ledger, owner=owner, ids=bench.ids, domains=domains, embedder=embedder)


def _said(answer: httpx.Response) -> Said:
    return Said(answer.status_code, answer.headers, answer.content)
