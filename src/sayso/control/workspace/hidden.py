"""Folders that no tool may reach, wherever the workspace lies and however a path is spelt.

A folder is known by what it is (device and inode), so that another spelling, another mount of it or a new name leads
nowhere; and by its path, so that one that does not exist yet is not made either. What it was when the session opened
counts for the whole session: moving it away hides nothing less.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

__all__ = ("Hidden", "Identity", "folded", "identity_of")

Identity = tuple[int, int]
"""Device and inode."""

_MOST_FILES = 50_000
"""So many files of a hidden folder are compared with a file that has several names; where there are more, it is not
opened."""


def identity_of(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def folded(name: str) -> str:
    """One spelling for all that a file system may take for the same name: case, composition, characters unseen."""
    seen = "".join(each for each in unicodedata.normalize("NFKC", name) if unicodedata.category(each) != "Cf")
    return unicodedata.normalize("NFKC", seen.casefold())


class Hidden:
    """The hidden folders of one session. `known` are identities from when it opened, besides what is found now.

    With `keeps` the files in them are listed once: for a process that lives for one search.
    """

    def __init__(self, folders: Iterable[Path], known: Iterable[Identity] = (), *, keeps: bool = False) -> None:
        self.folders: Sequence[Path] = tuple(dict.fromkeys(Path(os.path.realpath(each)) for each in folders))
        self._paths = frozenset(folded(str(each)) for each in self.folders)
        found = ((each, _identity(each)) for each in self.folders)
        self.places = {each: identity for each, identity in found if identity is not None}
        self.known = frozenset(known) | frozenset(self.places.values())
        self._keeps = keeps
        self._kept: frozenset[Identity] | None = None

    def identities(self) -> frozenset[Identity]:
        """Of every hidden folder, as they were and as they are now."""
        return self.known | self._present()

    def is_path(self, path: str) -> bool:
        """Whether an absolute path is a hidden folder's own, whether or not that exists."""
        return folded(path) in self._paths

    def holds(self, path: Path) -> bool:
        """Whether a folder is a hidden one, or lies in one."""
        identities = self.identities()
        return any(self.is_path(str(each)) or _identity(each) in identities for each in (path, *path.parents))

    def is_link(self, status: os.stat_result) -> bool:
        """Whether an open file is, under another name, a file of a hidden folder; also when that cannot be told."""
        if status.st_nlink < 2:
            return False
        files = self._kept
        if files is None:
            files = frozenset(islice(self._files(), _MOST_FILES + 1))
            self._kept = files if self._keeps else None
        return identity_of(status) in files or len(files) > _MOST_FILES

    def _present(self) -> frozenset[Identity]:
        return frozenset(found for each in self.folders if (found := _identity(each)) is not None)

    def _files(self) -> Iterator[Identity]:
        for folder in self.folders:
            for above, _, names in os.walk(folder):
                for name in names:
                    try:
                        status = os.lstat(os.path.join(above, name))
                    except OSError:
                        continue
                    if stat.S_ISREG(status.st_mode):
                        yield identity_of(status)


def _identity(path: Path) -> Identity | None:
    try:
        return identity_of(path.stat())
    except OSError:
        return None
