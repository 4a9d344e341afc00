"""The workspace tools behind the hub and the loop: asked, answered, cancelled, as a client sees it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.local import LocalClient
from sayso.control.client.run import Answered, run_to_terminal
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.loop.contract import PermissionMode, ToolDone
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ActionCallFailed, PermissionRequested
from sayso.control.protocol.payloads.content import Message, ToolResultPart
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.clock import SystemClock
from sayso.core.ids import CountingIds
from sayso.testing.provider import Call, Say, ScriptedProvider, Turn
from tests.control.conftest import Trace
from tests.control.workspace.desk import Desk, open_desk, opener, plain_programs, processes_with

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def over(
    tmp_path: Path, turns: Iterable[Turn], trace: Trace, mode: PermissionMode = "ask"
) -> AsyncIterator[tuple[LocalClient, ScriptedProvider, str]]:
    """A hub over our own loop with a workspace at `project`; commands are not sandboxed."""
    (tmp_path / "project").mkdir()
    ids = CountingIds()
    provider = ScriptedProvider(turns, ids=ids)
    workspace = opener(tmp_path / "home", tmp_path / "own", programs=plain_programs(tmp_path))
    loop = OwnLoop(
        provider, clock=SystemClock(), ids=ids, model_ref="scripted/one", openers=[workspace], permission=mode,
        workspace=tmp_path / "project",
    )  # fmt: skip
    async with Hub(Registry({"sayso": loop}), clock=SystemClock(), ids=ids, record=trace.record) as hub:
        client = LocalClient(hub, ids=ids)
        yield client, provider, (await client.open("sayso")).session_id


@pytest.mark.req("OAP-156", "OAP-157")
@pytest.mark.parametrize("is_granted", [True, False])
async def test_a_change_is_asked_with_its_diff_and_made_on_a_yes(
    tmp_path: Path, trace: Trace, is_granted: bool
) -> None:
    """Reading is not asked about; the model hears what became of each call."""
    change = {"path": "a.txt", "old_text": "one", "new_text": "two"}
    turns: list[Turn] = [[Call("Read", {"path": "a.txt"})], [Call("Edit", change)], [Say("done")]]
    async with over(tmp_path, turns, trace) as (client, provider, session_id):
        path = tmp_path / "project" / "a.txt"
        path.write_text("one\n")
        asked: list[PermissionRequested] = []

        async def reply(envelope: Envelope[PermissionRequested]) -> Answered:
            asked.append(envelope.payload)
            return Answered(is_granted)

        await run_to_terminal(client, session_id, "go", reply)
        assert [(each.title, each.description) for each in asked] == [
            ("Change a.txt", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two")
        ]
        assert path.read_text() == ("two\n" if is_granted else "one\n")
        said = provider.requests[-1].messages[-1]
        assert isinstance(said, Message)
        result = said.content[0]
        assert isinstance(result, ToolResultPart)
        assert isinstance(result.result, dict)
        told = result.result.get("error", "made")
        assert (told, result.is_error is True) == (("made", False) if is_granted else ("permission_denied", True))


@pytest.mark.req("OAP-156")
async def test_a_refusal_reaches_model_and_client_with_its_reason(tmp_path: Path, trace: Trace) -> None:
    """As a failed call, whose run goes on."""
    failed: list[ActionCallFailed] = []

    async def nobody(envelope: Envelope[PermissionRequested]) -> Answered:
        raise AssertionError(envelope)

    def watch(envelope: Envelope[Wire]) -> None:
        if isinstance(envelope.payload, ActionCallFailed):
            failed.append(envelope.payload)

    turns: list[Turn] = [[Call("Read", {"path": "../secret"})], [Say("sorry")]]
    async with over(tmp_path, turns, trace) as (client, _, session_id):
        await run_to_terminal(client, session_id, "go", nobody, watch)
    assert len(failed) == 1
    assert "outside_workspace" in str(failed[0].error.details)


async def test_commands_that_take_long_hold_up_no_other_session(tmp_path: Path) -> None:
    """They wait in threads of their own, not in those that everybody shares."""
    shared = anyio.to_thread.current_default_thread_limiter()
    shared.total_tokens = 1
    try:
        async with open_desk(tmp_path, programs=plain_programs(tmp_path)) as one, open_desk(tmp_path) as other:
            os.mkfifo(one.root / "go")
            one.write("a.txt", "a\n")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(one.shell, "touch up; cat go")
                while not (one.root / "up").exists():
                    await anyio.sleep(0.01)
                with anyio.fail_after(20):
                    assert "a" in await other.text("Read", path="a.txt")
                await anyio.to_thread.run_sync((one.root / "go").write_text, "went")
    finally:
        shared.total_tokens = 40


async def test_a_command_that_was_about_to_start_ends_with_its_session(tmp_path: Path) -> None:
    """What was made ready when the session ended is not run."""
    shared = anyio.to_thread.current_default_thread_limiter()
    async with anyio.create_task_group() as tasks, open_desk(tmp_path, programs=plain_programs(tmp_path)) as desk:
        await shared.acquire_on_behalf_of(desk.source)
        shared.total_tokens = 1
        refused = list[ToolDone]()
        tasks.start_soon(_keep, refused, desk)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(_let_go, shared, desk.source)
    assert [isinstance(each.result, dict) and each.result.get("reason") for each in refused] == ["stopped"]
    assert not (desk.root / "ran").exists()


async def _keep(results: list[ToolDone], desk: Desk) -> None:
    results.append(await desk.do("Shell", command="touch ran"))


async def _let_go(shared: anyio.CapacityLimiter, borrower: object) -> None:
    """Once everything waits: the command for a thread, the session's end for the command."""
    await anyio.wait_all_tasks_blocked()
    shared.total_tokens = 40
    shared.release_on_behalf_of(borrower)


@pytest.mark.req("OAP-156")
async def test_a_cancelled_run_ends_its_command_and_the_session_goes_on(tmp_path: Path, trace: Trace) -> None:
    """Before the run's terminal is told, nothing of the command is left."""
    command = "mkfifo ready; echo > ready; exec sleep 65.75"
    turns: list[Turn] = [[Call("Shell", {"command": command})], [Say("again")]]
    async with over(tmp_path, turns, trace, "bypass") as (client, _, session_id):

        async def grant(_: Envelope[PermissionRequested]) -> Answered:
            return Answered(True)

        async def cancel_once_it_runs() -> None:
            while not (tmp_path / "project" / "ready").exists():
                await anyio.sleep(0.01)
            await anyio.to_thread.run_sync((tmp_path / "project" / "ready").read_text)
            assert processes_with("sleep", "65.75")
            state = await client.state(session_id)
            await client.cancel(session_id, str(state.active_run_id), reason="enough")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_once_it_runs)
            outcome = await run_to_terminal(client, session_id, "go", grant)
        assert processes_with("sleep", "65.75") == []
        assert outcome.response is None
        again = await run_to_terminal(client, session_id, "go", grant)
        assert again.response is not None
