"""What may be a workspace, and what a session gets over it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sayso.control.loop.contract import SourceTerms
from sayso.control.loop.permitting import Permitting
from sayso.control.workspace.bubblewrap import find_bubblewrap
from sayso.core.refusal import Refused
from tests.control.workspace.desk import needs_bubblewrap, open_desk, opener, plain_programs

pytestmark = pytest.mark.anyio


def terms(workspace: Path | None) -> SourceTerms:
    return SourceTerms(session_id="s1", permission="ask", workspace=workspace)


async def test_without_a_workspace_there_are_no_tools(tmp_path: Path) -> None:
    """Nothing is started either."""
    async with opener(tmp_path, tmp_path / "own").open(terms(None)) as source:
        assert source is None


@pytest.mark.req("OAP-156", "OAP-157")
async def test_a_session_gets_its_tools_behind_a_permission(tmp_path: Path) -> None:
    """Under the source id `workspace`."""
    async with open_desk(tmp_path) as desk:
        assert isinstance(desk.source, Permitting)
        assert desk.source.id == "workspace"


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("home", "home"),
        (".", "home"),
        ("/", "home"),
        ("to_home", "home"),
        ("own", "hidden"),
        ("own/world", "hidden"),
        ("into_own", "hidden"),
        ("none", "not_a_folder"),
        ("file", "not_a_folder"),
        ("/proc", "system"),
        ("/proc/self", "system"),
        ("/dev/shm", "system"),
        ("/sys", "system"),
        ("/var", "system"),
        ("/var/tmp", "system"),
        ("/usr", "system"),
        (os.fsdecode(b"\xff"), "name"),
    ],
)
async def test_what_cannot_be_a_workspace_is_refused(tmp_path: Path, path: str, reason: str) -> None:
    """A home holds keys and files that are run at the next login; and so on, each by its reason."""
    for folder in ("home", "own/world"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "to_home").symlink_to("home")
    (tmp_path / "into_own").symlink_to("own/world")
    (tmp_path / "file").touch()
    opening = opener(tmp_path / "home", tmp_path / "own")
    with pytest.raises(Refused) as refused:
        async with opening.open(terms(tmp_path / path)):
            pass
    refusal = refused.value.refusal
    assert (refusal.code, refusal.reason, refusal.place) == ("open_failed", reason, "$.metadata.sayso.workspace")
    unfit = opening.unfit(tmp_path / path)
    assert unfit is not None
    assert unfit.refusal == refusal
    assert opening.unfit(tmp_path / "home" / "..") is not None


async def test_the_own_home_counts_whatever_the_environment_says(tmp_path: Path) -> None:
    """HOME may be set to anything."""
    own = Path(os.path.expanduser(f"~{_user()}"))
    unfit = opener(tmp_path / "other", tmp_path / "own").unfit(own)
    assert unfit is not None
    assert unfit.refusal.reason == ("home" if own.is_dir() else "not_a_folder")


async def test_a_sandbox_is_tried_and_not_believed(tmp_path: Path) -> None:
    """A program of that name that does nothing, or says it works, is none."""
    assert find_bubblewrap([tmp_path]) is None
    for number, script in enumerate(("exit 0", "exit 1", "exec cat")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "bwrap").chmod(0o755)
        assert find_bubblewrap([folder]) is None


async def test_the_sandbox_of_this_machine_is_found() -> None:
    """As hard as it can be made: no further user namespaces inside."""
    needs_bubblewrap()
    found = find_bubblewrap()
    assert found is not None
    assert "--unshare-net" in found.flags


@pytest.mark.req("OAP-156")
async def test_a_sandbox_is_not_looked_for_on_path(tmp_path: Path) -> None:
    """PATH may lead into a workspace, where an agent can write a program of that name."""
    planted = tmp_path / "home" / "code" / "project" / "bin"
    planted.mkdir(parents=True)
    (planted / "bwrap").write_text("#!/bin/sh\nexit 42\n")
    (planted / "bwrap").chmod(0o755)
    (planted / "bash").write_text("#!/bin/sh\necho planted\n")
    (planted / "bash").chmod(0o755)
    async with open_desk(tmp_path, programs=plain_programs(tmp_path), PATH=f"{planted}:/usr/bin:/bin") as desk:
        assert await desk.shell("echo real") == (0, "real\n")
        assert desk.asked[0].title == "Run a command, not sandboxed"


async def test_sessions_have_nothing_in_common(tmp_path: Path) -> None:
    """What one read, the other has not."""
    home = tmp_path / "home"
    (home / "p").mkdir(parents=True)
    opening = opener(home, tmp_path / "own")
    async with opening.open(terms(home / "p")) as one, opening.open(terms(home / "p")) as other:
        assert one is not other
    before = len(os.listdir("/proc/self/fd"))
    async with opening.open(terms(home / "p")):
        pass
    assert len(os.listdir("/proc/self/fd")) == before


def _user() -> str:
    import pwd  # noqa: PLC0415 - only to find the account

    return pwd.getpwuid(os.getuid()).pw_name


@pytest.mark.req("OAP-156")
async def test_a_folder_that_was_put_in_the_way_is_not_opened(tmp_path: Path) -> None:
    """What was judged is the path as it was resolved; where a link stands in it now, it leads elsewhere."""
    (tmp_path / "elsewhere" / "inside").mkdir(parents=True)
    (tmp_path / "judged").symlink_to("elsewhere")
    with pytest.raises(Refused) as refused:
        async with opener(tmp_path, tmp_path / "own").open(terms(tmp_path / "judged" / "inside")):
            pass
    assert (refused.value.refusal.code, refused.value.refusal.reason) == ("open_failed", "not_a_folder")
