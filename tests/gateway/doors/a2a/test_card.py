"""The agent card: one document for both versions, public, at four addresses (GTW-003)."""

from __future__ import annotations

import httpx
import pytest
from a2a.client import A2ACardResolver
from a2a.client.card_resolver import parse_agent_card
from a2a.compat.v0_3.types import AgentCard as OldCard
from starlette.applications import Starlette

from sayso.gateway.doors.a2a.routes import A2a
from sayso.net.fetch import Fetcher
from sayso.net.listen import serving
from tests.gateway.doors.a2a.house import BASE, House

pytestmark = pytest.mark.anyio
PATHS = [f"{where}/.well-known/{name}.json" for where in (BASE, "") for name in ("agent", "agent-card")]


@pytest.mark.req("GTW-003")
async def test_the_card_is_one_document_at_four_addresses(house: House) -> None:
    """Without a key, with a validator and a lifetime, and it never changes between them."""
    async with httpx.AsyncClient(base_url=house.url) as client:
        got = [await client.get(path) for path in PATHS]
        assert {each.status_code for each in got} == {200}
        assert len({each.content for each in got}) == 1
        assert got[0].headers["cache-control"] == "public, max-age=300"
        assert got[0].headers["content-type"] == "application/json"
        again = await client.get(PATHS[0], headers={"if-none-match": got[0].headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        other = await client.get(PATHS[0], headers={"if-none-match": '"another"'})
        assert other.status_code == 200


@pytest.mark.req("GTW-003")
async def test_a_reader_of_0_3_finds_its_members(house: House) -> None:
    """The official 0.3 model takes it, and the scheme says which header holds the key."""
    async with httpx.AsyncClient(base_url=house.url) as client:
        raw = (await client.get(PATHS[1])).json()
    card = OldCard.model_validate(raw)
    assert (card.protocol_version, card.preferred_transport) == ("0.3.0", "JSONRPC")
    assert card.url == house.url + BASE
    assert {each.transport for each in card.additional_interfaces or []} == {"JSONRPC", "HTTP+JSON"}
    assert card.supports_authenticated_extended_card
    assert raw["securitySchemes"]["osz"]["type"] == "apiKey"
    assert (raw["securitySchemes"]["osz"]["in"], raw["securitySchemes"]["osz"]["name"]) == ("header", "X-OSz-Agent-Key")
    assert raw["security"] == [{"osz": []}]


@pytest.mark.req("GTW-003")
async def test_a_reader_of_1_0_finds_its_members(house: House) -> None:
    """Interfaces with their versions, the scheme by its new name, and what the door can do."""
    async with httpx.AsyncClient() as client:
        card = await A2ACardResolver(client, house.url).get_agent_card()
        raw = (await client.get(house.url + PATHS[1])).json()
    spoken = {(each.protocol_binding, each.protocol_version) for each in card.supported_interfaces}
    assert spoken == {(one, two) for one in ("JSONRPC", "HTTP+JSON") for two in ("0.3", "1.0")}
    assert card.capabilities.streaming
    assert card.capabilities.push_notifications
    assert card.security_schemes["osz"].api_key_security_scheme.name == "X-OSz-Agent-Key"
    assert "X-OSz-Signature" in card.security_schemes["osz"].api_key_security_scheme.description
    assert "osz" in card.security_requirements[0].schemes
    assert raw["securitySchemes"]["osz"]["apiKeySecurityScheme"]["location"] == "header"
    assert card == parse_agent_card(raw)


@pytest.mark.req("GTW-003")
async def test_the_public_card_names_no_act(house: House) -> None:
    """What there is to ask for is for agents with a key."""
    async with httpx.AsyncClient(base_url=house.url) as client:
        public = (await client.get(PATHS[0])).text
    assert "call_neighbour" not in public
    extended = (await house.rpc("GetExtendedAgentCard", {}))["result"]
    (extension,) = extended["capabilities"]["extensions"]
    acts = {each["act"]: each for each in extension["params"]["acts"]}
    assert acts["take_note"]["class"] == "execution"
    assert acts["take_note"]["arguments"]["required"] == ["text"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.req("GTW-003")
async def test_a_card_is_only_read(house: House, path: str) -> None:
    """Nothing is posted there, a foreign Host is refused, and so is a web page."""
    async with httpx.AsyncClient(base_url=house.url) as client:
        assert (await client.post(path)).status_code == 405
        assert (await client.head(path)).status_code == 200
        assert (await client.get(path, headers={"host": "evil.example"})).status_code == 403
        assert (await client.get(path, headers={"origin": "https://evil.example"})).status_code == 403


@pytest.mark.req("GTW-003")
async def test_the_extended_card_needs_a_key(house: House) -> None:
    """By each binding."""
    async with httpx.AsyncClient(base_url=house.url, headers={"a2a-version": "1.0"}) as client:
        got = await client.get(f"{BASE}/extendedAgentCard")
        assert (got.status_code, got.json()["error"]["status"]) == (401, "UNAUTHENTICATED")
        assert (await client.get(f"{BASE}/v1/card")).status_code == 401


@pytest.mark.req("GTW-003")
async def test_the_public_origin_is_what_the_card_names(house: House) -> None:
    """Where a setting gives one."""
    named = A2a(house.bench.gateway, fetcher=Fetcher(), origin="https://gateway.example/")
    async with serving(Starlette(routes=named.routes())) as address, httpx.AsyncClient() as client:
        card = (await client.get(f"{address.url}/.well-known/agent.json")).json()
    assert card["url"] == f"https://gateway.example{BASE}"
