"""Text from elsewhere, made harmless for a terminal: no control sequences, no bidirectional tricks, no lines."""

from __future__ import annotations

import unicodedata

from sayso.scheduling.terms.quoted import BLANK

__all__ = ("is_text", "plain", "plain_lines")

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def is_text(words: str) -> bool:
    """Whether arguments of a command were text; bytes that are none arrive as half characters."""
    try:
        words.encode()
    except UnicodeEncodeError:
        return False
    return True


def plain(text: str) -> str:
    """`text` on one line; a control or format character, and a letter that shows nothing, become a question mark.

    Replaced and not dropped, so that nobody can hide that something was there.
    """
    return "".join("?" if each in BLANK or unicodedata.category(each) in _UNSAFE else each for each in text)


def plain_lines(text: str) -> str:
    """As `plain`, with its line ends and tabs: for text that may have many lines. It can be given piece by piece."""
    return "".join(each if each in "\n\t" else plain(each) for each in text)
