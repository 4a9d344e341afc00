"""Glob and Grep, in a process of their own that is killed when it takes too long.

Its first argument is a `Search`; its answer is one JSON object a line, written as found: matches, then `End`, or a
`No`. Nothing in a thread of ours can stop a regular expression, and no rule tells the slow ones from the others; a
process can be ended, whatever it is doing. `find` is what the process does, and can be called without one.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from sayso.control.workspace.denial import bad_argument
from sayso.control.workspace.hidden import Hidden, Identity
from sayso.control.workspace.reading import FILE_LIMIT
from sayso.control.workspace.root import Root, Spot
from sayso.control.workspace.walk import Walker, read_pattern
from sayso.core import strictjson
from sayso.core.refusal import Refusal, Refused

__all__ = ("Answer", "End", "Match", "No", "Search", "find", "main")

_MOST_WIDTH = 500
_MEMORY = 1024 * 1024 * 1024
_CPU_SECONDS = 60
"""More than a session waits: for a search that its session did not live to end."""


class Search(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is looked for. Without `pattern` files are named; with it, lines in them that match."""

    descriptor: int
    root: str
    hidden: tuple[str, ...]
    known: tuple[Identity, ...]
    path: str
    glob: str | None
    pattern: str | None
    ignore_case: bool
    files_only: bool
    limit: int
    dotfiles: bool
    ignored: bool


class Match(msgspec.Struct, frozen=True, kw_only=True, tag="match", forbid_unknown_fields=True):
    """A file, or a line in one."""

    path: str
    line: int = 0
    text: str = ""


class End(msgspec.Struct, frozen=True, kw_only=True, tag="end", forbid_unknown_fields=True):
    """All was told: how many files were looked at, how many could not be searched, and whether a bound ended it."""

    files: int
    skipped: int
    is_cut: bool


class No(msgspec.Struct, frozen=True, kw_only=True, tag="no", forbid_unknown_fields=True):
    """The search was refused."""

    refusal: Refusal


Answer = Match | End | No


def find(root: Root, search: Search) -> Iterator[Answer]:
    """Carries a search out. Refused: `pattern`, and what `Root.find` refuses."""
    wanted = None if search.glob is None else read_pattern(search.glob, "$.glob" if search.pattern else "$.pattern")
    expression = None if search.pattern is None else _compile(search.pattern, ignore_case=search.ignore_case)
    walker = Walker(root, dotfiles=search.dotfiles, ignored=search.ignored)
    below = _below(root, search.path)
    files = skipped = told = 0
    for spot in walker.files(search.path):
        if wanted is not None and not wanted.match_file(spot.path.removeprefix(below)):
            continue
        files += 1
        found = _matches(root, spot, expression, files_only=search.files_only)
        if found is None:
            skipped += 1
            continue
        for match in found:
            if told == search.limit:
                yield End(files=files, skipped=skipped, is_cut=True)
                return
            told += 1
            yield match
    yield End(files=files, skipped=skipped, is_cut=walker.is_cut)


def _below(root: Root, path: str) -> str:
    """What stands in front of every path found, so that a pattern is read from the folder that was named."""
    with root.find(path) as spot:
        return f"{spot.path}/" if spot.is_folder and spot.path != "." else ""


def _matches(root: Root, spot: Spot, expression: re.Pattern[str] | None, *, files_only: bool) -> Iterator[Match] | None:
    """What a file gives; None if it is not searched."""
    if expression is None:
        return iter((Match(path=spot.path),))
    try:
        data = root.read_spot(spot, spot.path, FILE_LIMIT)
    except Refused:
        return None
    if b"\0" in data:
        return None
    text = data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    return _lines(spot.path, text, expression, files_only=files_only)


def _lines(path: str, text: str, expression: re.Pattern[str], *, files_only: bool) -> Iterator[Match]:
    """Each line in which a match begins, once."""
    at, number, counted = 0, 1, 0
    while at <= len(text) and (match := expression.search(text, at)) is not None:
        if files_only:
            yield Match(path=path)
            return
        begin = text.rfind("\n", 0, match.start()) + 1
        if begin == len(text) and begin:
            return  # behind the last line end there is no line
        number += text.count("\n", counted, begin)
        counted = begin
        end = text.find("\n", match.start())
        end = len(text) if end < 0 else end
        yield Match(path=path, line=number, text=text[begin : min(end, begin + _MOST_WIDTH)])
        at = end + 1


def _compile(pattern: str, *, ignore_case: bool) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.MULTILINE | (re.IGNORECASE if ignore_case else 0))
    except (re.error, OverflowError, RecursionError) as error:
        raise bad_argument("pattern", f"The pattern cannot be read: {error}", place="$.pattern") from None


def _bound_ourselves() -> None:
    """A pattern may take more memory than there is, and whoever would end it in time may have been killed."""
    try:
        import resource  # noqa: PLC0415 - not on every system

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    except (ImportError, OSError, ValueError):
        return


def main() -> None:
    """What the process does."""
    _bound_ourselves()
    search = strictjson.decode(os.fsencode(sys.argv[1]), Search)
    hidden = Hidden(map(Path, search.hidden), search.known, keeps=True)
    out = sys.stdout.buffer
    try:
        for answer in find(Root(search.descriptor, Path(search.root), hidden), search):
            out.write(strictjson.encode(answer) + b"\n")
            out.flush()
    except Refused as refused:
        out.write(strictjson.encode(No(refusal=refused.refusal)) + b"\n")
    except MemoryError:
        costly = bad_argument("pattern", "The pattern takes too much memory", place="$.pattern")
        out.write(strictjson.encode(No(refusal=costly.refusal)) + b"\n")
    out.flush()
