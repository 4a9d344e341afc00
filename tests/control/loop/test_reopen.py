"""A conversation outlives its process: closed and loaded again, or killed in the middle of a tool call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from sayso.control.hub.history_file import HistoryFile
from sayso.control.loop.contract import SourceTerms
from sayso.control.loop.saved import SavedConversations
from sayso.control.protocol.payloads.content import Message, text_of
from sayso.control.protocol.payloads.inference import ReasoningRequest
from sayso.control.protocol.payloads.session import CompactionPolicy
from sayso.core.clock import ManualClock
from sayso.core.ids import SystemIds
from sayso.core.refusal import PeerRefused, Refused
from sayso.testing.provider import Call, Hangs, Say
from sayso.testing.tools import asking
from tests.control.conftest import Trace
from tests.control.houses import NOON
from tests.control.loop import dying_loop
from tests.control.loop.stage import ONE, TWO, staged
from tests.control.loop.test_opening import Opener

pytestmark = pytest.mark.anyio
ROOT = Path(dying_loop.__file__).parents[3]


def conversations(folder: Path) -> SavedConversations:
    return SavedConversations(folder, clock=ManualClock(NOON))


def said(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    return [(message.role, text_of(message.content)) for message in messages if message.role != "system"]


@pytest.mark.req("OAP-164")
async def test_a_session_killed_in_the_middle_of_a_call_is_reopened_and_goes_on(trace: Trace, tmp_path: Path) -> None:
    """Nothing that was told is lost; its model and settings are its own, its standing yes is not; the call that was
    under way is answered by the repair, and the model reads that it was interrupted.
    """
    history, folder = tmp_path / "history.jsonl", tmp_path / "talks"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))}
    command = [sys.executable, "-m", dying_loop.__name__, str(folder), str(history)]
    told: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT) as child:
        assert child.stdout is not None
        try:
            while {"in the middle", "action.call.requested"} - set(told):
                line = await anyio.to_thread.run_sync(child.stdout.readline)
                assert line, told
                told.append(line.strip())
        finally:
            child.kill()
    opener = Opener("workspace")
    async with staged(
        [[Say("it was interrupted, I see")]],
        {"write": asking("limits")},
        ids=SystemIds(),
        record=trace.record,
        history=HistoryFile(history, issuer="second"),
        conversations=conversations(folder),
        openers=[opener],
        opens={"session_id": "s1", "reopen": True},
    ) as stage:
        assert stage.state.recovery
        assert (stage.state.recovery.recovered, stage.state.active_runs, stage.state.status) == (True, (), "idle")
        assert (stage.state.current_model_id, stage.state.reasoning_level) == (TWO, "high")
        _, ended = await stage.begin("go on")
        request = stage.provider.requests[0]
    assert ended.type == "run.completed"
    assert said(request.messages) == [
        ("user", "remember the milk"),
        ("assistant", "noted"),
        ("user", "now write it down"),
        ("assistant", "I will write it. "),
        ("tool", ""),
        ("user", "go on"),
    ]
    result: Any = request.messages[5].content[0]
    assert (result.tool_call_id, result.is_error, result.result["error"]) == ("c1", True, "interrupted")
    assert "may be done" in result.result["message"]
    assert (request.model_ref, request.reasoning) == (TWO, ReasoningRequest(enabled=True, effort="high"))
    assert [terms.permission for terms in opener.terms] == ["ask"]


@pytest.mark.req("OAP-164")
async def test_a_closed_session_is_loaded_with_all_that_was_said_and_done(trace: Trace, tmp_path: Path) -> None:
    """Also what a person said no to, what was steered, and what a compaction left of it."""
    turns = [
        [Say("hello")],
        [Call("book", {}, "c1")],
        [Say("then not")],
        [Say("what was said, in short")],
        [Say("back")],
    ]
    async with staged(
        turns,
        {"book": asking("limits")},
        record=trace.record,
        conversations=conversations(tmp_path),
        opens={"session_id": "s1", "compaction_policy": CompactionPolicy(kind="off")},
    ) as stage:
        await stage.begin("hi")
        run_id, asked = await stage.begin("book it", until="action.permission.requested")
        await stage.client.submit(stage.id, "or rather not", delivery="steer")
        await stage.client.resolve(asked, granted=False)  # type: ignore[arg-type]
        await stage.read(run_id)
        compacted = await stage.client.compact(stage.id)
        assert (await stage.read(str(compacted.run_id))).type == "run.completed"
        await stage.client.close(stage.id)
        stage.state = await stage.client.open("sayso", session_id="s1", reopen=True)
        assert stage.state.compaction_policy == CompactionPolicy(kind="off")
        _, ended = await stage.begin("are you there")
        before, after = stage.provider.requests[2], stage.provider.requests[-1]
    assert ended.type == "run.completed"
    assert said(before.messages)[-2:] == [("tool", ""), ("user", "or rather not")]
    texts = said(after.messages)
    assert "what was said, in short" in texts[0][1]
    assert texts[-1] == ("user", "are you there")


@pytest.mark.req("OAP-164")
async def test_a_conversation_is_open_once_and_gone_when_it_is_gone(trace: Trace, tmp_path: Path) -> None:
    """A second reopen is refused, and a store that lost it says so."""
    async with staged(
        [[Hangs()]], record=trace.record, conversations=conversations(tmp_path), opens={"session_id": "s1"}
    ) as stage:
        with pytest.raises(PeerRefused) as twice:
            await stage.client.open("sayso", session_id="s1", reopen=True)
        await stage.client.close("s1")
        for file in tmp_path.iterdir():
            file.unlink()
        with pytest.raises(PeerRefused) as gone:
            await stage.client.open("sayso", session_id="s1", reopen=True)
    assert (twice.value.refusal.code, gone.value.refusal.code) == ("session_exists", "unsupported_feature")


@pytest.mark.req("OAP-164")
async def test_a_refused_reopen_lets_the_conversation_go(trace: Trace, tmp_path: Path) -> None:
    """The next one may have it."""
    opener = Opener("workspace")
    async with staged(
        [], record=trace.record, conversations=conversations(tmp_path), openers=[opener], opens={"session_id": "s1"}
    ) as stage:
        await stage.client.close("s1")
        opener.fault = Refused.because("open_failed", "not now")
        with pytest.raises(PeerRefused):
            await stage.client.open("sayso", session_id="s1", reopen=True)
        opener.fault = None
        again = await stage.client.open("sayso", session_id="s1", reopen=True)
    assert again.current_model_id == ONE
    assert opener.terms[0] == SourceTerms(session_id="s1")
