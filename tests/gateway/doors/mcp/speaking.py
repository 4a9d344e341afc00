"""A bare MCP client for tests: says exactly what a test wants said, signed as it should be."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import orjson
from starlette.applications import Starlette

from sayso.core.clock import Clock
from sayso.core.gcra import Limit
from sayso.gateway.doors.mcp.endpoint import MESSAGE_PATH, McpDoor, routes
from sayso.gateway.doors.mcp.read.revisions import CAPABILITIES_KEY, MODERN, VERSION_KEY
from sayso.gateway.guard.rules.limits import Limits
from sayso.gateway.surface import Surface
from sayso.governance.acts import Act, ActClass, Registry, Repeats
from sayso.governance.consent import Consent
from sayso.net.listen import serving
from sayso.testing.gateway import Bench, Text, open_gateway, sign
from sayso.testing.mcp_fixture_tools import WRITERS, FixtureSurface, register_fixtures

OFTEN = Limit(timedelta(minutes=1), 100_000)
UNHURRIED = Limits(minute=OFTEN, second=OFTEN, coarse=OFTEN)
BOTH = "application/json, text/event-stream"


@dataclass
class Speaker:
    """One agent at one door."""

    bench: Bench
    url: str
    key: str
    agent: str
    http: httpx2.AsyncClient

    async def send(self, method: str, body: bytes = b"", **headers: str | None) -> httpx2.Response:
        """One signed request. Keyword names are header names with underscores; None leaves a header out."""
        wanted: dict[str, str | None] = {"accept": BOTH, "content-type": "application/json"}
        wanted |= {name.replace("_", "-"): value for name, value in headers.items()}
        given = {name: value for name, value in wanted.items() if value is not None}
        signed = sign(self.key, body, method, MESSAGE_PATH, clock=self.bench.clock)
        return await self.http.request(method, self.url, content=body or None, headers={**given, **signed})

    async def say(self, message: Any, **headers: str | None) -> httpx2.Response:
        """One POST of a JSON value."""
        return await self.send("POST", orjson.dumps(message), **headers)

    async def open(self, version: str = "2025-11-25") -> str:
        """Opens a legacy session; its id."""
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        answer = await self.say(request("initialize", params))
        assert answer.status_code == 200, answer.text
        return str(answer.headers["mcp-session-id"])

    async def ask(self, session: str, method: str, params: Any = None, id_: Any = 1) -> httpx2.Response:
        """One legacy request."""
        return await self.say(request(method, params, id_), mcp_session_id=session)

    async def modern(self, method: str, params: Mapping[str, Any] | None = None, **changes: Any) -> httpx2.Response:
        """One modern request; `meta` replaces its metadata, other names its headers."""
        meta = changes.pop("meta", {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}})
        message = request(method, {**(params or {}), "_meta": meta}, changes.pop("id_", 1))
        headers: dict[str, Any] = {"mcp_protocol_version": MODERN, "mcp_method": method}
        named = (params or {}).get("uri" if method == "resources/read" else "name")
        if method in ("tools/call", "resources/read", "prompts/get") and isinstance(named, str):
            is_plain = named.isascii() and named.isprintable()
            headers["mcp_name"] = named if is_plain else f"=?base64?{b64encode(named.encode()).decode()}?="
        return await self.say(message, **{**headers, **changes})


def request(method: str, params: Any = None, id_: Any = 1) -> dict[str, Any]:
    """A JSON-RPC request."""
    message = {"jsonrpc": "2.0", "id": id_, "method": method}
    return message if params is None else {**message, "params": params}


async def receipts_of(bench: Bench) -> list[Any]:
    """What was receipted as answered or refused at a door, oldest first."""
    return await bench.ledger.disclosures()


def register_more(registry: Registry) -> None:
    """The suite's fixtures, and an execution that costs more than any house allows."""
    register_fixtures(registry)

    async def never(_arguments: Text, _consent: Consent | None) -> Mapping[str, Any]:
        raise AssertionError("it runs although the constitution refuses it")

    spend = Act(
        name="spend",
        act_class=ActClass.EXECUTION,
        title="Spend",
        description="Costs too much.",
        arguments=Text,
        touches_others=False,
        repeats=Repeats.IDEMPOTENT,
        budget_cents=10**9,
    )
    registry.register(spend, never)


@asynccontextmanager
async def speaking(
    folder: Path,
    *names: str,
    limits: Limits = UNHURRIED,
    clock: Clock | None = None,
    location: str | None = None,
    surfaces: Sequence[Surface] = (),
) -> AsyncIterator[list[Speaker]]:
    """A door on a real socket, and an agent with a key for each name. `surfaces` are shown after the fixtures."""
    async with open_gateway(folder, limits=limits, clock=clock, register=register_more, location=location) as bench:
        door = McpDoor(bench.gateway, surfaces=[FixtureSurface(), *surfaces], writers=WRITERS)
        async with (
            serving(Starlette(routes=routes(bench.gateway, door))) as address,
            httpx2.AsyncClient(timeout=30, trust_env=False) as http,
        ):
            speakers = []
            for name in names or ("ada",):
                issued = await bench.issue(name)
                speakers.append(Speaker(bench, address.url + MESSAGE_PATH, issued.key, issued.agent.id, http))
            yield speakers
