"""Which files a search sees, and what a pattern names."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.control.workspace.root import Root
from sayso.control.workspace.search import Answer, End, Match, Search, find
from sayso.control.workspace.walk import Walker, read_pattern
from sayso.core.refusal import Refused
from tests.control.workspace.desk import open_root

TREE = {
    ".gitignore": "*.log\n/build/\n!keep.log\n[\n",
    "a.py": "import os\n\nclass A:\n    pass\n",
    "a.log": "class L\n",
    "keep.log": "class K\n",
    "build/out.py": "class B\n",
    "src/.gitignore": "!a.log\nlocal.py\n",
    "src/a.log": "x\n",
    "src/b.py": "class Bee:\n",
    "src/build/c.py": "c\n",
    "src/local.py": "secret\n",
    ".env": "TOKEN=1\n",
    ".git/config": "class G\n",
    "own/key": "class key\n",
    "bin": "class\0\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    """A small project."""
    for name, text in TREE.items():
        path = tmp_path / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    opened = open_root(tmp_path / "p", tmp_path / "p" / "own")
    yield opened
    opened.close()


def files(root: Root, path: str = ".", *, dotfiles: bool = False, ignored: bool = False) -> list[str]:
    return [spot.path for spot in Walker(root, dotfiles=dotfiles, ignored=ignored).files(path)]


def texts(found: list[Answer]) -> list[str]:
    return [each.text for each in found if isinstance(each, Match)]


def search(root: Root, **wanted: object) -> list[Answer]:
    plain: dict[str, object] = {
        "path": ".", "glob": None, "pattern": None, "ignore_case": False, "files_only": False, "limit": 100,
        "dotfiles": False, "ignored": False,
    }  # fmt: skip
    return list(find(root, Search(descriptor=0, root="", hidden=(), known=(), **{**plain, **wanted})))  # type: ignore[arg-type]


@pytest.mark.req("OAP-156")
def test_what_is_ignored_dotted_or_hidden_is_left_out(root: Root) -> None:
    """The innermost ignore file that speaks of a path decides; a line that cannot be read counts for nothing."""
    assert files(root) == ["a.py", "bin", "keep.log", "src/a.log", "src/b.py", "src/build/c.py"]
    assert files(root, "src") == ["src/a.log", "src/b.py", "src/build/c.py"]
    assert files(root, "src", ignored=True) == ["src/a.log", "src/b.py", "src/build/c.py", "src/local.py"]
    everything = sorted(name for name in TREE if not name.startswith((".git/", "own/")))
    assert sorted(files(root, dotfiles=True, ignored=True)) == everything


@pytest.mark.req("OAP-156")
def test_our_walk_is_gits(root: Root) -> None:
    """git itself, asked about the same tree, names the same files."""
    (root.path / ".gitignore").write_text("*.log\n/build/\n!keep.log\n")
    shutil.rmtree(root.path / ".git")
    git = ["git", "-C", str(root.path)]
    subprocess.run(["git", "init", "-q", str(root.path)], check=True, env={"PATH": os.environ["PATH"]})
    done = subprocess.run(
        [*git, "ls-files", "--others", "--exclude-standard"],
        check=True, capture_output=True, text=True, env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
    )  # fmt: skip
    named = sorted(name for name in done.stdout.split() if not name.startswith("own/"))
    assert sorted(files(root, dotfiles=True)) == named


@pytest.mark.req("OAP-156")
def test_no_link_is_followed(root: Root, tmp_path: Path) -> None:
    """Neither to a file nor to a folder, outside or inside; pipes are no files."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.py").write_text("class X\n")
    before = files(root)
    (root.path / "door").symlink_to("../outside")
    (root.path / "x.py").symlink_to("../outside/x.py")
    (root.path / "around").symlink_to(".")
    os.mkfifo(root.path / "pipe")
    assert files(root) == before


def test_names_that_are_not_utf8_are_left_out(root: Root) -> None:
    """They could not be asked for."""
    (Path(os.fsdecode(os.fsencode(root.path) + b"/b\xff.py"))).touch()
    assert "b" not in "".join(files(root))[:1]


def test_a_walk_ends_at_its_bound(root: Root) -> None:
    """And says so."""
    walker = Walker(root, most_visited=3)
    assert len(list(walker.files("."))) < 4
    assert walker.is_cut


def test_where_to_look_must_be_there(root: Root) -> None:
    """Inside, and not hidden."""
    for path, reason in (("none", "not_found"), ("..", "outside_workspace"), ("own", "hidden")):
        with pytest.raises(Refused) as refused:
            files(root, path)
        assert refused.value.refusal.reason == reason


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("*.py", ["a.py", "src/b.py", "src/build/c.py"]),
        ("/*.py", ["a.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**/*.py", ["src/b.py", "src/build/c.py"]),
        ("*.{py,log}", ["a.py", "keep.log", "src/a.log", "src/b.py", "src/build/c.py"]),
        ("[ab].py", ["a.py", "src/b.py"]),
        ("?.log", ["src/a.log"]),
        ("nothing", []),
    ],
)
def test_a_pattern_names_files(root: Root, pattern: str, named: list[str]) -> None:
    """As a line of .gitignore does, and with alternatives."""
    assert [answer.path for answer in search(root, glob=pattern) if isinstance(answer, Match)] == named


@pytest.mark.parametrize("pattern", ["!a", "#a", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"])
def test_a_pattern_that_names_nothing_is_refused(pattern: str) -> None:
    """With its place."""
    with pytest.raises(Refused) as refused:
        read_pattern(pattern, "$.glob")
    assert (refused.value.refusal.reason, refused.value.refusal.place) == ("pattern", "$.glob")


@pytest.mark.req("OAP-156")
def test_lines_that_match_are_found(root: Root) -> None:
    """With path and number; a binary file is skipped and counted."""
    assert search(root, pattern=r"^class \w+") == [
        Match(path="a.py", line=3, text="class A:"),
        Match(path="keep.log", line=1, text="class K"),
        Match(path="src/b.py", line=1, text="class Bee:"),
        End(files=6, skipped=1, is_cut=False),
    ]
    assert search(root, pattern="CLASS", ignore_case=True, glob="*.py", files_only=True) == [
        Match(path="a.py"), Match(path="src/b.py"), End(files=3, skipped=0, is_cut=False),
    ]  # fmt: skip
    assert search(root, pattern="class", path="src/b.py") == [
        Match(path="src/b.py", line=1, text="class Bee:"), End(files=1, skipped=0, is_cut=False),
    ]  # fmt: skip


def test_a_search_is_cut_at_its_limit(root: Root) -> None:
    """And says so; a limit that is just met is no cut."""
    assert search(root, pattern="class", limit=1)[-1] == End(files=3, skipped=1, is_cut=True)
    assert search(root, pattern="class", limit=3)[-1] == End(files=6, skipped=1, is_cut=False)


def test_each_line_counts_once(root: Root) -> None:
    """Empty matches, several in a line, long lines, matches that span lines."""
    (root.path / "t.txt").write_text("aa a\n\nb\na" + "x" * 1000)
    found = search(root, pattern="a", path="t.txt")
    assert found[:-1] == [Match(path="t.txt", line=1, text="aa a"), Match(path="t.txt", line=4, text="a" + "x" * 499)]
    assert [answer.line for answer in search(root, pattern="^", path="a.py") if isinstance(answer, Match)] == [
        1,
        2,
        3,
        4,
    ]
    assert [answer.line for answer in search(root, pattern=r"b\na", path="t.txt") if isinstance(answer, Match)] == [3]
    (root.path / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    assert search(root, pattern="two", path="dos.txt")[0] == Match(path="dos.txt", line=2, text="two")


@pytest.mark.req("OAP-156")
def test_a_search_reads_no_other_name_of_a_hidden_file(root: Root) -> None:
    """A hard link to a key is skipped."""
    os.link(root.path / "own" / "key", root.path / "innocent.py")
    found = search(root, pattern="class key", dotfiles=True, ignored=True)
    assert found == [End(files=13, skipped=2, is_cut=False)]


def test_a_line_ends_and_a_file_begins_where_an_editor_says(root: Root) -> None:
    """Neither a carriage return before a line end nor a byte order mark is part of a line."""
    (root.path / "dos.txt").write_bytes(b"\xef\xbb\xbffirst\r\nlast\r\n")
    assert texts(search(root, glob="dos.txt", pattern="^first$|^last$")) == ["first", "last"]


def test_what_lies_too_deep_is_said_to_be_left_out(root: Root) -> None:
    """Nobody is told that there was nothing."""
    (root.path / "src" / "/".join(["d"] * 120)).mkdir(parents=True)
    found = search(root, path="src")
    assert found[-1] == End(files=3, skipped=0, is_cut=True)


def test_a_pattern_of_endless_alternatives_is_refused_at_once() -> None:
    """Before they are written out."""
    with pytest.raises(Refused, match="few alternatives"):
        read_pattern("{a,b}" * 200, "$.pattern")
