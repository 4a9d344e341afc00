"""Read, Write and Edit as a session has them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import sayso
from sayso.control.loop.contract import ToolAnswer, ToolAsks, ToolDone
from sayso.core.refusal import Refused
from tests.control.workspace.desk import open_desk

pytestmark = pytest.mark.anyio


@pytest.mark.req("OAP-156")
async def test_read_numbers_lines_and_says_where_to_go_on(tmp_path: Path) -> None:
    """A part of a file, from a line on."""
    async with open_desk(tmp_path) as desk:
        desk.write("n.txt", "".join(f"line {number}\n" for number in range(1, 11)))
        assert await desk.text("Read", path="n.txt", offset=3, limit=2) == (
            "n.txt: lines 3 to 4 of 10; go on at offset 5\n     3\tline 3\n     4\tline 4"
        )
        assert (await desk.text("Read", path="n.txt", offset=10)).startswith("n.txt: lines 10 to 10 of 10\n")
        assert (await desk.refusal("Read", path="n.txt", offset=11)).place == "$.offset"


async def test_read_is_bounded(tmp_path: Path) -> None:
    """Characters in all, and in a line."""
    async with open_desk(tmp_path) as desk:
        desk.write("wide.txt", "x" * 5000 + "\n")
        desk.write("long.txt", ("y" * 1000 + "\n") * 500)
        assert "[3000 characters are not shown]" in await desk.text("Read", path="wide.txt")
        long = await desk.text("Read", path="long.txt")
        assert len(long) < 101_000
        assert long.startswith("long.txt: lines 1 to 99 of 500; go on at offset 100\n")


async def test_read_tells_the_form_of_a_file(tmp_path: Path) -> None:
    """Line ends and byte order mark, and an empty file."""
    async with open_desk(tmp_path) as desk:
        desk.write("dos.txt", b"\xef\xbb\xbfa\r\nb\r\n")
        desk.write("empty.txt")
        assert await desk.text("Read", path="dos.txt") == (
            "dos.txt: lines 1 to 2 of 2, lines end in CRLF, byte order mark\n     1\ta\n     2\tb"
        )
        assert await desk.text("Read", path="empty.txt") == "empty.txt: empty"


@pytest.mark.req("OAP-156")
async def test_arguments_that_do_not_fit_are_refused_with_their_place(tmp_path: Path) -> None:
    """Unknown members, wrong types, bounds; for every tool."""
    async with open_desk(tmp_path) as desk:
        for name, arguments, place in [
            ("Read", {"path": 1}, "$.path"),
            ("Read", {"path": "a", "offset": 0}, "$.offset"),
            ("Read", {"path": "a", "limit": True}, "$.limit"),
            ("Write", {"path": "a"}, "$"),
            ("Edit", {"path": "a", "old_text": "", "new_text": "b"}, "$.old_text"),
            ("Shell", {"command": "true", "seconds": 601}, "$.seconds"),
            ("Shell", {"command": "x" * 8193}, "$.command"),
            ("Shell", {"command": "a\0b"}, "$.command"),
            ("Glob", {"pattern": "*", "more": 1}, "$"),
            ("Grep", {"pattern": "a", "limit": 2001}, "$.limit"),
        ]:
            refusal = await desk.refusal(name, **arguments)
            assert (refusal.code, refusal.place) == ("invalid_arguments", place), name


async def test_schemas_are_closed_and_say_what_they_mean(tmp_path: Path) -> None:
    """What the model is told is what is read."""
    async with open_desk(tmp_path) as desk:
        specs = {spec.name: spec for spec in desk.source.tools()}
        assert list(specs) == ["Read", "Write", "Edit", "Shell", "Glob", "Grep"]
        for spec in specs.values():
            properties = spec.input_schema["properties"]
            assert spec.input_schema["additionalProperties"] is False
            assert isinstance(properties, dict)
            assert all("description" in each or "anyOf" in each for each in properties.values()), spec.name
            assert len(spec.description) > 80
        read_only = [name for name, spec in specs.items() if spec.annotations.get("readOnlyHint")]
        assert read_only == ["Read", "Glob", "Grep"]


@pytest.mark.req("OAP-156")
async def test_write_makes_a_file_and_the_folders_above(tmp_path: Path) -> None:
    """The result says what became of it."""
    async with open_desk(tmp_path) as desk:
        done = await desk.do("Write", path="a/b/new.txt", content="one\n")
        diff = "--- /dev/null\n+++ b/a/b/new.txt\n@@ -0,0 +1 @@\n+one"
        assert done == ToolDone({"path": "a/b/new.txt", "diff": diff, "created": True})
        assert (desk.root / "a/b/new.txt").read_text() == "one\n"
        assert sorted(os.listdir(desk.root / "a/b")) == ["new.txt"]


async def test_write_replaces_what_was_read_and_keeps_its_mode(tmp_path: Path) -> None:
    """Other names of the file keep the old content."""
    async with open_desk(tmp_path) as desk:
        path = desk.write("run.sh", "old\n")
        path.chmod(0o750)
        os.link(path, desk.root / "twin")
        assert (await desk.refusal("Write", path="run.sh", content="new\n")).reason == "not_read"
        await desk.text("Read", path="run.sh")
        await desk.do("Write", path="run.sh", content="new\n")
        assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new\n", 0o750)
        assert (desk.root / "twin").read_text() == "old\n"


@pytest.mark.req("OAP-156")
async def test_edit_replaces_a_text_found_once(tmp_path: Path) -> None:
    """And keeps line ends and byte order mark."""
    async with open_desk(tmp_path) as desk:
        path = desk.write("dos.txt", b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
        done = await desk.do("Edit", path="dos.txt", old_text="one\ntwo", new_text="1\r\n2")
        assert path.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\nthree\r\n"
        assert isinstance(done.result, dict)
        assert (done.result["replaced"], done.result["diff"]) == (
            1, "--- a/dos.txt\n+++ b/dos.txt\n@@ -1,3 +1,3 @@\n-one\n-two\n+1\n+2\n three",
        )  # fmt: skip


async def test_edit_refuses_what_is_not_exact(tmp_path: Path) -> None:
    """Not there, there twice (overlaps counted), the same."""
    async with open_desk(tmp_path) as desk:
        path = desk.write("a.txt", "aXa\nb\naXa\nzzz\n")
        assert (await desk.refusal("Edit", path="a.txt", old_text="ax", new_text="b")).reason == "not_found_in_file"
        twice = await desk.refusal("Edit", path="a.txt", old_text="aXa", new_text="b")
        assert (twice.reason, "2 times in a.txt, at first in the lines 1, 3" in twice.message) == (
            "found_more_than_once", True,
        )  # fmt: skip
        assert (await desk.refusal("Edit", path="a.txt", old_text="zz", new_text="y")).reason == "found_more_than_once"
        assert (await desk.refusal("Edit", path="a.txt", old_text="b", new_text="b")).reason == "no_change"
        assert path.read_text() == "aXa\nb\naXa\nzzz\n"
        done = await desk.do("Edit", path="a.txt", old_text="aXa", new_text="c", replace_all=True)
        assert isinstance(done.result, dict)
        assert (done.result["replaced"], path.read_text()) == (2, "c\nb\nc\nzzz\n")


@pytest.mark.req("OAP-156")
async def test_a_file_that_changed_since_it_was_read_is_not_changed(tmp_path: Path) -> None:
    """Neither by Edit nor by Write, until it is read again; our own changes count as read."""
    async with open_desk(tmp_path) as desk:
        path = desk.write("a.txt", "one\n")
        await desk.text("Read", path="a.txt")
        await desk.do("Edit", path="a.txt", old_text="one", new_text="two")
        await desk.do("Edit", path="a.txt", old_text="two", new_text="three")
        path.write_text("three, by somebody else\n")
        assert (await desk.refusal("Edit", path="a.txt", old_text="three", new_text="x")).reason == "changed"
        assert (await desk.refusal("Write", path="a.txt", content="x")).reason == "changed"
        await desk.text("Read", path="a.txt")
        await desk.do("Edit", path="a.txt", old_text="three", new_text="four")
        assert path.read_text() == "four, by somebody else\n"


@pytest.mark.req("OAP-157")
async def test_a_person_is_shown_the_change_as_a_diff(tmp_path: Path) -> None:
    """And nothing is written before they said yes, or when they said no."""
    async with open_desk(tmp_path, mode="ask") as desk:
        path = desk.write("a.txt", "one\n")
        denied = await desk.do("Edit", grant=False, path="a.txt", old_text="one", new_text="two\x1b[2K")
        assert (denied.is_error, path.read_text()) == (True, "one\n")
        assert desk.asked == [ToolAsks("Change a.txt", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\\u{1b}[2K")]
        await desk.do("Write", path="new.txt", content="1\n")
        assert desk.asked[-1].title == "Create new.txt"
        await desk.text("Read", path="a.txt")
        await desk.do("Write", path="a.txt", content="1\n")
        assert (desk.asked[-1].title, len(desk.asked)) == ("Replace a.txt", 3)


@pytest.mark.req("OAP-157")
async def test_line_ends_and_a_mark_that_go_are_shown_to_go(tmp_path: Path) -> None:
    """A file that is replaced keeps nothing, however alike its text is."""
    async with open_desk(tmp_path, mode="ask") as desk:
        path = desk.write("a.txt", b"\xef\xbb\xbfone\r\n")
        await desk.text("Read", path="a.txt")
        await desk.do("Write", path="a.txt", content="one\n")
        assert desk.asked[-1].text.endswith("@@ -1 +1 @@\n-\\u{feff}one\\u{d}\n+one")
        assert path.read_bytes() == b"one\n"


@pytest.mark.req("OAP-157")
@pytest.mark.parametrize("name", ["Edit", "Write"])
async def test_what_was_shown_is_what_is_done(tmp_path: Path, name: str) -> None:
    """A file that changed between the question and the yes is left alone, and nothing is asked again."""
    async with open_desk(tmp_path, mode="ask") as desk:
        path = desk.write("a.txt", "one\n")
        more = {"old_text": "one", "new_text": "two"} if name == "Edit" else {"content": "two\n"}
        if name == "Write":
            await desk.text("Read", path="a.txt")
        call = desk.call_of(name, path="a.txt", **more)
        assert isinstance(await desk.source.call(call, []), ToolAsks)
        path.write_text("one\nmore\n")
        with pytest.raises(Refused) as refused:
            await desk.source.call(call, [ToolAnswer(True)])
        assert refused.value.refusal.reason in ("changed_since_shown", "changed")
        assert path.read_text() == "one\nmore\n"


@pytest.mark.req("OAP-157")
async def test_a_file_that_appeared_or_moved_since_it_was_shown_is_left_alone(tmp_path: Path) -> None:
    """Also when a link now leads the same path to another file."""
    async with open_desk(tmp_path, mode="ask") as desk:
        call = desk.call_of("Write", path="dir/new.txt", content="mine\n")
        assert isinstance(await desk.source.call(call, []), ToolAsks)
        (desk.root / "other").mkdir()
        (desk.root / "dir").symlink_to("other")
        with pytest.raises(Refused, match="changed after the person was shown"):
            await desk.source.call(call, [ToolAnswer(True)])
        assert os.listdir(desk.root / "other") == []


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (".git/hooks/pre-commit", "git_folder"),
        (".GIT/config", "git_folder"),
        ("sub/.git/config", "git_folder"),
        ("repository/config", "git_folder"),
        ("out/new.txt", "outside_workspace"),
        ("../new.txt", "outside_workspace"),
        ("folder", "is_a_folder"),
        (".", "is_a_folder"),
        ("pipe", "not_a_file"),
    ],
)
async def test_write_stays_out_of_where_it_has_no_business(tmp_path: Path, path: str, reason: str) -> None:
    """Nothing is made there either."""
    async with open_desk(tmp_path) as desk:
        (desk.root / ".git" / "hooks").mkdir(parents=True)
        (desk.root / "folder").mkdir()
        (desk.root / "repository").symlink_to(".git")
        (desk.root / "out").symlink_to(tmp_path)
        os.mkfifo(desk.root / "pipe")
        before = sorted(map(str, tmp_path.rglob("*")))
        assert (await desk.refusal("Write", path=path, content="x")).reason == reason
        assert sorted(map(str, tmp_path.rglob("*"))) == before


async def test_another_content_does_not_inherit_set_user_id(tmp_path: Path) -> None:
    """The rest of the mode stays."""
    async with open_desk(tmp_path) as desk:
        path = desk.write("run", "one\n")
        path.chmod(0o6751)
        await desk.do("Edit", path="run", old_text="one", new_text="two")
        assert path.stat().st_mode & 0o7777 == 0o751


async def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """No half file and no file beside it."""
    async with open_desk(tmp_path) as desk:
        refusal = await desk.refusal("Write", path="x" * 300, content="x")
        assert (refusal.code, refusal.reason) == ("tool_failed", "name_too_long")
        assert os.listdir(desk.root) == []


async def test_an_image_is_refused_and_said_to_be_one(tmp_path: Path) -> None:
    """A tool's result carries text alone."""
    async with open_desk(tmp_path) as desk:
        desk.write("a.png", b"\x89PNG\r\n\x1a\n0000")
        refusal = await desk.refusal("Read", path="a.png")
        assert (refusal.reason, "PNG" in refusal.message) == ("is_an_image", True)


@pytest.mark.req("OAP-156")
async def test_our_own_program_is_not_changed(tmp_path: Path) -> None:
    """Whoever could change it would run outside of every bound the next time. Nobody says yes here."""
    package = Path(sayso.__file__).parent
    async with open_desk(tmp_path, mode="ask", root=str(package.parent), grants=False) as desk:
        refusal = await desk.refusal("Write", path="sayso/planted.py", content="x")
        assert (refusal.reason, desk.asked) == ("own_program", [])


async def test_a_closed_workspace_does_nothing_more(tmp_path: Path) -> None:
    """Its session is over."""
    async with open_desk(tmp_path) as desk:
        desk.write("a.txt", "one\n")
    assert (await desk.refusal("Read", path="a.txt")).reason == "closed"
