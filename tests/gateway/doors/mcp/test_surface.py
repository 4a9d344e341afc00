"""What an agent finds and does over MCP: tools from the registry, proposals, resources, prompts (GTW-034, GTW-040)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sayso.core.gcra import Limit
from sayso.gateway.crossing import Agent
from sayso.gateway.doors.mcp.read.revisions import LEGACY, MODERN
from sayso.gateway.guard.rules.limits import Limits
from sayso.gateway.surface import Contents, Prompt, PromptText, Readable, Template
from sayso.governance.proposal import Decider
from sayso.proof.hashes import sha256_b64u
from tests.gateway.doors.mcp.speaking import Speaker, receipts_of, speaking

pytestmark = pytest.mark.anyio

OWNER = Decider(id="per_1", name="Ada", role="owner")


async def speak(ada: Speaker, method: str, params: Any, version: str) -> Any:
    """One request in a revision, of either era; its result."""
    answer = await ada.modern(method, params) if version == MODERN else await ada.ask(
        await ada.open(version), method, params
    )  # fmt: skip
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


@pytest.mark.req("GTW-040", "GTW-030")
async def test_tools_are_the_registrys_acts_by_name(tmp_path: Path) -> None:
    """The same list twice, with schemas printed from the types and hints from the act's class."""
    async with speaking(tmp_path) as (ada,):
        first, again = [await speak(ada, "tools/list", {}, MODERN) for _ in range(2)]
        assert first == again
        names = [tool["name"] for tool in first["tools"]]
        assert names == sorted(names)
        tools = {tool["name"]: tool for tool in first["tools"]}
        assert tools["echo"]["annotations"] == {
            "title": "Echo", "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True,
            "openWorldHint": False,
        }  # fmt: skip
        assert tools["call_neighbour"]["annotations"] == {
            "title": "Call a neighbour", "readOnlyHint": False, "destructiveHint": True, "idempotentHint": False,
            "openWorldHint": True,
        }  # fmt: skip
        assert tools["echo"]["inputSchema"]["required"] == ["text"]
        assert tools["echo"]["inputSchema"]["additionalProperties"] is False
        assert tools["proposal_status"]["outputSchema"]["type"] == "object"
        assert tools["take_note"]["outputSchema"]["required"] == ["proposal_id", "state", "title", "read"]
        assert all(tool["description"] for tool in tools.values())


@pytest.mark.req("GTW-040")
async def test_old_clients_see_no_newer_members(tmp_path: Path) -> None:
    """Output schemas, titles, structured results and links came with 2025-06-18."""
    async with speaking(tmp_path) as (ada,):
        for tool in (await speak(ada, "tools/list", {}, "2025-03-26"))["tools"]:
            assert set(tool) == {"name", "description", "inputSchema", "annotations"}
        for name in ("echo", "take_note"):
            result = await speak(ada, "tools/call", call(name, text="hi"), "2025-03-26")
            assert set(result) == {"content", "isError"}
            assert [block["type"] for block in result["content"]] == ["text"]


@pytest.mark.req("GTW-014", "GTW-040")
async def test_an_agent_sees_and_calls_what_its_key_allows(tmp_path: Path) -> None:
    """A key without `propose` finds no executions, and is refused one that it names all the same."""
    async with speaking(tmp_path) as (ada,):
        issued = await ada.bench.issue("reader", frozenset({"mcp", "disclose"}))
        reader = Speaker(ada.bench, ada.url, issued.key, issued.agent.id, ada.http)
        tools = (await speak(reader, "tools/list", {}, MODERN))["tools"]
        assert all(tool["annotations"]["readOnlyHint"] for tool in tools)
        refused = await reader.modern("tools/call", call("take_note", text="hi"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, 40307)
        assert refused.json()["id"] == 1


@pytest.mark.req("GTW-014", "GTW-030")
async def test_a_key_that_may_not_look_reads_its_own_and_the_law(tmp_path: Path) -> None:
    """Reading is disclosure: what the house knows stays closed, the constitution and the agent's proposals do not."""
    async with speaking(tmp_path) as (ada,):
        issued = await ada.bench.issue("writer", frozenset({"mcp", "propose"}))
        writer = Speaker(ada.bench, ada.url, issued.key, issued.agent.id, ada.http)
        ticket = (await speak(writer, "tools/call", call("take_note", text="hi"), MODERN))["structuredContent"]
        for uri in (ticket["read"], "osz://constitution"):
            assert (await speak(writer, "resources/read", {"uri": uri}, MODERN))["contents"]
        argument = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}
        for method, params in (
            ("resources/read", {"uri": "test://static-text"}),
            ("prompts/get", {"name": "test_simple_prompt"}),
            ("completion/complete", argument),
        ):
            refused = await writer.modern(method, params)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, 40307), method
        refused = await writer.ask(await writer.open(), "resources/subscribe", {"uri": "test://static-text"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, 40307)


@pytest.mark.req("GTW-030", "GTW-050")
async def test_a_disclosure_answers_at_once_and_is_receipted(tmp_path: Path) -> None:
    """Words and structure; the receipt has the hash of exactly the bytes that came and went."""
    async with speaking(tmp_path) as (ada,):
        answer = await ada.modern("tools/call", call("echo", text="hi"))
        result = answer.json()["result"]
        assert (result["structuredContent"], result["isError"]) == ({"text": "hi"}, False)
        assert result["content"] == [{"type": "text", "text": '{"text":"hi"}'}]
        last = (await receipts_of(ada.bench))[-1]
        assert last.output_sha256 == sha256_b64u(answer.content)
        assert last.inputs_sha256 == sha256_b64u(answer.request.content)
        assert last.actor == ada.agent


@pytest.mark.req("GTW-030", "GTW-034")
@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
async def test_an_execution_answers_with_its_proposal(tmp_path: Path, version: str) -> None:
    """Pending, with its deadline and a link; nothing has happened; reading it tells what a person said."""
    async with speaking(tmp_path) as (ada,):
        result = await speak(ada, "tools/call", call("take_note", text="buy milk"), version)
        ticket = result["structuredContent"]
        assert (result["isError"], ticket["state"], ticket["title"]) == (False, "pending", "Take a note")
        assert ticket["expires_at"].endswith("Z")
        link = result["content"][1]
        assert (link["type"], link["uri"]) == ("resource_link", f"osz://proposals/{ticket['proposal_id']}")
        assert not ada.bench.notes.taken
        await ada.bench.gate.reject(ticket["proposal_id"], OWNER, reason="not today")
        read = await speak(ada, "resources/read", {"uri": link["uri"]}, version)
        assert '"state":"rejected"' in read["contents"][0]["text"]
        assert "not today" in read["contents"][0]["text"]
        told = await speak(ada, "tools/call", call("proposal_status", proposal_id=ticket["proposal_id"]), version)
        assert told["structuredContent"]["state"] == "rejected"


@pytest.mark.req("GTW-031", "GTW-030")
async def test_what_the_constitution_refuses_is_an_error_that_names_the_article(tmp_path: Path) -> None:
    """A disclosure with a secret among its arguments, an execution that costs too much: never shaped like success."""
    async with speaking(tmp_path) as (ada,):
        result = await speak(ada, "tools/call", call("mirror", value={"password": "x"}), MODERN)
        assert result["isError"] is True
        assert "Article VIII " in result["content"][0]["text"]
        result = await speak(ada, "tools/call", call("spend", text="much"), MODERN)
        assert result["isError"] is True
        assert "article VII " in result["content"][0]["text"]
        ticket = result["structuredContent"]
        assert (ticket["state"], ticket["article"]) == ("refused_by_constitution", "VII")
        read = await speak(ada, "resources/read", {"uri": ticket["read"]}, MODERN)
        assert '"state":"refused_by_constitution"' in read["contents"][0]["text"]


@pytest.mark.req("GTW-034")
async def test_another_agents_proposal_is_a_missing_resource(tmp_path: Path) -> None:
    """Byte for byte but for the address that was asked for, on reading, listening and asking for its status."""
    async with speaking(tmp_path, "ada", "eve") as (ada, eve):
        ticket = (await speak(ada, "tools/call", call("take_note", text="hi"), MODERN))["structuredContent"]
        none = "prop_" + "a" * 26
        foreign = await eve.modern("resources/read", {"uri": ticket["read"]})
        missing = await eve.modern("resources/read", {"uri": f"osz://proposals/{none}"})
        assert foreign.status_code == missing.status_code == 400
        assert foreign.text.replace(ticket["proposal_id"], none) == missing.text
        session = await eve.open()
        listened = await eve.ask(session, "resources/subscribe", {"uri": ticket["read"]})
        assert listened.json()["error"]["code"] == -32002
        status = await speak(eve, "tools/call", call("proposal_status", proposal_id=ticket["proposal_id"]), MODERN)
        other = await speak(eve, "tools/call", call("proposal_status", proposal_id=none), MODERN)
        assert status["isError"] is other["isError"] is True
        assert status["content"] == other["content"]


@pytest.mark.req("GTW-034")
async def test_what_cannot_be_an_id_is_an_unknown_proposal(tmp_path: Path, location: str) -> None:
    """Answered before any statement, and as a missing one is: a NUL or a long text is no reason for a 500 anywhere."""
    async with speaking(tmp_path, location=location) as (ada,):
        missing = await speak(ada, "tools/call", call("proposal_status", proposal_id="prop_" + "a" * 26), MODERN)
        for strange in ("a\0b", "x" * 2000, "", "\u00e4", "a/b"):
            told = await speak(ada, "tools/call", call("proposal_status", proposal_id=strange), MODERN)
            assert (told["isError"], told["content"]) == (True, missing["content"]), strange


@pytest.mark.parametrize("version", [*LEGACY, MODERN])
async def test_arguments_that_do_not_fit_are_the_tools_error_since_2025_11_25(tmp_path: Path, version: str) -> None:
    """Before, they were the request's."""
    async with speaking(tmp_path) as (ada,):
        if version == MODERN:
            answer = await ada.modern("tools/call", call("echo", text=7))
        else:
            answer = await ada.ask(await ada.open(version), "tools/call", call("echo", text=7))
        said = answer.json()
        if version >= "2025-11-25":
            assert said["result"]["isError"] is True
            assert "schema_invalid" in said["result"]["content"][0]["text"]
        else:
            assert said["error"]["code"] == -32602


async def test_a_tools_own_failure_is_a_result(tmp_path: Path) -> None:
    """With its code, for the model and for the program."""
    async with speaking(tmp_path) as (ada,):
        result = await speak(ada, "tools/call", call("test_error_handling"), MODERN)
        assert result["isError"] is True
        assert result["content"][0]["text"].startswith("test_error: ")
        assert result["structuredContent"]["refused"]["code"] == "test_error"


@pytest.mark.req("GTW-041")
async def test_resources_and_templates_are_listed_and_read(tmp_path: Path) -> None:
    """The house's own first; texts as text, everything else in base64."""
    async with speaking(tmp_path) as (ada,):
        listed = (await speak(ada, "resources/list", {}, MODERN))["resources"]
        assert [each["uri"] for each in listed][:2] == ["osz://constitution", "test://static-text"]
        templates = (await speak(ada, "resources/templates/list", {}, MODERN))["resourceTemplates"]
        assert templates[0]["uriTemplate"] == "osz://proposals/{id}"
        constitution = await speak(ada, "resources/read", {"uri": "osz://constitution"}, MODERN)
        assert '"version":"2.0"' in constitution["contents"][0]["text"]
        assert constitution["ttlMs"] > 0
        binary = await speak(ada, "resources/read", {"uri": "test://static-binary"}, MODERN)
        assert set(binary["contents"][0]) == {"uri", "mimeType", "blob"}


@pytest.mark.req("GTW-042")
async def test_prompts_are_listed_filled_in_and_completed(tmp_path: Path) -> None:
    """By name, with their blanks."""
    async with speaking(tmp_path) as (ada,):
        prompts = (await speak(ada, "prompts/list", {}, MODERN))["prompts"]
        assert [blank["name"] for blank in prompts[1]["arguments"]] == ["arg1", "arg2"]
        filled = await speak(
            ada, "prompts/get", {"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}, MODERN
        )
        assert filled["messages"][0]["content"]["text"] == "Prompt with arguments: arg1='a', arg2='b'"
        ref = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
        found = await speak(
            ada, "completion/complete", {"ref": ref, "argument": {"name": "arg1", "value": "park"}}, MODERN
        )
        assert found["completion"] == {"values": ["park"], "total": 1, "hasMore": False}


@pytest.mark.req("GTW-007", "GTW-030", "GTW-050")
@pytest.mark.parametrize(
    ("method", "params", "act"),
    [
        ("resources/read", {"uri": "test://static-text"}, "read_resource"),
        ("prompts/get", {"name": "test_simple_prompt"}, "get_prompt"),
    ],
)
async def test_what_the_door_shows_by_itself_is_judged_and_receipted_too(
    tmp_path: Path, method: str, params: dict[str, Any], act: str
) -> None:
    """A resource and a prompt are disclosures like any other: Article I, and what it forbids is not shown."""
    async with speaking(tmp_path) as (ada,):
        await speak(ada, method, params, MODERN)
        last = (await receipts_of(ada.bench))[-1]
        assert (last.article, last.body["act"], last.body["class"]) == ("I", act, "disclosure")
        if act == "get_prompt":
            forbidden = await ada.modern(method, {**params, "arguments": {"password": "hunter2"}})
            assert (forbidden.status_code, forbidden.json()["error"]["data"]["article"]) == (403, "VIII")


@pytest.mark.req("GTW-020", "GTW-013")
async def test_at_its_limit_nothing_is_read_for_an_agent(tmp_path: Path) -> None:
    """A 429 charges nothing, so the work that it would have been for is not begun."""
    often = Limit(timedelta(minutes=1), 100_000)
    counting = Counting()
    limits = Limits(minute=often, second=Limit(timedelta(seconds=1), 1), coarse=often)
    async with speaking(tmp_path, limits=limits, surfaces=[counting]) as (ada,):
        answers = [await ada.modern("resources/read", {"uri": "count://"}) for _ in range(3)]
        assert ([each.status_code for each in answers], counting.reads) == ([200, 429, 429], 1)


class Counting:
    """One resource, and how often it was read."""

    reads = 0

    def resources(self) -> list[Readable]:
        return []

    def templates(self) -> list[Template]:
        return []

    def prompts(self) -> list[Prompt]:
        return []

    async def prompt(self, name: str, arguments: Any) -> PromptText:
        raise AssertionError(name)

    async def read(self, uri: str, agent: Agent) -> Contents:
        self.reads += 1
        return Contents(uri=uri, text="one")
