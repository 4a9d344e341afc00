"""The surroundings of a sandboxed command: what of the machine it finds, as arguments for bubblewrap.

A command gets namespaces of its own for users, processes, network, IPC and host name, no capability, and a session of
its own. It sees: the system's programs and a closed list of its settings, read-only; the workspace, read and write; an
empty home with the person's tool chains in it, read-only; an empty /tmp; its own /proc and a minimal /dev. Everything
else is not there: no network and so no loopback, no sockets of /run or /tmp, no other process, nothing of the home, no
hidden folder. What is not listed is not visible; nothing is taken away from a whole. /proc is read-only: to root's
files there no capability is needed, and a line in one of them is a program that the kernel runs outside.

What a git repository runs by itself (settings, hooks) is read-only, and so is our own program. A mount point cannot be
renamed, but a folder above it can: so each folder between the workspace and something protected is a mount point too.
What does not exist cannot be a mount point: `GitSettings` takes away what a command made of that kind.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sayso.control.workspace.root import Root, open_folder

__all__ = ("SYSTEM_PROGRAMS", "Bubblewrap", "GitSettings", "find_bubblewrap", "find_program")

SYSTEM_PROGRAMS = (Path("/usr/bin"), Path("/bin"), Path("/usr/local/bin"), Path("/run/current-system/sw/bin"))
"""Where our own programs are looked for. PATH is not asked: it may lead into a workspace, where an agent can write."""

_ISOLATED = (
    "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--cap-drop", "ALL", "--die-with-parent", "--new-session",
)  # fmt: skip
_HARDER = ("--disable-userns",)
"""Since bubblewrap 0.8: no further user namespaces inside."""
_MERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SYSTEM = ("/usr", "/opt", "/nix/store", "/run/current-system")
_SETTINGS = (
    "alternatives", "bash.bashrc", "ca-certificates", "fonts", "gitconfig", "group", "hosts", "inputrc", "java",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "localtime", "login.defs", "magic", "mime.types",
    "nsswitch.conf", "os-release", "passwd", "perl", "pki/tls/certs", "profile", "profile.d", "protocols", "services",
    "shells", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone",
)  # fmt: skip
_TOOL_CHAINS = (
    ".asdf", ".bun/bin", ".cargo/bin", ".deno/bin", ".ghcup/bin", ".juliaup", ".local/bin", ".local/lib",
    ".local/share/fnm", ".local/share/mise/installs", ".local/share/mise/shims", ".local/share/pipx/venvs",
    ".local/share/pnpm", ".local/share/uv/python", ".local/share/uv/tools", ".nvm", ".pyenv", ".rbenv", ".rustup",
    ".sdkman/candidates", ".volta", "go/bin",
)  # fmt: skip
"""Parts of a home where programs lie and no credential does; some keep theirs one folder further up."""
_SETTINGS_FILES = frozenset(("commondir", "config", "config.worktree"))
"""What git takes settings from, or finds them by: settings name programs."""
_GIT = (*_SETTINGS_FILES, "hooks")
_TRIAL_SECONDS = 10
_TRIAL_CODE = 42


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """bubblewrap as it was seen to work here."""

    program: Path
    flags: Sequence[str]

    def command(self, root: Root, home: Path, inner: Sequence[str]) -> list[str]:
        """The whole command line that runs `inner` in the workspace."""
        path, hidden = root.path, root.hidden.folders
        chains = list(_tool_chains(home, path))
        shown = [*map(Path, _SYSTEM), *chains, path]
        return [
            *self._start(),
            "--tmpfs", str(home),
            *(part for chain in chains for part in ("--ro-bind", str(chain), str(chain))),
            "--bind", str(path), str(path),
            *_pinned((*hidden, *root.fixed), path),
            *_protected_git(path),
            *(part for each in root.fixed for part in ("--ro-bind", str(each), str(each))),
            *_masked(hidden, shown),
            "--remount-ro", "/",
            "--chdir", str(path),
            "--", *inner,
        ]  # fmt: skip

    def trial(self) -> list[str]:
        """A command that ends with a code only a working sandbox gives."""
        return [*self._start(), "--remount-ro", "/", "--chdir", "/", "--", "/bin/sh", "-c", f"exit {_TRIAL_CODE}"]

    def _start(self) -> list[str]:
        return [
            str(self.program), *self.flags,
            *(part for each in _SYSTEM if Path(each).is_dir() for part in ("--ro-bind", each, each)),
            *(part for each in _MERGED for part in _merged(each)),
            *(part for each in _SETTINGS for part in ("--ro-bind-try", f"/etc/{each}", f"/etc/{each}")),
            "--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev",
            "--tmpfs", "/tmp",  # noqa: S108 - the sandbox's own
        ]  # fmt: skip


def find_bubblewrap(programs: Iterable[Path] = SYSTEM_PROGRAMS) -> Bubblewrap | None:
    """bubblewrap, if a sandbox as we need it really runs here; None where it is missing, forbidden or too old."""
    program = find_program("bwrap", programs)
    if program is None:
        return None
    candidates = (Bubblewrap(program, (*_ISOLATED, *_HARDER)), Bubblewrap(program, _ISOLATED))
    return next(filter(_works, candidates), None)


def find_program(name: str, programs: Iterable[Path] = SYSTEM_PROGRAMS) -> Path | None:
    """The first program of this name in one of the folders."""
    return next((each / name for each in programs if os.access(each / name, os.X_OK)), None)


def _works(candidate: Bubblewrap) -> bool:
    try:
        done = subprocess.run(  # noqa: S603 - a program of the system, with arguments of our own
            candidate.trial(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={},
            timeout=_TRIAL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == _TRIAL_CODE


def _merged(path: str) -> tuple[str, ...]:
    if os.path.islink(path):
        return ("--symlink", os.readlink(path), path)
    return ("--ro-bind", path, path) if os.path.isdir(path) else ()


def _tool_chains(home: Path, root: Path) -> Iterator[Path]:
    """Those of the home that are really there: a link may lead to anything, and what holds the workspace is not ours to
    lay over it.
    """
    for name in _TOOL_CHAINS:
        path = home / name
        if path.is_dir() and Path(os.path.realpath(path)) == path and not root.is_relative_to(path):
            yield path


def _protected_git(root: Path) -> list[str]:
    """The repository at the top of the workspace stays where it is, its settings and hooks as they are."""
    git = root / ".git"
    if git.is_symlink() or not git.is_dir():
        return []
    parts = ["--bind", str(git), str(git)]
    for name in _GIT:
        path = str(git / name)
        if os.path.exists(path):
            parts += ["--ro-bind", path, path]
        elif name == "hooks" and not os.path.islink(path):
            parts += ["--tmpfs", path, "--remount-ro", path]
    return parts


class GitSettings:
    """The settings that the repository at the top of a workspace lacks before a command, and does not get from it."""

    def __init__(self, root: Root) -> None:
        self._root = root
        there = self._there()
        self._absent = frozenset() if there is None else _SETTINGS_FILES - there

    def restore(self) -> tuple[str, ...]:
        """Takes away those that are there by now; their paths."""
        made = self._absent & (self._there() or frozenset())
        if not made:
            return ()
        git = open_folder(".git", self._root.descriptor)
        try:
            for name in made:
                with suppress(IsADirectoryError, FileNotFoundError):  # git takes no setting from a folder
                    os.unlink(name, dir_fd=git)
        finally:
            os.close(git)
        return tuple(f".git/{name}" for name in sorted(made))

    def _there(self) -> frozenset[str] | None:
        """What stands in the repository; None without one, or where a link leads to it."""
        try:
            git = open_folder(".git", self._root.descriptor)
        except OSError:
            return None
        try:
            return frozenset(os.listdir(git))
        finally:
            os.close(git)


def _pinned(folders: Iterable[Path], root: Path) -> list[str]:
    """The folders between the workspace and these in it, each mounted over itself, the outermost first."""
    between = {above for each in folders for above in each.parents if above != root and above.is_relative_to(root)}
    pinned = sorted((each for each in between if each.is_dir()), key=lambda each: len(each.parts))
    return [part for each in pinned for part in ("--bind", str(each), str(each))]


def _masked(folders: Sequence[Path], shown: Sequence[Path]) -> list[str]:
    """An empty folder, read-only, over each hidden one that would be visible; one inside another needs none."""
    outermost = [each for each in folders if not any(other in each.parents for other in folders)]
    visible = [each for each in outermost if any(each.is_relative_to(other) for other in shown)]
    return [part for each in visible for part in ("--tmpfs", str(each), "--remount-ro", str(each))]
