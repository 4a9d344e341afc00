"""Which files of a workspace a person may mean by `@`: named by git where it keeps the folder, else found by looking.

Bounded in number and depth, and read in a thread: a large folder costs a few names and never a key press.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio.to_thread

__all__ = ("FILES", "list_files", "list_files_now")

FILES = 5000
"""Files listed at most."""
_DEPTH = 12
_PATIENCE = 5.0
_PASSED_OVER = frozenset({"__pycache__", "node_modules", "target", "dist", "build"})


async def list_files(workspace: Path, hidden: Path | None = None) -> list[str]:
    """Paths of files under `workspace`, relative to it and sorted; nothing below `hidden` (a home)."""
    return await anyio.to_thread.run_sync(list_files_now, workspace, hidden, abandon_on_cancel=True)


def list_files_now(workspace: Path, hidden: Path | None = None) -> list[str]:
    """The same, at once. A folder that cannot be read has no files."""
    found = _listed_by_git(workspace)
    names = _walked(workspace) if found is None else found
    if hidden is not None and hidden.is_relative_to(workspace):
        inside = f"{hidden.relative_to(workspace).as_posix()}/"
        names = [name for name in names if not name.startswith(inside)]
    return sorted(names[:FILES])


def _listed_by_git(workspace: Path) -> list[str] | None:
    """What git keeps here or would keep; None where it keeps nothing or is not installed."""
    command = ["git", "-C", str(workspace), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and every argument is ours
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            env=environment,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode != 0:
        return None
    names = [name.decode(errors="surrogateescape") for name in done.stdout.split(b"\0") if name]
    return list(dict.fromkeys(name for name in names if _is_text(name)))


def _walked(workspace: Path) -> list[str]:
    names = []
    for name in _files_below(str(workspace), "", 0):
        names.append(name)
        if len(names) >= FILES:
            break
    return names


def _files_below(folder: str, prefix: str, depth: int) -> Iterator[str]:
    """Files first, then folders, so that a bound keeps what is near; links to folders are not followed."""
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    folders = []
    for entry in inside:
        if entry.name.startswith(".") or not _is_text(entry.name):
            continue
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _PASSED_OVER:
                folders.append(entry)
        elif entry.is_file():
            yield f"{prefix}{entry.name}"
    if depth < _DEPTH:
        for entry in folders:
            yield from _files_below(entry.path, f"{prefix}{entry.name}/", depth + 1)


def _is_text(name: str) -> bool:
    """Whether a name can be shown and typed: no control characters, and Unicode throughout."""
    return name.isprintable()
