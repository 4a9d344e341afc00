"""The loopback signing proxy, in front of a real gateway (GTW-002)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import orjson
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from sayso.apps.gateway_proxy import read_agent_key
from sayso.core.refusal import Refused
from sayso.gateway.doors.mcp.endpoint import MESSAGE_PATH
from sayso.gateway.proxy import signing_proxy
from sayso.governance.proposal import Decider
from sayso.net.listen import serving
from tests.gateway.doors.mcp.speaking import Speaker, request, speaking

OWNER = Decider(id="per_1", name="Ada", role="owner")
JSON = {"content-type": "application/json"}


@asynccontextmanager
async def proxied(folder: Path) -> AsyncIterator[tuple[Speaker, str]]:
    """A gateway, and the proxy's URL."""
    async with speaking(folder) as (ada,):
        origin = ada.url.removesuffix(MESSAGE_PATH)
        async with signing_proxy(origin, ada.key, ada.bench.clock) as app, serving(app) as address:
            yield ada, address.url


@pytest.mark.anyio
@pytest.mark.req("GTW-002")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_that_cannot_sign_is_signed_for(tmp_path: Path, mode: str) -> None:
    """The official client without any auth object; and what moves is streamed through."""
    async with proxied(tmp_path) as (ada, url), httpx2.AsyncClient(timeout=30, trust_env=False) as http:
        with anyio.fail_after(60):
            async with Client(streamable_http_client(url + MESSAGE_PATH, http_client=http), mode=mode) as client:
                assert (await client.call_tool("echo", {"text": "hi"})).structured_content == {"text": "hi"}
                if mode == "legacy":
                    return
                ticket = (await client.call_tool("take_note", {"text": "hi"})).structured_content
                async with client.listen(resource_subscriptions=[ticket["read"]]) as subscription:
                    await ada.bench.gate.reject(ticket["proposal_id"], OWNER, reason="no")
                    assert (await anext(aiter(subscription))).uri == ticket["read"]


@pytest.mark.anyio
async def test_a_web_page_and_a_foreign_name_get_nothing(tmp_path: Path) -> None:
    """Whoever reaches the proxy acts as the agent, so it answers to loopback names and to no page."""
    async with proxied(tmp_path) as (_, url), httpx2.AsyncClient(timeout=30, trust_env=False) as http:
        body = orjson.dumps(request("initialize", {"protocolVersion": "2025-11-25"}))
        for headers in ({"origin": "https://evil.example"}, {"origin": "http://127.0.0.1:1"}, {"host": "evil.example"}):
            answer = await http.post(url + MESSAGE_PATH, content=body, headers={**JSON, **headers})
            assert answer.status_code == 403, headers
        own = await http.post(url + MESSAGE_PATH, content=body, headers={**JSON, "origin": url})
        assert own.status_code == 200


@pytest.mark.anyio
async def test_a_callers_own_auth_headers_are_not_passed_on(tmp_path: Path) -> None:
    """The proxy signs with its key; a second key beside it would be refused as a repeated header."""
    async with proxied(tmp_path) as (_, url), httpx2.AsyncClient(timeout=30, trust_env=False) as http:
        body = orjson.dumps(request("initialize", {"protocolVersion": "2025-11-25"}))
        headers = {**JSON, "x-osz-agent-key": "osz_other", "x-osz-signature": "0" * 64, "x-osz-timestamp": "1"}
        answer = await http.post(url + MESSAGE_PATH, content=body, headers=headers)
        assert answer.status_code == 200


@pytest.mark.anyio
async def test_a_gateway_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    """502, and no traceback."""
    async with serving(_nothing) as gone:
        url = gone.url
    async with (
        signing_proxy(url, "osz_" + "k" * 43) as app,
        serving(app) as address,
        httpx2.AsyncClient(timeout=30, trust_env=False) as http,
    ):
        answer = await http.post(address.url + MESSAGE_PATH, content=b"{}", headers=JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "gateway_unreachable")


async def _nothing(scope: object, receive: object, send: object) -> None:
    """Never asked."""


@pytest.mark.req("GTW-002")
def test_the_key_comes_from_a_private_file_or_the_environment(tmp_path: Path) -> None:
    """A file that others can read is refused; nothing is taken from the command line."""
    file = tmp_path / "key"
    file.write_text("osz_key\n")
    file.chmod(0o600)
    assert read_agent_key(file, {}) == "osz_key"
    assert read_agent_key(None, {"SAYSO_AGENT_KEY": "osz_env"}) == "osz_env"
    for mode in (0o640, 0o604):
        file.chmod(mode)
        with pytest.raises(Refused) as caught:
            read_agent_key(file, {})
        assert caught.value.refusal.code == "agent_key_exposed"


@pytest.mark.parametrize("environ", [{}, {"SAYSO_AGENT_KEY": " "}])
def test_no_key_is_a_refusal_that_says_where_to_put_one(tmp_path: Path, environ: dict[str, str]) -> None:
    """Nothing in the environment, no such file, an empty file."""
    empty = tmp_path / "empty"
    empty.write_text("")
    empty.chmod(0o600)
    for path in (None, tmp_path / "none", empty):
        with pytest.raises(Refused) as caught:
            read_agent_key(path, environ)
        assert caught.value.refusal.code == "agent_key_missing"
