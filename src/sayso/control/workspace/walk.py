"""The files of a workspace one after another, sorted, without what .gitignore leaves out; no link is followed.

Runs in a process of its own (`search`): patterns come from the model and from files that anybody may have written, and
a pattern can take longer than anybody waits.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from pathspec import GitIgnoreSpec

from sayso.control.workspace.denial import bad_argument
from sayso.control.workspace.hidden import identity_of
from sayso.control.workspace.root import Root, Spot, open_folder

__all__ = ("Walker", "read_pattern")

_MOST_VISITED = 200_000
"""Names looked at in one search."""
_MOST_DEPTH = 100
_IGNORE_LIMIT = 1024 * 1024
_BRACES = 32


@dataclass(frozen=True, slots=True)
class _Rules:
    """The ignore file of one folder; `above` is that folder's path, with a slash behind it unless it is the root."""

    above: str
    spec: GitIgnoreSpec


class Walker:
    """One walk. `visited` counts names looked at, `is_cut` says that the walk ended at its bound."""

    def __init__(
        self, root: Root, *, dotfiles: bool = False, ignored: bool = False, most_visited: int = _MOST_VISITED
    ) -> None:
        self._root = root
        self._dotfiles = dotfiles
        self._ignored = ignored
        self._identities = root.hidden.identities()
        self._most_visited = most_visited
        self.visited = 0
        self.is_cut = False

    def files(self, path: str) -> Iterator[Spot]:
        """Every regular file at or below `path`; a spot is good until the next is asked for. Refused: as `Root.find`,
        `not_found`.
        """
        with self._root.find(path) as spot:
            if spot.is_folder:
                above = "" if spot.path == "." else f"{spot.path}/"
                yield from self._folder(spot.folder, above, self._rules_above(spot.path))
            elif spot.status is not None and stat.S_ISREG(spot.status.st_mode):
                yield spot
            else:
                raise bad_argument("not_found", f"{path}: there is no such file or folder", place="$.path")

    def _folder(self, folder: int, above: str, rules: Sequence[_Rules]) -> Iterator[Spot]:
        if above.count("/") > _MOST_DEPTH:
            self.is_cut = True
            return
        if not self._ignored and (found := self._read_rules(folder, above)) is not None:
            rules = (*rules, found)
        for name in sorted(self._names(folder)):
            if self.visited >= self._most_visited:
                self.is_cut = True
                return
            self.visited += 1
            status = _look(folder, name)
            if status is None:
                continue
            path = f"{above}{name}"
            if stat.S_ISDIR(status.st_mode) and not _is_ignored(f"{path}/", rules):
                yield from self._below(folder, name, path, rules)
            elif stat.S_ISREG(status.st_mode) and not _is_ignored(path, rules):
                yield Spot(folder, name, path, status)

    def _below(self, folder: int, name: str, path: str, rules: Sequence[_Rules]) -> Iterator[Spot]:
        try:
            descriptor = open_folder(name, folder)
        except OSError:
            return
        try:
            if identity_of(os.fstat(descriptor)) not in self._identities:
                yield from self._folder(descriptor, f"{path}/", rules)
        finally:
            os.close(descriptor)

    def _names(self, folder: int) -> Iterator[str]:
        """Names that may be told: no .git, no bytes that are not UTF-8, and dots only where they are wanted."""
        try:
            names = os.listdir(folder)
        except OSError:
            return
        for name in names:
            is_told = name.isprintable() or name.encode(errors="replace").decode() == name
            if name.casefold() != ".git" and is_told and (self._dotfiles or not name.startswith(".")):
                yield name

    def _rules_above(self, path: str) -> tuple[_Rules, ...]:
        """The ignore files between the root and the folder the walk begins in, the root's first."""
        if self._ignored or path == ".":
            return ()
        rules: list[_Rules] = []
        parts = path.split("/")
        for count in range(len(parts)):
            with self._root.find("/".join(parts[:count]) or ".") as spot:
                above = "".join(f"{each}/" for each in parts[:count])
                if (found := self._read_rules(spot.folder, above)) is not None:
                    rules.append(found)
        return tuple(rules)

    def _read_rules(self, folder: int, above: str) -> _Rules | None:
        status = _look(folder, ".gitignore")
        if status is None or not stat.S_ISREG(status.st_mode):
            return None
        spot = Spot(folder, ".gitignore", f"{above}.gitignore", status)
        try:
            text = self._root.read_spot(spot, spot.path, _IGNORE_LIMIT).decode(errors="replace")
        except Exception:  # noqa: BLE001 - one that cannot be read leaves nothing out, as with git
            return None
        return _Rules(above, _spec(text.splitlines()))


def read_pattern(pattern: str, place: str) -> GitIgnoreSpec:
    """A Glob pattern, with `{a,b}` for either. Refused `invalid_arguments`: `pattern`."""
    lines = list(islice(_alternatives(pattern), _BRACES + 1))
    if pattern.startswith(("!", "#")) or len(lines) > _BRACES:
        raise bad_argument("pattern", "A pattern begins with neither ! nor #, and has few alternatives", place=place)
    try:
        return GitIgnoreSpec.from_lines(lines, backend="simple")
    except ValueError as error:
        raise bad_argument("pattern", f"The pattern cannot be read: {error}", place=place) from None


def _alternatives(pattern: str) -> Iterator[str]:
    start = pattern.find("{")
    end = pattern.find("}", start)
    if start < 0 or end < 0:
        yield pattern
        return
    for each in pattern[start + 1 : end].split(","):
        yield from _alternatives(f"{pattern[:start]}{each}{pattern[end + 1 :]}")


def _spec(lines: Sequence[str]) -> GitIgnoreSpec:
    """The rules of an ignore file; a line that cannot be read counts for nothing."""
    good: list[str] = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line], backend="simple")
        except ValueError:
            continue
        good.append(line)
    return GitIgnoreSpec.from_lines(good, backend="simple")


def _is_ignored(path: str, rules: Sequence[_Rules]) -> bool:
    """What the innermost ignore file that speaks of the path says."""
    for each in reversed(rules):
        said = each.spec.check_file(path[len(each.above) :]).include
        if said is not None:
            return said
    return False


def _look(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
