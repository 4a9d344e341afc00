"""Write and Edit: what a call would change, worked out before anybody is asked, and then done exactly so.

`plan` reads and decides, `Change.diff` shows, `apply` writes. A plan holds the digest of what it was made from; whoever
kept one compares it with the next plan of the same call, and `apply` compares once more with the file itself right
before it is replaced. A file is replaced by another in the same folder, under its name, all at once; it keeps its mode,
and other names of it (hard links) keep the old content.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass

from sayso.control.workspace.arguments import EditArguments, WriteArguments
from sayso.control.workspace.denial import bad_argument, cannot, of_system
from sayso.control.workspace.diffs import unified_diff
from sayso.control.workspace.hidden import folded
from sayso.control.workspace.reading import FILE_LIMIT, digest
from sayso.control.workspace.root import Root, Spot
from sayso.control.workspace.text import read_text
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused

__all__ = ("Change", "apply", "plan_edit", "plan_write")

_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PLACES_TOLD = 5
_MOST_PLACES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file's next state. `seen` is the digest of the present one, None where there is no file."""

    said: str
    path: str
    seen: bytes | None
    before: str | None
    after: str
    data: bytes
    count: int = 1

    @property
    def diff(self) -> str:
        return unified_diff(self.before, self.after, self.path)


def plan_write(root: Root, arguments: WriteArguments) -> Change:
    """Refused: what `Root.find` refuses, `is_a_folder`, `not_a_file`, `too_large`, `git_folder`,
    `own_program`.
    """
    data = _encoded(arguments.content, "$.content")
    with root.find(arguments.path, above="later") as spot:
        _verify_place(root, spot, arguments.path)
        if spot.status is None:
            old, before = None, None
        else:
            old = root.read_spot(spot, arguments.path, FILE_LIMIT)
            before = _text_or_note(old, arguments.path)
    return Change(
        said=arguments.path,
        path=spot.path,
        seen=None if old is None else digest(old),
        before=before,
        after=arguments.content,
        data=data,
    )


def plan_edit(root: Root, arguments: EditArguments) -> Change:
    """Refused: as Read and `plan_write`, `no_change`, `not_found_in_file`, `found_more_than_once`, `too_large`."""
    _encoded(arguments.new_text, "$.new_text")
    with root.find(arguments.path) as spot:
        _verify_place(root, spot, arguments.path)
        data = root.read_spot(spot, arguments.path, FILE_LIMIT)
    file = read_text(data, arguments.path)
    old, new = file.taken(arguments.old_text), file.taken(arguments.new_text)
    if old == new:
        raise bad_argument("no_change", "The old and the new text are the same", place="$.new_text")
    places = _places(file.text, old)
    if not places:
        raise _not_in_file(arguments.path)
    if len(places) > 1 and not arguments.replace_all:
        raise _found_often(arguments.path, file.text, places)
    after = file.holding(file.text.replace(old, new))
    written = after.to_bytes()
    if len(written) > FILE_LIMIT:
        raise cannot("too_large", f"{arguments.path} would become larger than {FILE_LIMIT // 1024} KiB")
    return Change(
        said=arguments.path,
        path=spot.path,
        seen=digest(data),
        before=file.text,
        after=after.text,
        data=written,
        count=file.text.count(old),
    )


def apply(root: Root, change: Change) -> None:
    """Writes it. Refused `changed` when the file is not what the plan was made from, with nothing written."""
    with root.find(change.path, above="made") as spot:
        try:
            _replace(root, spot, change)
        except OSError as error:
            raise of_system(error, change.said) from error


def _replace(root: Root, spot: Spot, change: Change) -> None:
    beside = f".{SystemIds().new('sayso')}.tmp"
    # Without set-user-id: whoever wrote the old content was trusted with that, and this is other content.
    mode = None if spot.status is None else stat.S_IMODE(spot.status.st_mode) & 0o777
    descriptor = os.open(beside, _NEW_FLAGS, 0o666, dir_fd=spot.folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.write(change.data)
            file.flush()
            os.fsync(descriptor)
        _verify_unchanged(root, spot, change)
        os.rename(beside, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=spot.folder)
        raise


def _verify_unchanged(root: Root, spot: Spot, change: Change) -> None:
    try:
        os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False)
    except FileNotFoundError:
        now = None
    else:
        now = digest(root.read_spot(spot, change.said, FILE_LIMIT)) if spot.status else b""
    if now != change.seen or spot.path != change.path:
        raise cannot(
            "changed", f"{change.said} changed meanwhile", help="Nothing was written. Read it again, then try again."
        )


def _verify_place(root: Root, spot: Spot, said: str) -> None:
    if root.is_fixed(spot.path):
        raise cannot("own_program", f"{said} is part of the program that runs this tool, which no tool changes")
    if any(folded(name) == ".git" for name in spot.path.split("/")):
        raise cannot(
            "git_folder",
            f"{said} lies in a .git folder, whose settings and hooks are programs",
            help="Use git through Shell.",
        )
    if spot.is_folder or not spot.name:
        raise cannot("is_a_folder", f"{said} is a folder")


def _places(text: str, wanted: str) -> list[int]:
    """Where `wanted` begins, overlaps counted: two readings of one place are no exact one."""
    places: list[int] = []
    at = text.find(wanted)
    while at >= 0 and len(places) < _MOST_PLACES:
        places.append(at)
        at = text.find(wanted, at + 1)
    return places


def _not_in_file(path: str) -> Refused:
    return cannot(
        "not_found_in_file",
        f"The old text does not stand in {path}",
        place="$.old_text",
        help="It must be the same to the last blank, without line numbers. Read the file again.",
    )


def _found_often(path: str, text: str, places: list[int]) -> Refused:
    lines = [str(text.count("\n", 0, at) + 1) for at in places[:_PLACES_TOLD]]
    count = len(places) if len(places) < _MOST_PLACES else f"at least {len(places)}"
    return cannot(
        "found_more_than_once",
        f"The old text stands {count} times in {path}, at first in the lines {', '.join(lines)}",
        place="$.old_text",
        help="Give more of the lines around the right one, or set replace_all.",
    )


def _text_or_note(data: bytes, path: str) -> str:
    """What is shown of a file that is going to be replaced, whatever it holds: its line ends and its byte order mark go
    with it, so they are shown too.
    """
    try:
        read_text(data, path)
        return data.decode()
    except Refused:
        return f"({len(data)} bytes that are no text)\n"


def _encoded(text: str, place: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise bad_argument("not_unicode", "The text holds half of a surrogate pair", place=place) from None
