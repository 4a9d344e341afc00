"""A person's machine in a folder: a home with keys in it, a project, and sayso's workspace tools over the project."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sayso.control.loop.contract import (
    PermissionMode,
    SourceTerms,
    ToolAnswer,
    ToolAsks,
    ToolCall,
    ToolDone,
    ToolSource,
)
from sayso.control.workspace.bubblewrap import SYSTEM_PROGRAMS, find_bubblewrap
from sayso.control.workspace.hidden import Hidden
from sayso.control.workspace.opener import WorkspaceOpener
from sayso.control.workspace.root import FOLDER_FLAGS, Root
from sayso.core.clock import SystemClock
from sayso.core.refusal import Refusal, Refused

KEY = "principal key: do not tell"


@dataclass
class Desk:
    """The tools of one session, and the folders around them."""

    source: ToolSource
    root: Path
    home: Path
    hidden: Path
    grants: bool = True
    calls: int = 0
    asked: list[ToolAsks] = field(default_factory=list)

    def call_of(self, name: str, **arguments: object) -> ToolCall:
        self.calls += 1
        return ToolCall(f"c{self.calls}", name, arguments, "s1", "r1")

    async def do(self, name: str, *, grant: bool | None = None, **arguments: object) -> ToolDone:
        """Makes a call and answers what it asks."""
        grant = self.grants if grant is None else grant
        call, answers = self.call_of(name, **arguments), list[ToolAnswer]()
        while not isinstance(outcome := await self.source.call(call, answers), ToolDone):
            self.asked.append(outcome)
            answers.append(ToolAnswer(grant))
        return outcome

    async def text(self, name: str, **arguments: object) -> str:
        done = await self.do(name, **arguments)
        assert not done.is_error
        assert isinstance(done.result, str)
        return done.result

    async def refusal(self, name: str, **arguments: object) -> Refusal:
        with pytest.raises(Refused) as refused:
            await self.do(name, **arguments)
        return refused.value.refusal

    async def shell(self, command: str, **more: object) -> tuple[int, str]:
        """A command's exit code and output."""
        done = await self.do("Shell", command=command, **more)
        assert isinstance(done.result, dict)
        assert "output" in done.result, done.result
        return done.result.get("exit_code", -1), done.result["output"]

    def write(self, path: str, text: str | bytes = "") -> Path:
        where = self.root / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(text if isinstance(text, bytes) else text.encode())
        return where


def opener(
    home: Path, hidden: Path, *, programs: Sequence[Path] = SYSTEM_PROGRAMS, search_seconds: int = 20, **environ: str
) -> WorkspaceOpener:
    parent = {"HOME": str(home), "PATH": os.environ["PATH"], **environ}
    return WorkspaceOpener(
        hidden=[hidden], environ=parent, clock=SystemClock(), programs=programs, search_seconds=search_seconds
    )


@asynccontextmanager
async def open_desk(
    tmp_path: Path,
    *,
    mode: PermissionMode = "bypass",
    root: str = "home/code/project",
    hidden: str = "home/.sayso",
    programs: Sequence[Path] = SYSTEM_PROGRAMS,
    search_seconds: int = 20,
    grants: bool = True,
    **environ: str,
) -> AsyncIterator[Desk]:
    """A home with a key, a secret and a start-up file in it, and a session over the project in it.

    Without `grants` no question is answered with yes: an attack is never made outside a sandbox by mistake.
    """
    home = tmp_path / "home"
    project, own = tmp_path / root, tmp_path / hidden
    for folder in (home, project, own, home / ".ssh"):
        folder.mkdir(parents=True, exist_ok=True)
    (own / "principal.key").write_text(KEY)
    (home / ".ssh" / "id_ed25519").write_text("ssh secret")
    (home / ".bashrc").write_text("# mine\n")
    terms = SourceTerms(session_id="s1", permission=mode, workspace=project)
    opening = opener(home, own, programs=programs, search_seconds=search_seconds, **environ)
    async with opening.open(terms) as source:
        assert source is not None
        yield Desk(source, project, home, own, grants)


def plain_programs(tmp_path: Path) -> tuple[Path, ...]:
    """A folder of programs like the system's, without bubblewrap."""
    folder = tmp_path / "programs"
    folder.mkdir(exist_ok=True)
    (folder / "bash").symlink_to("/bin/bash")
    return (folder,)


def needs_bubblewrap() -> None:
    """Skips where no sandbox runs; in a strict run that is a failure."""
    if find_bubblewrap() is None:
        message = "bubblewrap is not installed, or does not work here"
        if os.environ.get("SAYSO_TEST_STRICT") == "1":
            pytest.fail(message)
        pytest.skip(message)


def open_root(path: Path, *hidden: Path) -> Root:
    return Root(os.open(path, FOLDER_FLAGS), path, Hidden(hidden))


def processes_with(*words: str) -> list[int]:
    """The running processes whose command line holds all of these words."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().decode(errors="replace") if entry.name.isdigit() else ""
        except OSError:
            continue
        if line and all(word in line for word in words):
            found.append(int(entry.name))
    return found
