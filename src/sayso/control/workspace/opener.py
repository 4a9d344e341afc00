"""A workspace for each session: what may be one, and what its commands run in."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
from anyio import to_thread

import sayso
from sayso.control.loop.contract import SourceTerms, ToolSource
from sayso.control.loop.permitting import Permitting
from sayso.control.workspace.bubblewrap import SYSTEM_PROGRAMS, Bubblewrap, find_bubblewrap, find_program
from sayso.control.workspace.hidden import Hidden
from sayso.control.workspace.root import FOLDER_FLAGS, Root
from sayso.control.workspace.shelling import Surroundings, shell_environment
from sayso.control.workspace.source import WorkspaceSource
from sayso.core.clock import Clock
from sayso.core.refusal import Refused

__all__ = ("WorkspaceOpener",)

_SYSTEM = tuple(map(Path, ("/proc", "/sys", "/dev", "/run")))
_WHOLE = frozenset(map(Path, (
    "/", "/home", "/Users", "/etc", "/opt", "/usr", "/var",
    "/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp",  # noqa: S108 - refused, not used
)))  # fmt: skip
"""Folders that hold everybody's: programs, settings, and the sockets of whatever runs."""
_NOWHERE = Path("/nonexistent")


class WorkspaceOpener:
    """An `OpensSource`. `hidden` are folders that no tool reaches; `programs` where bubblewrap and bash are looked for,
    `search_seconds` how long a Glob or a Grep may take.

    Whether a sandbox works here is found out once, by running one, when the first session opens.
    """

    id = "workspace"

    def __init__(
        self,
        *,
        hidden: Sequence[Path],
        environ: Mapping[str, str],
        clock: Clock,
        programs: Sequence[Path] = SYSTEM_PROGRAMS,
        search_seconds: int = 20,
    ) -> None:
        self._hidden = tuple(hidden)
        self._environ = environ
        self._clock = clock
        self._programs = tuple(programs)
        self._search_seconds = search_seconds
        self._home = _home(environ)
        self._trial = anyio.Lock()
        self._sandbox: Bubblewrap | None = None
        self._was_tried = False

    def open(self, terms: SourceTerms) -> AbstractAsyncContextManager[ToolSource | None]:
        """The tools over `terms.workspace`; None without one. Refused `open_failed`: as `unfit` says."""
        return self._open(terms)

    @asynccontextmanager
    async def _open(self, terms: SourceTerms) -> AsyncIterator[ToolSource | None]:
        if terms.workspace is None:
            yield None
            return
        sandbox = await self._find_sandbox()
        root = await to_thread.run_sync(self._open_root, terms.workspace)
        shell = find_program("bash", self._programs) or find_program("sh", self._programs) or Path("/bin/sh")
        source = WorkspaceSource(
            Surroundings(
                root=root,
                home=self._home,
                shell=shell,
                environment=shell_environment(self._environ, self._home),
                sandbox=sandbox,
                search_seconds=self._search_seconds,
                clock=self._clock,
            )
        )
        try:
            yield Permitting(source, terms.permission)
        finally:
            await source.close()

    async def is_sandboxed(self) -> bool:
        """Whether commands run in a sandbox here; without one a person is asked about each."""
        return await self._find_sandbox() is not None

    def unfit(self, path: Path) -> Refused | None:
        """Why `open` would refuse this workspace, for whoever would rather open without one; None if it would not."""
        return _unfit_workspace(path, self._hidden, self._home)

    def _open_root(self, path: Path) -> Root:
        unfit = self.unfit(path)
        if unfit is not None:
            raise unfit
        try:
            descriptor = os.open(path, FOLDER_FLAGS)
        except OSError as error:
            raise _unfit("not_a_folder", f"{path} cannot be opened", "Name a folder you may read.") from error
        if _leads_elsewhere(descriptor, path):
            os.close(descriptor)
            raise _unfit("not_a_folder", f"{path} is not the folder it was", "Try again.")
        return Root(descriptor, path, Hidden(self._hidden), _own_program())

    async def _find_sandbox(self) -> Bubblewrap | None:
        async with self._trial:
            if not self._was_tried:
                self._sandbox = await to_thread.run_sync(find_bubblewrap, self._programs)
                self._was_tried = True
        return self._sandbox


def _leads_elsewhere(descriptor: int, path: Path) -> bool:
    """Whether what was opened is not at `path`, which was resolved and judged before: something may have been put in
    the way since. Known where the system tells an open folder's place.
    """
    place = f"/proc/self/fd/{descriptor}"
    return os.path.lexists(place) and os.readlink(place) != str(path)


def _unfit_workspace(path: Path, hidden: Sequence[Path], home: Path) -> Refused | None:
    """Why a folder is no workspace: `open_failed`, with the reason `name`, `not_a_folder`, `hidden`, `home` or
    `system`.

    A home is none, and nothing that contains it: it holds a person's keys, and files that are run when they log in.
    """
    folder = Path(os.path.realpath(path))
    if not _is_unicode(str(folder)):
        return _unfit("name", f"the name of {str(path)!a} is not UTF-8", "Rename the folder.")
    if not folder.is_dir():
        return _unfit("not_a_folder", f"{path} is not a folder", "Name a folder that exists.")
    if Hidden(hidden).holds(folder):
        return _unfit("hidden", f"{path} belongs to sayso itself", "Name a folder of your own work.")
    if any(Path(os.path.realpath(each)).is_relative_to(folder) for each in {home, _own_home()}):
        return _unfit("home", f"{path} is your home, or contains it", "Start in the folder of one project.")
    if folder in _WHOLE or any(folder.is_relative_to(each) for each in _SYSTEM):
        return _unfit("system", f"{path} belongs to the system", "Name a folder of your own work.")
    return None


def _is_unicode(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _home(environ: Mapping[str, str]) -> Path:
    """The person's home; a folder that is nobody's where that is unknown or the whole machine."""
    home = Path(environ.get("HOME") or _own_home())
    return Path(os.path.realpath(home)) if home.is_absolute() and home != Path("/") else _NOWHERE


def _own_home() -> Path:
    try:
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return _NOWHERE
    return home if home.is_absolute() and home != Path("/") else _NOWHERE


def _own_program() -> tuple[Path, ...]:
    """Where this program finds its modules. Whoever could change or add one would run without any of these bounds."""
    folders = [Path(sayso.__file__).parents[1]]
    if sys.prefix != sys.base_prefix:
        folders.append(Path(sys.prefix))
    return tuple(Path(os.path.realpath(each)) for each in folders)


def _unfit(reason: str, message: str, help: str) -> Refused:  # noqa: A002 - the member's name on the wire
    return Refused.because("open_failed", message, reason=reason, place="$.metadata.sayso.workspace", help=help)
