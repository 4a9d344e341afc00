"""Glob and Grep through a session: the process that searches, its bounds, and what is told."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import pytest

from tests.control.workspace.desk import open_desk, processes_with

pytestmark = pytest.mark.anyio

ENDLESS = r"^(a+)+$"
VICTIM = "a" * 60 + "b\n"


@pytest.mark.req("OAP-156")
async def test_glob_and_grep_tell_what_they_found(tmp_path: Path) -> None:
    """As text, sorted, without asking, in every mode."""
    async with open_desk(tmp_path, mode="ask") as desk:
        desk.write("b.py", "x = 1\n")
        desk.write("a/c.py", "y = 1\n")
        desk.write("a/d.txt", "x = 2\n")
        desk.write("bin.py", b"\0")
        assert await desk.text("Glob", pattern="*.py") == "a/c.py\nb.py\nbin.py"
        assert await desk.text("Glob", pattern="c.*", path="a") == "a/c.py"
        assert await desk.text("Glob", pattern="*.rs") == "nothing found"
        assert await desk.text("Grep", pattern="x =", glob="*.py") == (
            "b.py:1:x = 1\n[1 files were not searched: not text, too large or not readable]"
        )
        assert await desk.text("Grep", pattern="=", limit=1) == (
            "a/c.py:1:y = 1\n[there are more than these 1: narrow the pattern or the folder]"
        )
        assert desk.asked == []


@pytest.mark.req("OAP-156")
async def test_what_is_wrong_with_a_search_is_told_with_its_place(tmp_path: Path) -> None:
    """The process that searches refuses as we would."""
    async with open_desk(tmp_path) as desk:
        for name, arguments, told in [
            ("Grep", {"pattern": "("}, ("invalid_arguments", "pattern", "$.pattern")),
            ("Grep", {"pattern": "a", "glob": "!a"}, ("invalid_arguments", "pattern", "$.glob")),
            ("Glob", {"pattern": "#a"}, ("invalid_arguments", "pattern", "$.pattern")),
            ("Glob", {"pattern": "*", "path": ".."}, ("invalid_arguments", "outside_workspace", "$.path")),
            ("Glob", {"pattern": "*", "path": "none"}, ("invalid_arguments", "not_found", "$.path")),
        ]:
            refusal = await desk.refusal(name, **arguments)
            assert (refusal.code, refusal.reason, refusal.place) == told


@pytest.mark.req("OAP-156")
async def test_a_name_is_told_in_one_line(tmp_path: Path) -> None:
    """However it is made up: it is no line of another file, and nothing that a terminal obeys."""
    async with open_desk(tmp_path) as desk:
        desk.write("a\nb.py:1:import evil", "x\n")
        desk.write("c\x1b[2J", "x\n")
        written = [r'"a\nb.py:1:import evil"', r'"c\u001b[2J"']
        assert await desk.text("Glob", pattern="*") == "\n".join(written)
        assert await desk.text("Grep", pattern="x") == "\n".join(f"{each}:1:x" for each in written)
        assert (await desk.text("Read", path="a\nb.py:1:import evil")).startswith(f"{written[0]}: lines 1")


@pytest.mark.req("OAP-156")
async def test_a_pattern_that_takes_for_ever_is_stopped(tmp_path: Path) -> None:
    """With a word about what to change."""
    async with open_desk(tmp_path, search_seconds=1) as desk:
        desk.write("slow.txt", VICTIM)
        refusal = await desk.refusal("Grep", pattern=ENDLESS)
        assert (refusal.reason, refusal.place) == ("too_slow", "$.pattern")


@pytest.mark.req("OAP-156")
async def test_what_was_found_before_a_search_was_stopped_is_told(tmp_path: Path) -> None:
    """And that there may be more."""
    async with open_desk(tmp_path, search_seconds=2) as desk:
        desk.write("slow.txt", VICTIM)
        desk.write("a.txt", "aaa\n")
        assert await desk.text("Grep", pattern=ENDLESS) == (
            "a.txt:1:aaa\n[stopped after 2 seconds: there may be more; narrow the pattern or the folder]"
        )


@pytest.mark.req("OAP-156")
async def test_a_pattern_in_gitignore_cannot_hang_us_either(tmp_path: Path) -> None:
    """Whoever wrote the project wrote that file."""
    async with open_desk(tmp_path, search_seconds=1) as desk:
        desk.write(".gitignore", "*a" * 30 + "*b\n")
        desk.write("a" * 200)
        assert (await desk.refusal("Glob", pattern="*")).reason == "too_slow"


@pytest.mark.req("OAP-156")
async def test_a_search_ends_when_its_call_is_cancelled(tmp_path: Path) -> None:
    """Its process is gone by then, and the next call of the session is served."""
    async with open_desk(tmp_path) as desk:
        desk.write("slow.txt", VICTIM)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(desk.do, "Grep", pattern=ENDLESS))
            while not (searching := processes_with("sayso.control.workspace.search", str(desk.root))):
                await anyio.sleep(0.01)
            # One whose session was killed ends by itself, in the end.
            while _most_seconds(searching[0]) != "60":
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
        assert processes_with("sayso.control.workspace.search", str(desk.root)) == []
        assert searching
        assert await desk.text("Glob", pattern="*.txt") == "slow.txt"


def _most_seconds(pid: int) -> str:
    """How much of the processor a process may use."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return next(line.split()[3] for line in lines if line.startswith("Max cpu time"))
