"""No path leads out of the workspace: however it is spelt, whatever lies on it, whoever changes it meanwhile."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso.control.workspace.root import Above, Root, open_folder
from sayso.core.refusal import Refused
from tests.control.workspace.desk import open_root

LIMIT = 1024


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    """A workspace beside a secret; `own` in it is sayso's."""
    inside = tmp_path / "work"
    (inside / "src" / "deep").mkdir(parents=True)
    (inside / "own").mkdir()
    (inside / "own" / "key").write_text("key")
    (inside / "src" / "a.txt").write_text("inside")
    (tmp_path / "secret.txt").write_text("outside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("outside")
    opened = open_root(inside, inside / "own")
    yield opened
    opened.close()


def reason(root: Root, path: str) -> str | None:
    with pytest.raises(Refused) as refused:
        root.read(path, LIMIT)
    return refused.value.refusal.reason


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize(
    "path", ["src/a.txt", "./src//a.txt", "src/deep/../a.txt", "src/deep/../../src/a.txt", "{root}/src/a.txt"]
)
def test_every_spelling_inside_is_read(root: Root, path: str) -> None:
    """Also an absolute one."""
    spot, data = root.read(path.format(root=root.path), LIMIT)
    assert (spot.path, data) == ("src/a.txt", b"inside")


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize(
    "path",
    [
        "..", "../secret.txt", "src/../../secret.txt", "src/deep/../../../secret.txt", "/etc/passwd", "/",
        "{root}/../secret.txt", "{root}er/secret.txt", "~/secret.txt", "~", "//etc/passwd", "/proc/self/environ",
        "/proc/self/cwd/secret.txt",
    ],
)  # fmt: skip
def test_a_path_that_leads_out_is_refused(root: Root, path: str) -> None:
    """By its spelling."""
    assert reason(root, path.format(root=root.path)) == "outside_workspace"


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("leak", "../secret.txt"),
        ("leak", "{root}/../secret.txt"),
        ("leak", "/etc/passwd"),
        ("leak", "src/../../secret.txt"),
        ("leak", "/proc/self/root/etc/passwd"),
        ("src/leak", "../../secret.txt"),
    ],
)
def test_a_link_that_leads_out_is_refused(root: Root, link: str, target: str) -> None:
    """Relative or absolute."""
    (root.path / link).symlink_to(target.format(root=root.path))
    assert reason(root, link) == "outside_workspace"


@pytest.mark.req("OAP-156")
def test_a_link_to_a_folder_outside_is_refused(root: Root) -> None:
    """In the middle of a path, and through a chain of links."""
    (root.path / "one").symlink_to("two")
    (root.path / "two").symlink_to("../outside")
    assert reason(root, "two/a.txt") == "outside_workspace"
    assert reason(root, "one/a.txt") == "outside_workspace"


@pytest.mark.req("OAP-156")
def test_a_link_that_stays_inside_works(root: Root) -> None:
    """`..` behind a link goes up from where the link led."""
    (root.path / "file").symlink_to("src/a.txt")
    (root.path / "folder").symlink_to("src/deep")
    (root.path / "whole").symlink_to(f"{root.path}/src")
    for path in ("file", "folder/../a.txt", "whole/a.txt"):
        assert root.read(path, LIMIT)[0].path == "src/a.txt"


def test_links_in_a_circle_end(root: Root) -> None:
    """They are counted."""
    (root.path / "a").symlink_to("b")
    (root.path / "b").symlink_to("a")
    assert reason(root, "a") == "too_many_links"


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize("path", ["own", "own/key", "src/../own/key", "{root}/own/key", "own/", "src/deep/../../own"])
def test_a_hidden_folder_in_the_workspace_is_refused(root: Root, path: str) -> None:
    """Under each of its names."""
    (root.path / "src" / "alias").symlink_to("../own")
    assert reason(root, path.format(root=root.path)) == "hidden"
    assert reason(root, "src/alias/key") == "hidden"


@pytest.mark.req("OAP-156")
def test_a_hidden_folder_stays_hidden_when_it_is_moved(root: Root) -> None:
    """It is known by what it is, not by its name."""
    (root.path / "own").rename(root.path / "src" / "innocent")
    assert reason(root, "src/innocent/key") == "hidden"


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize("above", ["made", "later"])
@pytest.mark.parametrize("path", ["own", "OWN/key", "\uff4fwn/key", "o\u200bwn"])
def test_a_hidden_folder_that_does_not_exist_is_not_made(tmp_path: Path, path: str, above: Above) -> None:
    """Nor under a spelling that a file system may take for the same."""
    with_none = open_root(tmp_path, tmp_path / "own")
    with pytest.raises(Refused) as refused, with_none.find(path, above=above):
        pass
    assert refused.value.refusal.reason == "hidden"
    assert list(tmp_path.iterdir()) == []
    with_none.close()


@pytest.mark.req("OAP-156")
def test_another_name_of_a_hidden_file_is_refused(root: Root) -> None:
    """A hard link is the file itself; one to a file that is not hidden is an ordinary file."""
    os.link(root.path / "own" / "key", root.path / "src" / "linked")
    os.link(root.path / "src" / "a.txt", root.path / "src" / "twin")
    assert reason(root, "src/linked") == "hidden"
    assert root.read("src/twin", LIMIT)[1] == b"inside"


@pytest.mark.req("OAP-156")
def test_what_is_no_regular_file_is_refused_at_once(root: Root) -> None:
    """Opening a pipe would wait for a writer for ever, opening a device may do anything."""
    os.mkfifo(root.path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root.path / "socket"))
        (root.path / "zero").symlink_to("/dev/zero")
        assert [reason(root, each) for each in ("pipe", "socket")] == ["not_a_file", "not_a_file"]
    assert reason(root, "zero") == "outside_workspace"


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize("path", ["", "a\0b", "a\udc80b", "x" * 5000])
def test_a_path_that_no_file_has_is_refused(root: Root, path: str) -> None:
    """As bad arguments, with their place."""
    with pytest.raises(Refused) as refused:
        root.read(path, LIMIT)
    assert (refused.value.refusal.code, refused.value.refusal.place) == ("invalid_arguments", "$.path")


def test_what_the_system_refuses_is_told_in_words(root: Root) -> None:
    """Missing, too long, not a folder, a folder, too large."""
    (root.path / "big").write_bytes(b"x" * (LIMIT + 1))
    assert reason(root, "none") == "not_found"
    assert reason(root, "none/none") == "not_found"
    assert reason(root, "n" * 300) == "name_too_long"
    assert reason(root, "src/a.txt/b") == "not_a_folder"
    assert reason(root, "src") == "is_a_folder"
    assert reason(root, "big") == "too_large"


@pytest.mark.req("OAP-156")
def test_a_name_swapped_after_the_look_is_not_followed(root: Root) -> None:
    """What was a file when it was looked at is a link out when it is opened."""
    with root.find("src/a.txt") as spot:
        (root.path / "src" / "a.txt").unlink()
        (root.path / "src" / "a.txt").symlink_to("../../secret.txt")
        with pytest.raises(Refused, match="changed while"):
            root.read_spot(spot, "src/a.txt", LIMIT)


@pytest.mark.req("OAP-156")
def test_a_folder_that_became_a_link_is_not_opened(root: Root) -> None:
    """The system follows nothing for us."""
    (root.path / "door").symlink_to("../outside")
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        open_folder("door", root.descriptor)


@pytest.mark.req("OAP-156")
def test_a_race_for_a_folder_is_never_won(root: Root, tmp_path: Path) -> None:
    """A thread swaps a folder for a link to one outside while we read through it, thousands of times."""
    inside, kept, link = root.path / "src", root.path / "kept", root.path / "link"
    link.symlink_to("../outside")
    is_over = threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            inside.rename(kept)
            link.rename(inside)
            inside.rename(link)
            kept.rename(inside)

    racer = threading.Thread(target=swap)
    racer.start()
    seen = set()
    try:
        for _ in range(3000):
            try:
                seen.add(root.read("src/a.txt", LIMIT)[1])
            except Refused as refused:
                seen.add(str(refused.refusal.reason).encode())
    finally:
        is_over.set()
        racer.join()
    assert b"outside" not in seen
    assert seen <= {b"inside", b"outside_workspace", b"not_found", b"changed"}


names = st.sampled_from(["src", "deep", "a.txt", "own", "key", "..", ".", "up", "root", "loop", "", "none"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(st.lists(names, min_size=1, max_size=8), st.booleans())
def test_any_walk_ends_inside_or_refused(root: Root, parts: list[str], is_absolute: bool) -> None:
    """Whatever names, links and dots are put together: what is read is the one file inside that may be."""
    for name, target in (("up", ".."), ("root", "/"), ("loop", "loop")):
        if not (root.path / name).is_symlink():
            (root.path / name).symlink_to(target)
    path = "/".join([str(root.path), *parts] if is_absolute else parts)
    try:
        spot, data = root.read(path, LIMIT)
    except Refused:
        return
    assert (spot.path, data) == ("src/a.txt", b"inside")


def test_a_workspace_that_was_moved_is_noticed(root: Root, tmp_path: Path) -> None:
    """Its descriptor still leads to it, its path does not."""
    assert root.is_in_place()
    root.path.rename(tmp_path / "elsewhere")
    assert not root.is_in_place()
    root.path.mkdir()
    assert not root.is_in_place()
    assert root.read("src/a.txt", LIMIT)[1] == b"inside"
