"""A server of the official SDK as a child."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from sayso.control.loop.contract import ToolAnswer, ToolAsks, ToolDone, ToolSource
from sayso.control.mcp_sources.limits import Operator
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from tests.control.mcp_sources.opening import a_call, called, opened, pipe, result_of

pytestmark = pytest.mark.anyio
OFFICIAL = pipe("official", "stdio")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def source() -> AsyncIterator[ToolSource]:
    """A server for the tests that leave it as it was."""
    async with opened(OFFICIAL, result_chars=1000) as source:
        yield source


@pytest.mark.req("OAP-156", "OAP-060")
async def test_its_tools_are_listed_over_all_pages_and_called_by_their_own_names(source: ToolSource) -> None:
    """Under names that say where they come from."""
    names = [spec.name for spec in source.tools()]
    assert len(names) == 14
    assert "far__add" in names
    odd = next(name for name in names if name.startswith("far__a_name"))
    assert await source.call(a_call(odd), ()) == ToolDone("called by its own name")
    assert await result_of(source, "add", a=2, b=3) == "5"


@pytest.mark.req("OAP-156")
async def test_every_sort_of_result_reaches_the_model(source: ToolSource) -> None:
    """Values, links, the size of a picture, and an error of the tool as an error result."""
    assert await result_of(source, "table") == {"rows": [1, 2, {"three": None}]}
    picture = await result_of(source, "picture")
    assert (picture["text"], picture["parts"][0]["bytes"]) == ("One pixel:", 70)
    link, inner = (await result_of(source, "link"))["parts"]
    assert (link["uri"], inner["text"]) == ("file:///var/log/x", "said so")
    assert await called(source, "fail") == ToolDone("no such row", is_error=True)
    assert await result_of(source, "nothing") == ""
    long = await result_of(source, "long", size=50_000)
    assert "[49000 characters are left out here]" in long


@pytest.mark.req("OAP-060", "OAP-156")
async def test_a_child_sees_its_variables_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wire fact 44: children inherit nothing."""
    monkeypatch.setenv("OURS", "secret of this process")
    with_variables = pipe("official", "stdio", environment=("REGION=eu", "EMPTY="))
    async with opened(with_variables) as source:
        seen = json.loads(await result_of(source, "variables"))
    # The interpreter sets the last one itself.
    assert {name: value for name, value in seen.items() if name != "LC_CTYPE"} == {"REGION": "eu", "EMPTY": ""}


@pytest.mark.req("OAP-156")
async def test_a_child_works_in_the_sessions_workspace(tmp_path: Path) -> None:
    """Where people expect a server that they configured for a project."""
    async with opened(OFFICIAL, workspace=tmp_path) as source:
        assert await result_of(source, "where") == str(tmp_path)


@pytest.mark.req("OAP-156", "OAP-157")
async def test_a_call_is_asked_about_and_made_after_a_yes() -> None:
    """The question names the server's own name for the tool, the source and the arguments."""
    async with opened(OFFICIAL, permission="ask") as source:
        question = await called(source, "add", a=2, b=3)
        assert isinstance(question, ToolAsks)
        assert question.title == "Call add of far"
        assert '{"a":2,"b":3}' in question.text
        assert await called(source, "add", ToolAnswer(granted=True), a=2, b=3) == ToolDone("5")
        assert isinstance(await called(source, "table"), ToolAsks)
        denied = await called(source, "table", ToolAnswer(granted=False))
        assert isinstance(denied, ToolDone)
        assert denied.is_error
        with pytest.raises(Refused) as caught:
            await called(source, "absent")
        assert caught.value.refusal.code == "unknown_tool", "nobody is asked about what cannot be called"


@pytest.mark.req("OAP-157")
async def test_only_the_operators_word_spares_the_question() -> None:
    """`add` says of itself that it only reads; `variables` as well; `table` says nothing."""
    async with opened(OFFICIAL, permission="ask", operator=Operator(trusts_hints=True)) as source:
        assert await called(source, "add", a=2, b=3) == ToolDone("5")
        assert isinstance(await called(source, "table"), ToolAsks)


@pytest.mark.req("OAP-156")
async def test_a_changed_list_is_read_again() -> None:
    """What is offered to the next run is what the server has then; what cannot be read changes nothing."""
    async with opened(OFFICIAL, calm_seconds=0.0) as source:
        tools: Any = source._inner  # type: ignore[attr-defined]
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(tools.renewed)
                await anyio.wait_all_tasks_blocked()
                assert await result_of(source, "grow", name="seed") == "grown"
            assert "far__seed" in [spec.name for spec in source.tools()]
            before = source.tools()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(tools.renewed)
                await anyio.wait_all_tasks_blocked()
                await result_of(source, "grow", name="seed")
        assert source.tools() == before


@pytest.mark.req("OAP-156", "OAP-159")
async def test_a_cancelled_call_is_cancelled_at_the_server(source: ToolSource, tmp_path: Path) -> None:
    """The server's handler ends, and the connection serves the next call."""
    note = tmp_path / "note"
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: result_of(source, "slow", note=str(note)))
            while not note.with_suffix(".begun").exists():
                await result_of(source, "nothing")
            tasks.cancel_scope.cancel()
        while not note.exists():
            await result_of(source, "nothing")
    assert await result_of(source, "add", a=1, b=1) == "2"


async def test_a_call_without_an_answer_is_given_up_after_its_time(tmp_path: Path) -> None:
    """And cancelled at the server."""
    note = tmp_path / "note"
    async with opened(OFFICIAL, call_seconds=0.3) as source:
        with pytest.raises(PeerUnreachable, match="what it did is not known"):
            await result_of(source, "slow", note=str(note))
        with anyio.fail_after(20):
            while not note.exists():
                await anyio.sleep(0.01)


@pytest.mark.req("OAP-156")
async def test_a_server_may_ask_us_for_nothing(source: ToolSource) -> None:
    """No sampling, no elicitation, no roots: each is refused and the call goes on."""
    answers = json.loads(await result_of(source, "ask_back"))
    assert set(answers) == {"sampling", "elicitation", "roots"}
    assert all("not supported" in said for said in answers.values())


async def test_an_error_of_the_protocol_is_the_servers_no(source: ToolSource) -> None:
    """The model reads what the server said."""
    with pytest.raises(PeerRefused):
        await result_of(source, "add", a=1)


@pytest.mark.req("OAP-156")
async def test_a_server_that_died_is_started_again_by_the_next_call() -> None:
    """The call that killed it fails, and nobody waits for what it was told."""
    async with opened(OFFICIAL) as source:
        with pytest.raises(PeerUnreachable, match="exited with code 7"):
            await result_of(source, "die")
        assert await result_of(source, "add", a=1, b=1) == "2"
        with pytest.raises(PeerUnreachable, match="exited with code 7"):
            await result_of(source, "die")
        with pytest.raises(PeerUnreachable, match="soon after it was started again"):
            await result_of(source, "add", a=1, b=1)


async def test_arguments_larger_than_a_message_are_refused_here() -> None:
    """The connection lives on."""
    async with opened(OFFICIAL, message_bytes=20_000) as source:
        with pytest.raises(Refused) as caught:
            await result_of(source, "long", size=1, padding="x" * 30_000)
        assert caught.value.refusal.code == "invalid_arguments"
        assert await result_of(source, "add", a=1, b=1) == "2"


@pytest.mark.req("OAP-156")
async def test_a_source_may_be_opened_in_one_task_and_closed_in_another() -> None:
    """As a session is: whoever opens it has long gone when it is closed."""
    context = opened(OFFICIAL)
    async with anyio.create_task_group() as tasks:
        source = await context.__aenter__()
        assert await result_of(source, "add", a=1, b=1) == "2"
        tasks.start_soon(context.__aexit__, None, None, None)
    with pytest.raises(PeerUnreachable):
        await result_of(source, "add", a=1, b=1)
