"""Shell as a session has it: what the person is shown, what the command finds, how its end is told."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path

import anyio
import pytest

from sayso.control.loop.contract import ToolAsks, ToolDone
from tests.control.workspace.desk import needs_bubblewrap, open_desk, plain_programs, processes_with

pytestmark = pytest.mark.anyio


@pytest.mark.req("OAP-157")
async def test_without_a_sandbox_the_person_is_asked_in_every_mode(tmp_path: Path) -> None:
    """And told that it is not sandboxed."""
    async with open_desk(tmp_path, mode="bypass", programs=plain_programs(tmp_path)) as desk:
        assert "not sandboxed" in {spec.name: spec.description for spec in desk.source.tools()}["Shell"]
        denied = await desk.do("Shell", grant=False, command="touch made")
        assert denied.is_error
        assert not (desk.root / "made").exists()
        assert desk.asked == [
            ToolAsks(
                "Run a command, not sandboxed",
                f"$ touch made\n\nNot sandboxed, in {desk.root}, for at most 120 seconds: "
                "it can read, change and reach whatever you can.",
            )
        ]
        assert await desk.shell("pwd; touch made") == (0, f"{desk.root}\n")
        assert (desk.root / "made").exists()
        assert len(desk.asked) == 2


@pytest.mark.req("OAP-157")
async def test_in_the_sandbox_bypass_is_not_asked_and_ask_is(tmp_path: Path) -> None:
    """The person reads the whole command, nothing of it hidden."""
    needs_bubblewrap()
    async with open_desk(tmp_path, mode="bypass") as desk:
        assert await desk.shell("echo hi") == (0, "hi\n")
        assert desk.asked == []
    async with open_desk(tmp_path, mode="ask") as desk:
        await desk.do("Shell", grant=False, command="ls\r\x1b[1A\nrm -rf .", seconds=5)
        assert (desk.asked[0].title, desk.asked[0].text.split("\n\n")) == (
            "Run a command in the sandbox",
            [
                "$ ls\\u{d}\\u{1b}[1A\n> rm -rf .",
                f"Sandboxed, in {desk.root}, for at most 5 seconds: no network, nothing of your home.",
            ],
        )


async def test_a_command_the_machine_cannot_take_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    """A zero byte, half a surrogate pair."""
    async with open_desk(tmp_path, mode="ask") as desk:
        for command in ("a\0b", "a\udc80"):
            assert (await desk.refusal("Shell", command=command)).place == "$.command"
        assert desk.asked == []


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize("is_sandboxed", [True, False])
async def test_the_end_of_a_command_is_told(tmp_path: Path, is_sandboxed: bool) -> None:
    """Its code, the signal that ended it, its output with both ends."""
    if is_sandboxed:
        needs_bubblewrap()
    more = {} if is_sandboxed else {"programs": plain_programs(tmp_path)}
    async with open_desk(tmp_path, **more) as desk:  # type: ignore[arg-type]
        assert await desk.do("Shell", command="echo a; echo b >&2; exit 7") == ToolDone(
            {"exit_code": 7, "output": "a\nb\n"}
        )
        assert await desk.do("Shell", command="kill -SEGV $$") == ToolDone(
            {"exit_code": 139, "output": "", "signal": "SIGSEGV"}
        )
        _, output = await desk.shell("seq 1 100000")
        assert re.fullmatch(r"1\n2\n.*\n\[\d+ bytes are not shown\]\n.*\n100000\n", output, re.DOTALL)
        assert len(output) < 33_000
        assert await desk.shell(r"printf 'a\377b'") == (0, "a\ufffdb")
        late = await desk.do("Shell", command="echo said; sleep 600", seconds=1)
        assert late == ToolDone(
            {
                "error": "tool_failed",
                "reason": "late",
                "message": "The command was killed with all it started: it did not end within 1 seconds",
                "output": "said\n",
            },
            is_error=True,
        )


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize("is_sandboxed", [True, False])
async def test_no_credential_of_ours_reaches_a_command(tmp_path: Path, is_sandboxed: bool) -> None:
    """Its environment is a short list, and PATH has no relative part."""
    if is_sandboxed:
        needs_bubblewrap()
    programs = {} if is_sandboxed else {"programs": plain_programs(tmp_path)}
    parent = {"ANTHROPIC_API_KEY": "sk-secret", "SSH_AUTH_SOCK": "/x", "LANG": "C.UTF-8", "PATH": ".:/usr/bin::/bin"}
    async with open_desk(tmp_path, **programs, **parent) as desk:  # type: ignore[arg-type]
        _, output = await desk.shell("env")
        found = dict(line.split("=", 1) for line in output.splitlines())
        assert set(found) <= {
            "PATH", "HOME", "LANG", "TERM", "PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT", "NO_COLOR", "SAYSO_CALL",
            "PWD", "SHLVL", "_", "OLDPWD",
        }  # fmt: skip
        assert (found["PATH"], found["HOME"], found["LANG"]) == ("/usr/bin:/bin", str(desk.home), "C.UTF-8")


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize("is_sandboxed", [True, False])
async def test_a_cancelled_call_ends_its_command_at_once(tmp_path: Path, is_sandboxed: bool) -> None:
    """With everything it started, in a session of its own or not."""
    if is_sandboxed:
        needs_bubblewrap()
    more = {} if is_sandboxed else {"programs": plain_programs(tmp_path)}
    async with open_desk(tmp_path, **more) as desk:  # type: ignore[arg-type]
        command = "setsid sleep 61.25 & sleep 61.5 & mkfifo ready; echo > ready; wait"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(desk.do, "Shell", command=command))
            while not (desk.root / "ready").exists():
                await anyio.sleep(0.01)
            await anyio.to_thread.run_sync((desk.root / "ready").read_text)
            assert processes_with("sleep", "61.")
            tasks.cancel_scope.cancel()
        assert processes_with("sleep", "61.") == []


@pytest.mark.req("OAP-156")
async def test_a_command_ends_with_its_session(tmp_path: Path) -> None:
    """Closing the workspace ends it, and the call says that it was stopped."""
    async with anyio.create_task_group() as tasks:
        outcomes: list[ToolDone] = []
        async with open_desk(tmp_path) as desk:

            async def run() -> None:
                outcomes.append(await desk.do("Shell", command="mkfifo ready; echo > ready; exec sleep 62.5"))

            tasks.start_soon(run)
            while not (desk.root / "ready").exists():
                await anyio.sleep(0.01)
            await anyio.to_thread.run_sync((desk.root / "ready").read_text)
    assert isinstance(outcomes[0].result, dict)
    assert (outcomes[0].is_error, outcomes[0].result["reason"]) == (True, "stopped")
    assert processes_with("sleep", "62.5") == []


async def test_a_workspace_that_was_moved_runs_nothing(tmp_path: Path) -> None:
    """A sandbox is laid out by path."""
    async with open_desk(tmp_path) as desk:
        desk.root.rename(tmp_path / "elsewhere")
        assert (await desk.refusal("Shell", command="true")).reason == "moved"
        os.mkdir(desk.root)
        assert (await desk.refusal("Shell", command="true")).reason == "moved"
