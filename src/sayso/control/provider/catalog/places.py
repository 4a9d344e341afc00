"""On which line of a JSON document a member stands, for refusals that a person has to act on. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("line_of",)

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]', re.DOTALL)
_INDEX = re.compile(r"\[[^\]]*\]")


def line_of(data: bytes, path: Sequence[str]) -> int:
    """The line, from 1, of the last member of `path` that the document has. The document is one that was parsed;
    array positions in a path (`models[0]`) are left out, so they lead to the array's member.
    """
    wanted = [_INDEX.sub("", each) for each in path]
    open_keys: list[str | None] = []
    key: str | None = None
    best, line = 0, 1
    tokens = list(_TOKEN.finditer(data))
    for at, token in enumerate(tokens):
        text = token.group()
        if text in (b"{", b"["):
            open_keys.append(key)
            key = None
        elif text in (b"}", b"]"):
            key = open_keys.pop() if open_keys else None
        elif text == b",":
            key = None
        elif text[:1] == b'"' and at + 1 < len(tokens) and tokens[at + 1].group() == b":":
            key = _text(text)
            here = [each for each in (*open_keys[1:], key) if each is not None]
            if len(here) > best and here == wanted[: len(here)]:
                best, line = len(here), data.count(b"\n", 0, token.start()) + 1
    return line


def _text(token: bytes) -> str | None:
    try:
        value = strictjson.parse(token)
    except Refused:
        return None
    return value if isinstance(value, str) else None
