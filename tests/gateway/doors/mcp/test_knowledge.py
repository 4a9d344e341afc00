"""The reference's MCP surface, whole: four tools, its resources and its prompts, over one small knowledge."""

from __future__ import annotations

from pathlib import Path

import httpx2
import orjson
import pytest
from starlette.applications import Starlette

from sayso.gateway.doors.mcp.endpoint import MESSAGE_PATH, McpDoor, routes
from sayso.gateway.knowledge.acts import register
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.gateway.knowledge.surface import KnowledgeSurface
from sayso.net.listen import serving
from sayso.testing.gateway import open_gateway
from tests.gateway.doors.mcp.speaking import UNHURRIED, Speaker
from tests.gateway.knowledge.shelf import model

pytestmark = pytest.mark.anyio


@pytest.mark.req("GTW-040", "GTW-041", "GTW-042")
async def test_the_surface_of_the_reference_is_there(tmp_path: Path) -> None:
    """Two tools that look and two that propose; what they answer is what their schemas say."""
    async with open_gateway(tmp_path, limits=UNHURRIED) as bench:
        knowledge = Knowledge(
            bench.store, bench.ledger, owner=bench.gateway.owner, clock=bench.clock, ids=bench.ids, embedder=model()
        )
        await knowledge.open()
        register(bench.registry, knowledge)
        door = McpDoor(bench.gateway, surfaces=[KnowledgeSurface(knowledge, bench.ledger)])
        issued = await bench.issue("ada")
        async with (
            serving(Starlette(routes=routes(bench.gateway, door))) as address,
            httpx2.AsyncClient(timeout=60, trust_env=False) as http,
        ):
            ada = Speaker(bench, address.url + MESSAGE_PATH, issued.key, issued.agent.id, http)
            listed = (await ada.modern("tools/list")).json()["result"]["tools"]
            hints = {tool["name"]: tool["annotations"]["readOnlyHint"] for tool in listed}
            wanted = {
                "semantic_search": True, "query_hypotheses": True, "submit_proposal": False, "run_simulation": False,
            }  # fmt: skip
            assert wanted.items() <= hints.items()
            assert all("outputSchema" in tool for tool in listed if tool["name"] in wanted)
            uris = [each["uri"] for each in (await ada.modern("resources/list")).json()["result"]["resources"]]
            assert {"osz://constitution", "osz://domains", "osz://insights/recent", "osz://stats"} <= set(uris)
            read = (await ada.modern("resources/read", {"uri": "osz://domains"})).json()["result"]["contents"][0]
            assert len(orjson.loads(read["text"])["domains"]) == 1000
            search = {"name": "semantic_search", "arguments": {"query": "how bread rises"}}
            found = (await ada.modern("tools/call", search)).json()["result"]
            assert found["isError"] is False, found
            asked = {"name": "query_hypotheses", "arguments": {"kind": "risk"}}
            assert (await ada.modern("tools/call", asked)).json()["result"]["isError"] is False
            prompts = (await ada.modern("prompts/list")).json()["result"]["prompts"]
            analyze = next(each for each in prompts if each["name"] == "analyze_domain")
            first = analyze["arguments"][0]
            assert (first["name"], first["required"]) == ("domain_key", True)
