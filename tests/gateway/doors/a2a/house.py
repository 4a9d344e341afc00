"""A house with the A2A door open, and who speaks to it: raw requests that are signed, or the official client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.helpers import new_data_message
from a2a.types import Role, SendMessageRequest, StreamResponse
from starlette.applications import Starlette

from sayso.core import strictjson
from sayso.core.gcra import Limit
from sayso.gateway.clients.for_httpx import SigningAuth
from sayso.gateway.doors.a2a.routes import A2a
from sayso.gateway.guard.agents import Issued
from sayso.gateway.guard.rules.limits import Limits
from sayso.governance.acts import Act, ActClass, Registry
from sayso.governance.consent import Consent
from sayso.governance.execution import Executor
from sayso.governance.proposal import Decider, Proposal
from sayso.net.fetch import Fetcher
from sayso.net.listen import serving
from sayso.testing.gateway import Bench, open_gateway

__all__ = ("BASE", "OWNER", "WIDE", "House", "ask", "data", "open_house", "register_search", "text")

BASE = "/api/protocols/a2a"
OWNER = Decider(id="ada", name="Ada", role="owner")
WIDE = Limits(
    minute=Limit(timedelta(minutes=1), 5000),
    second=Limit(timedelta(seconds=1), 5000),
    coarse=Limit(timedelta(seconds=1), 5000),
)
"""Limits that no test comes near, for tests about something else."""


class Query(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is looked for."""

    query: str
    limit: int = 10


def register_search(registry: Registry) -> None:
    """A search that finds what it was asked for."""

    async def search(arguments: Query, _consent: Consent | None) -> Mapping[str, Any]:
        return {"query": arguments.query, "limit": arguments.limit}

    act = Act(
        name="semantic_search",
        act_class=ActClass.DISCLOSURE,
        title="Search",
        description="Searches.",
        arguments=Query,
        touches_others=False,
    )
    registry.register(act, search)


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """The house as a test sees it; `keys` are the agents of this house by name."""

    bench: Bench
    url: str
    a2a: A2a
    stack: AsyncExitStack
    keys: dict[str, Issued] = field(default_factory=dict)
    auths: dict[str, SigningAuth] = field(default_factory=dict)
    clients: dict[str, httpx.AsyncClient] = field(default_factory=dict)

    async def key(self, name: str = "ada") -> str:
        """The key of an agent, issued at first use."""
        if name not in self.keys:
            self.keys[name] = await self.bench.issue(name)
        return self.keys[name].key

    async def http(self, name: str = "ada", **headers: str) -> httpx.AsyncClient:
        """A client that signs for an agent, open as long as the house; all of one agent's share what they signed."""
        if name not in self.auths:
            self.auths[name] = SigningAuth(await self.key(name), self.bench.clock)
        auth = self.auths[name]
        client = httpx.AsyncClient(auth=auth, base_url=self.url, headers=headers, trust_env=False)
        return await self.stack.enter_async_context(client)

    async def send(
        self, method: str, path: str, body: Any = None, *, agent: str = "ada", version: str | None = None,
        raw: bytes | None = None, headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:  # fmt: skip
        """One signed request. `body` is written as JSON, `raw` is sent as it is."""
        content = raw if raw is not None else b"" if body is None else strictjson.encode(body)
        said = {"a2a-version": version} if version else {}
        if content:
            said["content-type"] = "application/json"
        if agent not in self.clients:
            self.clients[agent] = await self.http(agent)
        return await self.clients[agent].request(method, path, content=content, headers={**said, **(headers or {})})

    async def rpc(
        self, method: str, params: Any, *, agent: str = "ada", version: str | None = "1.0", id_: Any = 1
    ) -> dict[str, Any]:
        """A JSON-RPC call; the response object."""
        body = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        got = await self.send("POST", BASE, body, agent=agent, version=version)
        assert got.status_code == 200, (got.status_code, got.text)
        found: dict[str, Any] = got.json()
        assert found["id"] == id_
        return found

    async def client(self, version: str, binding: str, *, agent: str = "ada", streaming: bool = False) -> Client:
        """The official client, held to one version and one binding of the card it reads."""
        http = await self.http(agent)
        card = await A2ACardResolver(http, f"{self.url}{BASE}").get_agent_card()
        wanted = [
            each
            for each in card.supported_interfaces
            if each.protocol_version.startswith(version) and each.protocol_binding == binding
        ]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(wanted)
        config = ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=[binding])
        return ClientFactory(config).create(card)

    async def approve(self, id_: str) -> Proposal:
        """A person's yes."""
        return await self.bench.gate.approve(id_, OWNER, reason="fine")

    async def carry_out(self) -> None:
        """Carries out what is approved."""
        executor = Executor(
            store=self.bench.store, gate=self.bench.gate, clock=self.bench.clock, worker=self.bench.ids.new("worker")
        )
        await executor.run_once()

    async def receipts(self) -> list[Any]:
        """Every disclosure that was kept."""
        return list(await self.bench.ledger.disclosures())


@asynccontextmanager
async def open_house(
    folder: Path,
    *,
    limits: Limits = WIDE,
    fetcher: Fetcher | None = None,
    location: str | None = None,
    register: Callable[[Registry], None] | None = register_search,
    **more: Any,
) -> AsyncIterator[House]:
    """Opens a gateway with the A2A door on a loopback port."""
    async with AsyncExitStack() as stack:
        bench = await stack.enter_async_context(
            open_gateway(folder, limits=limits, register=register, location=location, **more)
        )
        out = await stack.enter_async_context(fetcher or Fetcher())
        a2a = A2a(bench.gateway, fetcher=out)
        address = await stack.enter_async_context(serving(Starlette(routes=a2a.routes())))
        yield House(bench=bench, url=address.url, a2a=a2a, stack=stack)


def data(act: str, **arguments: Any) -> dict[str, Any]:
    """A message in 1.0's spelling that asks for an act."""
    part = {"data": {"act": act, "arguments": arguments}}
    return {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [part]}}


def text(words: str) -> dict[str, Any]:
    """A message in 1.0's spelling that only says something."""
    return {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": words}]}}


async def ask(client: Client, act: str, arguments: dict[str, Any]) -> list[StreamResponse]:
    """Asks for an act with the official client; every event it gave."""
    message = new_data_message(data={"act": act, "arguments": arguments}, role=Role.ROLE_USER)
    return [event async for event in client.send_message(SendMessageRequest(message=message))]
