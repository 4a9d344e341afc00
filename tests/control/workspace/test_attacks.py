"""An agent that wants to say yes for its person: each path is really tried, in a real sandbox, and leads nowhere.

Where a path would lead somewhere without the sandbox, the same command is shown to get there outside it, so that none
of these can pass because the attack was badly made. Nobody says yes here: without a sandbox no attack is made.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sayso.apps.keys import make_keys
from sayso.control.loop.contract import SourceTerms
from sayso.control.workspace.bubblewrap import find_bubblewrap
from sayso.control.workspace.hidden import Hidden
from sayso.control.workspace.root import FOLDER_FLAGS, Root
from sayso.core.clock import SystemClock
from sayso.store.vault import Vault
from tests.control.workspace.desk import KEY, Desk, needs_bubblewrap, open_desk, opener, plain_programs

pytestmark = [pytest.mark.anyio, pytest.mark.req("OAP-156", "OAP-157")]

IN_HOME = {"root": "home/code/project", "hidden": "home/.sayso"}
IN_WORKSPACE = {"root": "work", "hidden": "work/deep/er/own"}
ABOVE_IS_SYSTEM = {"root": "home/code/project", "hidden": "own"}


@pytest.fixture(params=[IN_HOME, IN_WORKSPACE, ABOVE_IS_SYSTEM], ids=["in the home", "in the workspace", "elsewhere"])
async def desk(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    """A session with the standing yes, sayso's own folder in each place it may have."""
    needs_bubblewrap()
    async with open_desk(tmp_path, grants=False, **request.param) as opened:
        yield opened


@pytest.fixture
async def project(tmp_path: Path) -> AsyncIterator[Desk]:
    """A session over an ordinary project."""
    needs_bubblewrap()
    async with open_desk(tmp_path, grants=False) as opened:
        yield opened


async def test_keys_are_read_by_no_tool(desk: Desk) -> None:
    """By their path, through links, by looking everywhere."""
    key = desk.hidden / "principal.key"
    (desk.root / "link").symlink_to(key)
    (desk.root / "folder").symlink_to(desk.hidden)
    for path in (str(key), "link", "folder/principal.key", os.path.relpath(key, desk.root)):
        assert (await desk.refusal("Read", path=path)).reason in ("hidden", "outside_workspace")
    found = await desk.text("Grep", pattern="principal key", dotfiles=True, ignored=True)
    assert found.startswith("nothing found")
    assert "principal" not in await desk.text("Glob", pattern="**", dotfiles=True, ignored=True)
    for command in (
        f"cat {key}", "cat link", "cat folder/*", f"cp -r {desk.hidden} stolen", f"ln {key} hard",
        "grep -rs 'principal key' / --include=*.key", "find / -name principal.key 2>/dev/null | xargs cat",
        f"tar cf - {desk.hidden} | cat",
    ):  # fmt: skip
        assert KEY not in (await desk.shell(command))[1], command
    assert not (desk.root / "hard").exists()


async def test_what_sayso_keeps_is_not_written(desk: Desk) -> None:
    """No setting is edited, none is planted, nothing is taken away."""
    settings = desk.hidden / "settings.toml"
    before = {path: path.read_bytes() for path in desk.hidden.rglob("*")}
    (desk.root / "folder").symlink_to(desk.hidden)
    for path in (str(settings), "folder/settings.toml"):
        assert (await desk.refusal("Write", path=path, content="trust = 1")).reason in ("hidden", "outside_workspace")
    for command in (
        f"echo trust >> {settings}", f"mkdir -p {desk.hidden}; echo trust > {desk.hidden}/new",
        "echo trust > folder/settings.toml", f"rm -rf {desk.hidden}", f"mv {desk.hidden} elsewhere",
        f"umount {desk.hidden}; rm {desk.hidden}/principal.key",
    ):  # fmt: skip
        await desk.shell(command)
    assert {path: path.read_bytes() for path in desk.hidden.rglob("*")} == before


async def test_a_folder_above_sayso_cannot_be_moved_from_over_it(tmp_path: Path) -> None:
    """A mask goes by path: what lies above it stays where it is, so that no later command or session is fooled."""
    needs_bubblewrap()
    async with open_desk(tmp_path, grants=False, **IN_WORKSPACE) as desk:  # type: ignore[arg-type]
        for command in ("mv deep moved", "mv deep/er moved", "mv deep/er/own moved"):
            code, output = await desk.shell(command)
            assert (code != 0, "busy" in output or "Read-only" in output) == (True, True), output
        assert (desk.hidden / "principal.key").read_text() == KEY
        (desk.root / "deep").rename(desk.root / "away")
        assert (await desk.refusal("Shell", command="cat away/er/own/principal.key")).reason == "moved"
        assert (await desk.refusal("Read", path="away/er/own/principal.key")).reason == "hidden"


async def test_the_home_of_sayso_is_not_made_by_an_agent(tmp_path: Path) -> None:
    """Where there is none yet, nobody plants one."""
    needs_bubblewrap()
    root, own = tmp_path / "work", tmp_path / "work" / "own"
    root.mkdir()
    terms = SourceTerms(session_id="s1", permission="bypass", workspace=root)
    async with opener(tmp_path / "home", own).open(terms) as source:
        assert source is not None
        desk = Desk(source, root, tmp_path / "home", own, grants=False)
        assert (await desk.refusal("Write", path="own/settings.toml", content="trust")).reason == "hidden"
        code, output = await desk.shell("mkdir -p own; echo trust > own/settings.toml")
        assert (code != 0, "Read-only" in output) == (True, True)
        assert not (own / "settings.toml").exists()


async def test_sayso_itself_finds_no_keys_in_the_sandbox(tmp_path: Path) -> None:
    """`sayso keyapp` starts there, and has nothing to sign with; outside, the same command shows the keys."""
    needs_bubblewrap()
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    make_keys(Vault(own, SystemClock()), None)
    home = Path(os.path.expanduser("~"))
    workspace = Path(sys.prefix).parent if sys.prefix != sys.base_prefix else tmp_path
    terms = SourceTerms(session_id="s1", permission="bypass", workspace=workspace)
    show = f"{sys.executable} -m sayso keyapp show --home {own}"
    outside = subprocess.run(show, shell=True, capture_output=True, text=True, check=True)
    assert "urn:schcp:principal:" in outside.stdout
    async with opener(home, own).open(terms) as source:
        assert source is not None
        desk = Desk(source, workspace, home, own, grants=False)
        code, output = await desk.shell(f"{sys.executable} -m sayso --version")
        assert (code, output.startswith("sayso ")) == (0, True), output
        for command in (show, f"SAYSO_HOME={own} {sys.executable} -m sayso gate approve p_1"):
            code, output = await desk.shell(command)
            assert (code != 0, "urn:schcp:principal:" in output) == (True, False), output


@contextmanager
def listening(*addresses: tuple[socket.AddressFamily, object]) -> Iterator[list[socket.socket]]:
    """Listeners that answer nobody: who connects has got through."""
    listeners = [socket.socket(family, socket.SOCK_STREAM) for family, _ in addresses]
    try:
        for listener, (_, address) in zip(listeners, addresses, strict=True):
            listener.bind(address)  # type: ignore[arg-type]
            listener.listen()
        yield listeners
    finally:
        for listener in listeners:
            listener.close()


CONNECT = """python3 - <<'END'
import socket
for family, address in {targets!r}:
    with socket.socket(family) as s:
        try:
            s.connect(address)
            print("through")
        except OSError as error:
            print("no")
END"""


async def test_nothing_on_this_machine_is_reached(tmp_path: Path) -> None:
    """Neither the hub and the console on loopback nor a socket in the file system or without a name in it."""
    needs_bubblewrap()
    own = str(tmp_path / "agent.sock")
    wanted = [(socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_INET6, ("::1", 0)), (socket.AF_UNIX, own),
              (socket.AF_UNIX, f"\0sayso-test-{os.getpid()}")]  # fmt: skip
    with listening(*wanted) as listeners:
        targets = [(int(each.family), each.getsockname()) for each in listeners]
        targets = [(family, name.decode() if isinstance(name, bytes) else name) for family, name in targets]
        async with open_desk(tmp_path, grants=False, PATH="/usr/bin:/bin") as desk:
            assert await desk.shell(CONNECT.format(targets=targets)) == (0, "no\n" * 4)
        async with open_desk(tmp_path, programs=plain_programs(tmp_path), PATH="/usr/bin:/bin") as desk:
            assert await desk.shell(CONNECT.format(targets=targets)) == (0, "through\n" * 4)


async def test_nothing_of_the_person_is_read_or_planted(project: Desk) -> None:
    """Neither other secrets of the home nor what is run when they log in; and what was lost is said to be lost."""
    home = project.home
    for path in ("../../.ssh/id_ed25519", str(home / ".bashrc"), "~/.ssh/id_ed25519"):
        assert (await project.refusal("Read", path=path)).reason == "outside_workspace"
    assert (await project.refusal("Write", path="../../.bashrc", content="evil")).reason == "outside_workspace"
    for command in ("cat ~/.ssh/*", f"cat {home}/.ssh/id_ed25519", "grep -rs 'ssh secret' ~ .. ../.. /tmp /etc"):
        assert "ssh secret" not in (await project.shell(command))[1].replace(command, "")
    await project.shell("echo evil >> ~/.bashrc; echo evil > ~/.bash_profile; mkdir -p ~/.config/autostart; ls -la ~")
    assert (home / ".bashrc").read_text() == "# mine\n"
    assert sorted(os.listdir(home)) == [".bashrc", ".sayso", ".ssh", "code"]
    _, output = await project.shell("ls -A ~; ls -A /home /root /run /tmp /var 2>&1; echo x > /etc/x || echo refused")
    assert "evil" not in output
    assert output.endswith("refused\n")


async def test_a_farm_of_links_leads_nowhere(project: Desk) -> None:
    """Thousands of links, to each other and out."""
    target = "../../.ssh/id_ed25519"
    for number in range(2000):
        (project.root / f"l{number}").symlink_to(target if number % 2 else f"l{number + 1}")
    for number in (0, 1, 1998):
        assert (await project.refusal("Read", path=f"l{number}")).reason == "outside_workspace"
    assert await project.text("Grep", pattern="secret") == "nothing found"
    assert "ssh secret" not in (await project.shell("cat l*"))[1]


async def test_no_process_of_the_person_is_seen_or_touched(project: Desk) -> None:
    """Not by its environment, its memory, a signal or a trace."""
    with subprocess.Popen(["sleep", "63.5"], env={"TOKEN": "process secret"}) as bystander:
        try:
            command = f"cat /proc/*/environ; kill -9 {bystander.pid}; cat /proc/{os.getpid()}/maps; ps ax"
            _, output = await project.shell(command)
            assert "process secret" not in output
            assert "63.5" not in output
            assert bystander.poll() is None
            _, output = await project.shell("ls /proc | grep -c '^[0-9]*$'")
            assert int(output) < 10
        finally:
            bystander.kill()


async def test_no_right_is_won_back(project: Desk) -> None:
    """No capability, no further namespace, no mount, no program that runs as another user."""
    _, output = await project.shell("grep -E '^(Cap|NoNewPrivs)' /proc/self/status")
    rights = dict(line.split() for line in output.splitlines())
    assert {name for name, value in rights.items() if value.strip("0")} == {"NoNewPrivs:"}
    for command in (
        "mount -t tmpfs none /usr", f"mount -o remount,rw {project.root}/.git/hooks", "umount /proc",
        "unshare -r -n true", "chroot / true", "mknod disk b 8 0", ": >> /proc/sys/kernel/core_pattern",
    ):  # fmt: skip
        code, output = await project.shell(command)
        assert code != 0, (command, output)


async def test_nothing_of_the_kernel_is_set(project: Desk) -> None:
    """Root's files in /proc need no capability of root, and a line in one of them is run outside the sandbox."""
    assert os.path.exists("/proc/sys/kernel/core_pattern")
    _, output = await project.shell(
        "find /proc -maxdepth 4 -path '/proc/[0-9]*' -prune -o -type f -writable -print 2>/dev/null"
    )
    assert output == ""


async def test_what_git_runs_by_itself_stays(project: Desk) -> None:
    """Hooks and settings are programs of the person's; a repository cannot be moved away from over them either."""
    git = ["git", "-c", "init.defaultBranch=main", "-C", str(project.root)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(project.home)}
    subprocess.run([*git, "init", "-q"], check=True, env=environment)
    before = (project.root / ".git" / "config").read_bytes()
    hooks = sorted(os.listdir(project.root / ".git" / "hooks"))
    for command in (
        "echo evil > .git/hooks/pre-commit", "git config core.fsmonitor ./evil", "mv .git away", "rm -rf .git/hooks",
        "mv .git/hooks .git/away",
    ):  # fmt: skip
        code, output = await project.shell(command)
        assert code != 0, (command, output)
    code, output = await project.shell("echo evil > .git/commondir; touch .git/config.worktree")
    assert code == 0
    assert output.count("was removed: a command makes no settings of git") == 2
    assert {"commondir", "config.worktree"}.isdisjoint(os.listdir(project.root / ".git"))
    assert (project.root / ".git" / "config").read_bytes() == before
    assert sorted(os.listdir(project.root / ".git" / "hooks")) == hooks
    code, output = await project.shell(
        "echo a > a; git add a; git -c user.name=a -c user.email=a@example.com commit -qm a; git log --format=%s"
    )
    assert (code, output) == (0, "a\n")


async def test_a_search_runs_no_module_out_of_the_workspace(project: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the program was started: `python -m` puts its folder in front of every other."""
    project.write("pathspec.py", f"open({str(project.root / 'ran')!r}, 'w')\nraise SystemExit\n")
    monkeypatch.setattr(sys, "path", [str(project.root), *sys.path])
    assert await project.text("Glob", pattern="*") == "pathspec.py"


def test_the_program_itself_runs_no_module_out_of_the_folder_it_is_started_in(tmp_path: Path) -> None:
    """Which is a workspace, as often as not: of a stranger's making, or an agent's."""
    (tmp_path / "msgspec.py").write_text("raise SystemExit('planted')\n")
    program = [sys.executable, "-m", "sayso", "--version"]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.startswith("sayso "), done.stderr) == (0, True, "")


async def test_our_own_program_is_read_only_in_a_workspace_that_holds_it(tmp_path: Path) -> None:
    """An agent that works on a folder a program like ours is installed in."""
    needs_bubblewrap()
    root = tmp_path / "work"
    program = root / "lib" / "program"
    program.mkdir(parents=True)
    sandbox = find_bubblewrap()
    assert sandbox is not None
    opened = Root(os.open(root, FOLDER_FLAGS), root, Hidden([]), [program])
    for attack in (f"touch {program}/planted", "mv lib away", "mv lib/program away", "rm -rf lib/program"):
        command = sandbox.command(opened, tmp_path / "home", ["/bin/sh", "-c", attack])
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode != 0, attack
    opened.close()
    assert (program.is_dir(), os.listdir(program)) == (True, [])


async def test_nothing_stays_behind(project: Desk) -> None:
    """No process and no file outside the workspace outlives a command."""
    await project.shell("echo x > /tmp/x; echo x > ~/x; (setsid sleep 64.5 &) ; true")
    assert await project.shell("cat /tmp/x ~/x 2>/dev/null; ps ax | grep -c '[6]4.5'") == (1, "0\n")
    assert not (project.home / "x").exists()
