"""Text from elsewhere, made harmless for a terminal: no control sequences, no bidirectional tricks, no lines."""

from __future__ import annotations

import unicodedata

__all__ = ("plain",)

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def plain(text: str) -> str:
    """`text` on one line with every control and format character shown as a question mark.

    Replaced and not dropped, so that nobody can hide that something was there.
    """
    return "".join("?" if unicodedata.category(each) in _UNSAFE else each for each in text)
