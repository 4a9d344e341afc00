"""What a person typed, kept in the home for the next time: the lines they sent, and a draft they did not send.

Both files are the person's alone (0600), written whole beside the old one and put in its place, so that a process that
ends in the middle leaves the one or the other. A file that cannot be read or written is as good as none.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("KEPT", "TypedText", "write_private")

KEPT = 500
"""Lines kept."""
_LONGEST = 64 * 1024
"""Characters of one kept text; a longer one is sent and not kept."""
_MOST = 512 * 1024
"""Characters kept in all, since the file is written anew with each Enter."""


def write_private(path: Path, data: bytes) -> None:
    """Puts a file of the person's alone in its place, whole. Raises OSError."""
    # The home itself may not be there yet, and nothing above a home is ours to make.
    path.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".typed-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


class _File(msgspec.Struct, frozen=True, kw_only=True):
    sent: tuple[str, ...] = ()


class TypedText:
    """The texts somebody sent, oldest first, and where they stand in them; `folder` is made when it is needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sent: list[str] = []
        self._at = 0
        self._unsent = ""

    @property
    def sent(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(self._sent)

    def load(self) -> None:
        """Reads what was kept."""
        with contextlib.suppress(OSError, Refused):
            self._sent = list(strictjson.decode((self._folder / "typed.json").read_bytes(), _File).sent[-KEPT:])
        self._at = len(self._sent)

    def draft(self) -> str:
        """What was typed and not sent last time."""
        try:
            return (self._folder / "draft.txt").read_text(encoding="utf-8")
        except (OSError, UnicodeError):
            return ""

    def keep_draft(self, text: str) -> None:
        """Keeps a draft; an empty one takes the file away."""
        path = self._folder / "draft.txt"
        with contextlib.suppress(OSError):
            if text:
                write_private(path, text.encode("utf-8", "replace"))
            else:
                path.unlink(missing_ok=True)

    def add(self, text: str) -> None:
        """Keeps a text that was sent; the same one twice in a row is kept once."""
        if text and len(text) <= _LONGEST and (not self._sent or self._sent[-1] != text):
            self._sent = _newest([*self._sent, text][-KEPT:])
            with contextlib.suppress(OSError):
                write_private(self._folder / "typed.json", strictjson.encode(_File(sent=tuple(self._sent))))
        self._at, self._unsent = len(self._sent), ""

    def earlier(self, now: str) -> str | None:
        """The text before this one; `now` is what stands in the composer, found again at the end."""
        if self._at == 0:
            return None
        if self._at == len(self._sent):
            self._unsent = now
        self._at -= 1
        return self._sent[self._at]

    def later(self) -> str | None:
        """The text after this one, at last what was being typed."""
        if self._at >= len(self._sent):
            return None
        self._at += 1
        return self._unsent if self._at == len(self._sent) else self._sent[self._at]


def _newest(texts: Sequence[str]) -> list[str]:
    """Of these as many as there is room for."""
    first = len(texts)
    room = _MOST
    while first > 0 and room >= len(texts[first - 1]):
        first -= 1
        room -= len(texts[first])
    return list(texts[first:])
