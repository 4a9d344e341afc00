"""A change as a unified diff that stays small: cut where it is long, and said to be."""

from __future__ import annotations

import difflib
import json
from itertools import chain, groupby
from operator import eq
from typing import Literal

from sayso.core.excerpt import beginning

__all__ = ("told_path", "unified_diff")

_MOST_LINES = 400
_MOST_WIDTH = 400
_MOST_COMPARED = 4_000
"""Lines on either side, without the ends they have in common, up to which each is looked for in the other; beyond that
time would grow with the square. As many lines as before are then compared each with the one in its place, which shows
what a word replaced everywhere leaves alone; otherwise all are shown as replaced."""
_CONTEXT = 3

_Code = tuple[str, int, int, int, int]
"""What to do, and with which lines of either side."""


def unified_diff(before: str | None, after: str, path: str) -> str:
    """From `before` (None: there is no file) to `after`, in at most 400 lines of 400 characters."""
    old, new = _lines(before or ""), _lines(after)
    path = told_path(path)
    names = ("--- /dev/null" if before is None else f"--- a/{path}", f"+++ b/{path}")
    return "\n".join(chain(names, _bounded(_hunks(old, new))))


def told_path(path: str) -> str:
    """A path in one line: as it is, or as a JSON string where it holds what ends or hides one."""
    return path if path.isprintable() else json.dumps(path, ensure_ascii=True)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    elif lines:
        lines[-1] += "\n\\ No newline at end of file"
    return lines


def _common_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    shortest = min(len(old), len(new))
    head = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    room = shortest - head
    tail = next((at for at in range(room) if old[-1 - at] != new[-1 - at]), room)
    return head, tail


def _hunks(old: list[str], new: list[str]) -> list[str]:
    """What lies between the common ends begins and ends with a difference: context is added there by us."""
    head, tail = _common_ends(old, new)
    groups = _groups(old[head : len(old) - tail], new[head : len(new) - tail], head)
    if not groups:
        return []
    before, after = min(head, _CONTEXT), min(tail, _CONTEXT)
    groups[0].insert(0, ("equal", head - before, head, head - before, head))
    ends = (len(old) - tail, len(new) - tail)
    groups[-1].append(("equal", ends[0], ends[0] + after, ends[1], ends[1] + after))
    return [line for group in groups for line in _hunk(group, old, new)]


def _groups(old: list[str], new: list[str], head: int) -> list[list[_Code]]:
    """The differences, near ones together, numbered as in the whole file."""
    if old == new:
        return []
    matcher: difflib.SequenceMatcher[str]
    if max(len(old), len(new)) <= _MOST_COMPARED:
        matcher = difflib.SequenceMatcher(None, old, new)
    elif len(old) == len(new):
        matcher = _InPlace(old, new)
    else:
        return [[("replace", head, head + len(old), head, head + len(new))]]
    found = matcher.get_grouped_opcodes(_CONTEXT)
    return [[(what, head + i1, head + i2, head + j1, head + j2) for what, i1, i2, j1, j2 in group] for group in found]


class _InPlace(difflib.SequenceMatcher[str]):
    """Compares each line with the one in its place."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        super().__init__(None, (), ())
        self._old, self._new = old, new

    def get_opcodes(self) -> list[tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]]:
        codes: list[tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]] = []
        at = 0
        for is_same, run in groupby(map(eq, self._old, self._new)):
            end = at + sum(1 for _ in run)
            codes.append(("equal" if is_same else "replace", at, end, at, end))
            at = end
        return codes


def _hunk(group: list[_Code], old: list[str], new: list[str]) -> list[str]:
    (_, old_from, _, new_from, _), (_, _, old_to, _, new_to) = group[0], group[-1]
    lines = [f"@@ -{_range(old_from, old_to)} +{_range(new_from, new_to)} @@"]
    for what, i1, i2, j1, j2 in group:
        if what == "equal":
            lines += [f" {line}" for line in old[i1:i2]]
        else:
            lines += [f"-{line}" for line in old[i1:i2]]
            lines += [f"+{line}" for line in new[j1:j2]]
    return lines


def _range(begin: int, end: int) -> str:
    """Lines as a hunk's head tells them: the first and how many; of none, the line before."""
    count = end - begin
    if count == 1:
        return f"{begin + 1}"
    return f"{begin + (count > 0)},{count}"


def _bounded(body: list[str]) -> list[str]:
    lines = [line for entry in body for line in entry.split("\n")]
    over = len(lines) - _MOST_LINES
    if over > 0:
        half = _MOST_LINES // 2
        lines = [*lines[:half], f"[{over} lines of this diff are not shown]", *lines[-half:]]
    return [beginning(line, _MOST_WIDTH) for line in lines]
