"""A house with the door of the Agent Communication Protocol open, and who speaks to it: bytes, or the real client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from acp_sdk.client import Client
from starlette.applications import Starlette

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.gcra import Limit
from sayso.gateway.clients import for_httpx
from sayso.gateway.doors.acp.endpoint import routes
from sayso.gateway.guard.agents import Issued
from sayso.gateway.guard.rules.limits import Limits
from sayso.governance.acts import Registry
from sayso.governance.execution import Executor
from sayso.governance.proposal import Decider, Proposal
from sayso.net.listen import serving
from sayso.testing.gateway import Bench, open_gateway, sign

BASE = "/api/protocols/acp"
OWNER = Decider(id="ada", name="Ada", role="owner")
WIDE = Limits(
    minute=Limit(timedelta(minutes=1), 1000),
    second=Limit(timedelta(seconds=1), 1000),
    coarse=Limit(timedelta(seconds=1), 1000),
)
"""Limits that no test comes near, for tests about something else."""


class Signing(httpx.Auth):
    """Signs what is about to be sent, as a client of ours has to."""

    requires_request_body = True

    def __init__(self, key: str, bench: Bench) -> None:
        self._key = key
        self._bench = bench

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        target = request.url.raw_path.decode()
        request.headers.update(sign(self._key, request.content, request.method, target, clock=self._bench.clock))
        yield request


@dataclass(frozen=True)
class Said:
    """An answer as it came."""

    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def json(self) -> Any:
        return strictjson.parse(self.body)


class Caller:
    """An agent that sends bytes."""

    def __init__(self, url: str, key: str, bench: Bench) -> None:
        self.http = httpx.AsyncClient(base_url=url, auth=Signing(key, bench), timeout=None)

    async def get(self, path: str) -> Said:
        return _said(await self.http.get(BASE + path))

    async def post(self, path: str, body: object = b"", headers: dict[str, str] | None = None) -> Said:
        data = body if isinstance(body, bytes) else strictjson.encode(body)
        return _said(await self.http.post(BASE + path, content=data, headers=headers))

    async def run(self, agent: str, content: object, mode: str = "sync", **more: object) -> Said:
        """Starts a run with one part: text as it is, everything else as JSON."""
        return await self.post("/runs", ask(agent, content, mode=mode, **more))

    async def resume(self, run_id: str, text: str = "how far?", mode: str = "sync") -> Said:
        message = {"role": "user", "parts": [{"content": text}]}
        return await self.post(
            f"/runs/{run_id}", {"await_resume": {"type": "message", "message": message}, "mode": mode}
        )


def ask(agent: str, content: object, **more: object) -> dict[str, object]:
    """The body of a run."""
    part = (
        {"content": content}
        if isinstance(content, str)
        else {"content_type": "application/json", "content": strictjson.encode(content).decode()}
    )
    return {"agent_name": agent, "input": [{"role": "user", "parts": [part]}], **more}


@dataclass(frozen=True)
class House:
    """The house and its door's address."""

    bench: Bench
    url: str
    ada: Issued
    callers: list[Caller]

    def caller(self, issued: Issued | None = None) -> Caller:
        caller = Caller(self.url, (issued or self.ada).key, self.bench)
        self.callers.append(caller)
        return caller

    def client(self, issued: Issued | None = None) -> Client:
        """The protocol's own client."""
        auth = for_httpx.SigningAuth((issued or self.ada).key, self.bench.clock)
        return Client(base_url=self.url + BASE, auth=auth, timeout=None, trust_env=False)

    async def decide(self, proposal: str, *, yes: bool) -> Proposal:
        """The owner decides; what was approved is carried out at once."""
        if not yes:
            return await self.bench.gate.reject(proposal, OWNER, reason="Not today")
        await self.bench.gate.approve(proposal, OWNER, reason="Go ahead")
        return await self.carry_out(proposal)

    async def carry_out(self, proposal: str) -> Proposal:
        bench = self.bench
        await Executor(store=bench.store, gate=bench.gate, clock=bench.clock, worker="test").run_once()
        return await bench.gate.find(proposal)


@asynccontextmanager
async def open_house(
    folder: Path,
    *,
    limits: Limits = WIDE,
    register: Callable[[Registry], None] | None = None,
    location: str | None = None,
    ada: Issued | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[House]:
    async with open_gateway(folder, limits=limits, register=register, location=location, clock=clock) as bench:
        app = Starlette(routes=list(routes(bench.gateway, registry=bench.registry, gate=bench.gate)))
        async with serving(app) as address:
            house = House(bench, address.url, ada or await bench.issue("ada"), [])
            try:
                yield house
            finally:
                for caller in house.callers:
                    await caller.http.aclose()


def _said(answer: httpx.Response) -> Said:
    return Said(answer.status_code, answer.headers, answer.content)
