"""A question's words, as full text is asked for them on either engine.

A question in plain speech seldom has all its words in the passage that answers it, so the words are joined by OR, and
passages that do hold them all are asked for beside. What stands in a question is never syntax: words are letters and
digits only, so nothing in them can be an operator.
"""

from __future__ import annotations

import re

__all__ = ("words_in", "write_fts5", "write_tsquery")

_MOST_WORDS = 64
_WORD = re.compile(r"[^\W_]+")
# Words that stand in nearly every passage and so tell nothing apart.
_EMPTY = frozenset(
    _WORD.findall(
        """a about all am an and any are as at be because been but by can could did do does doing for from get had has
        have he her his how i if in into is it its just me my no not of on or our out she should so some than that the
        their them then there these they this to up us was we were what when where which who why
        will with would you your"""
    )
)


def words_in(query: str) -> tuple[str, ...]:
    """The telling words of a question, each once; all of them where none tells anything."""
    words = list(dict.fromkeys(_WORD.findall(query.casefold())))
    return tuple([word for word in words if word not in _EMPTY] or words)[:_MOST_WORDS]


def write_fts5(words: tuple[str, ...], *, every: bool = False) -> str:
    """The words for SQLite's `MATCH`; `every` asks for passages that hold all of them."""
    return (" AND " if every else " OR ").join(f'"{word}"' for word in words)


def write_tsquery(words: tuple[str, ...], *, every: bool = False) -> str:
    """The words for Postgres's `to_tsquery`; `every` asks for passages that hold all of them."""
    return (" & " if every else " | ").join(f"'{word}'" for word in words)
