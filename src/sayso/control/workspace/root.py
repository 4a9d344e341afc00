"""The folder that file tools are confined to, and the only way they open anything.

A path is walked name by name from the root's own descriptor; the system follows no link for us (`O_NOFOLLOW` at every
open). A symbolic link is read and walked like the rest of the path, so that one which stays inside works and one which
leads out is refused; `..` goes back along the folders that were opened and never above the root. Nothing is checked by
name and opened by name: whoever swaps a part of the path between two steps makes the walk fail, not leave.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sayso.control.workspace.denial import bad_argument, cannot, of_system
from sayso.control.workspace.hidden import Hidden, folded, identity_of
from sayso.core.refusal import Refused

__all__ = ("FOLDER_FLAGS", "Above", "Root", "Spot", "open_folder")

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PLACE = "$.path"
_MOST_LINKS = 40
_MOST_NAMES = 256

Above = Literal["there", "made", "later"]
"""What is wanted of the folders above a path's end."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a path ends: the open folder, the last name in it (empty for the root itself), what stands there now.

    `path` is relative to the root, with every link followed. The descriptor is good as long as the walk's block.
    """

    folder: int
    name: str
    path: str
    status: os.stat_result | None

    @property
    def is_folder(self) -> bool:
        return self.status is not None and stat.S_ISDIR(self.status.st_mode)


class Root:
    """A workspace by its descriptor; `path` is what people and commands call it. Safe to use from several threads.

    `fixed` are folders in it that nobody changes here: our own program, where it happens to lie in the workspace.
    """

    def __init__(self, descriptor: int, path: Path, hidden: Hidden, fixed: Sequence[Path] = ()) -> None:
        self.descriptor = descriptor
        self.path = path
        self.hidden = hidden
        self.fixed = tuple(max(each, path) for each in fixed if each.is_relative_to(path) or path.is_relative_to(each))

    def is_in_place(self) -> bool:
        """Whether the path still leads to this folder."""
        try:
            return identity_of(os.stat(self.path, follow_symlinks=False)) == identity_of(os.fstat(self.descriptor))
        except OSError:
            return False

    def is_fixed(self, path: str) -> bool:
        """Whether a path, relative and with its links followed, lies in a folder that stays as it is."""
        whole = f"{folded(str(self.path / path))}/"
        return any(whole.startswith(f"{folded(str(each))}/") for each in self.fixed)

    def close(self) -> None:
        os.close(self.descriptor)

    @contextmanager
    def find(self, path: str, *, above: Above = "there") -> Iterator[Spot]:
        """Walks to where `path` ends. The last name may be missing; folders above it are `there`, or are to be `made`,
        or are taken as what would be made (`later`: the spot's folder is then the last that exists).

        Refused `invalid_arguments`: `path_not_valid`, `outside_workspace`; `tool_failed`: `hidden`, `not_found`,
        `not_a_folder`, `too_many_links`, and what the system says.
        """
        with _Walk(self, path) as walk:
            try:
                spot = walk.to_end(above)
            except OSError as error:
                raise of_system(error, path) from error
            yield spot

    def read(self, path: str, limit: int) -> tuple[Spot, bytes]:
        """A regular file's bytes, of at most `limit`. Refused: besides those of `find`, `is_a_folder`, `not_a_file`,
        `too_large`.
        """
        with self.find(path) as spot:
            return spot, self.read_spot(spot, path, limit)

    def read_spot(self, spot: Spot, path: str, limit: int) -> bytes:
        """The bytes of what a walk found."""
        if spot.is_folder:
            raise cannot("is_a_folder", f"{path} is a folder", help=f"Glob lists it: try the pattern /{spot.path}/*.")
        if spot.status is None:
            raise cannot("not_found", f"{path}: there is no such file", help="Glob finds files by a pattern.")
        try:
            return self._read_file(spot, path, limit)
        except OSError as error:
            raise of_system(error, path) from error

    def _read_file(self, spot: Spot, path: str, limit: int) -> bytes:
        descriptor = os.open(spot.name, _FILE_FLAGS, dir_fd=spot.folder)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise cannot("not_a_file", f"{path} is no regular file", help="Pipes, sockets and devices stay closed.")
            if self.hidden.is_link(status):
                raise _hidden(path)
            if status.st_size > limit:
                raise _too_large(path, limit)
            data = file.read(limit + 1)
        if len(data) > limit:
            raise _too_large(path, limit)
        return data

    def relative(self, path: str) -> str | None:
        """An absolute path without the root in front; None when it names nothing inside."""
        whole = os.path.normpath(path) if ".." not in path.split("/") else path
        root = str(self.path)
        if whole == root:
            return "."
        return whole[len(root) + 1 :] if whole.startswith(f"{root}/") else None


class _Walk:
    """One path on its way: the folders open so far, the innermost last, and the names still to go."""

    def __init__(self, root: Root, path: str) -> None:
        self._root, self._said = root, path
        self._identities = root.hidden.identities()
        self._open: list[tuple[int, str]] = []
        self._parts: deque[str] = deque(_names(root, path))
        self._links = 0

    def __enter__(self) -> _Walk:
        return self

    def __exit__(self, *_: object) -> None:
        while self._open:
            os.close(self._open.pop()[0])

    def to_end(self, above: Above) -> Spot:
        while self._parts:
            name = self._parts.popleft()
            if name == "..":
                self._up()
                continue
            status = self._look(name)
            if status is not None and stat.S_ISLNK(status.st_mode):
                self._follow(name)
            elif status is None and self._parts:
                if above != "made":
                    return self._missing(name, above)
                os.mkdir(name, dir_fd=self._here)
                self._down(name)
            elif not self._parts and not (status and stat.S_ISDIR(status.st_mode)):
                return Spot(self._here, name, self._path(name), status)
            elif status is not None and not stat.S_ISDIR(status.st_mode):
                raise cannot("not_a_folder", f"{self._said}: {name} is not a folder")
            else:
                self._down(name)
        return Spot(self._here, "", self._path() or ".", os.fstat(self._here))

    def _missing(self, name: str, above: Above) -> Spot:
        """Where the path would end if the folders from `name` on were made."""
        rest = [name, *self._parts]
        if above == "there" or ".." in rest:
            raise cannot("not_found", f"{self._said}: there is no folder {name}")
        for count in range(1, len(rest) + 1):
            self._verify_name(*rest[:count])
        return Spot(self._here, rest[-1], self._path(*rest), None)

    @property
    def _here(self) -> int:
        return self._open[-1][0] if self._open else self._root.descriptor

    def _path(self, *more: str) -> str:
        return "/".join([*(name for _, name in self._open), *more])

    def _verify_name(self, *names: str) -> None:
        if self._root.hidden.is_path(f"{self._root.path}/{self._path(*names)}"):
            raise _hidden(self._said)

    def _look(self, name: str) -> os.stat_result | None:
        self._verify_name(name)
        try:
            return os.stat(name, dir_fd=self._here, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _down(self, name: str) -> None:
        descriptor = open_folder(name, self._here)
        self._open.append((descriptor, name))
        if identity_of(os.fstat(descriptor)) in self._identities:
            raise _hidden(self._said)
        if len(self._open) > _MOST_NAMES:
            raise cannot("too_deep", f"{self._said} lies too deep")

    def _up(self) -> None:
        if not self._open:
            raise _outside(self._root, self._said)
        os.close(self._open.pop()[0])

    def _follow(self, name: str) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise cannot("too_many_links", f"{self._said} leads through too many links")
        target = os.readlink(name, dir_fd=self._here)
        if target.startswith("/"):
            inside = self._root.relative(target)
            if inside is None:
                raise _outside(self._root, self._said)
            target = inside
            while self._open:
                self._up()
        self._parts.extendleft(part for part in reversed(target.split("/")) if part not in ("", "."))


def open_folder(name: str, above: int) -> int:
    """A folder's descriptor; OSError when the name is anything else, a link to a folder included."""
    return os.open(name, FOLDER_FLAGS, dir_fd=above)


def _names(root: Root, path: str) -> list[str]:
    if not path or "\0" in path or len(path) > 4096:
        raise bad_argument("path_not_valid", "A path has 1 to 4096 characters and no zero byte", place=_PLACE)
    try:
        path.encode()
    except UnicodeEncodeError:
        raise bad_argument("path_not_valid", "A path is valid Unicode", place=_PLACE) from None
    if path == "~" or path.startswith("~/"):
        raise _outside(root, path)
    if path.startswith("/"):
        inside = root.relative(path)
        if inside is None:
            raise _outside(root, path)
        path = inside
    return [part for part in path.split("/") if part not in ("", ".")]


def _outside(root: Root, path: str) -> Refused:
    return bad_argument(
        "outside_workspace",
        f"{path} is outside the workspace",
        place=_PLACE,
        help=f"Paths are relative to {root.path}, which no path leads out of.",
    )


def _hidden(path: str) -> Refused:
    return cannot("hidden", f"{path} belongs to sayso itself, which no tool reads or changes")


def _too_large(path: str, limit: int) -> Refused:
    return cannot(
        "too_large", f"{path} is larger than {limit // 1024} KiB", help="Grep or Shell can take a part of it."
    )
