"""Read: a part of a text file, numbered, within bounds."""

from __future__ import annotations

import hashlib

from sayso.control.workspace.arguments import ReadArguments
from sayso.control.workspace.denial import bad_argument
from sayso.control.workspace.diffs import told_path
from sayso.control.workspace.root import Root
from sayso.control.workspace.text import read_text
from sayso.core.excerpt import beginning

__all__ = ("FILE_LIMIT", "digest", "read_part")

FILE_LIMIT = 10 * 1024 * 1024
_MOST_CHARACTERS = 100_000
_MOST_WIDTH = 2_000


def digest(data: bytes) -> bytes:
    """What tells one state of a file from another."""
    return hashlib.sha256(data).digest()


def read_part(root: Root, arguments: ReadArguments) -> tuple[str, str, bytes]:
    """The text for the model, the path with its links followed, and the digest of the whole file."""
    spot, data = root.read(arguments.path, FILE_LIMIT)
    file = read_text(data, arguments.path)
    lines = file.text.split("\n")
    if lines[-1] == "":
        lines.pop()
    first = arguments.offset
    if first > max(len(lines), 1):
        raise bad_argument("no_such_line", f"{arguments.path} has {len(lines)} lines", place="$.offset")
    shown, size = [], 0
    for number, line in enumerate(lines[first - 1 : first - 1 + arguments.limit], first):
        numbered = f"{number:>6}\t{beginning(line, _MOST_WIDTH)}"
        size += len(numbered) + 1
        if size > _MOST_CHARACTERS:
            break
        shown.append(numbered)
    head = _head(told_path(spot.path), first, len(shown), len(lines))
    form = ("" if file.ending == "\n" else ", lines end in CRLF") + (", byte order mark" if file.has_mark else "")
    return "\n".join([head + form, *shown]), spot.path, digest(data)


def _head(path: str, first: int, count: int, total: int) -> str:
    if not total:
        return f"{path}: empty"
    last = first + count - 1
    more = f"; go on at offset {last + 1}" if last < total else ""
    return f"{path}: lines {first} to {last} of {total}{more}"
