"""Which entries of a list somebody means by a few letters: a score for each, and the list in that order. Pure.

The letters have to stand in an entry in their order, not side by side. Better is: at the beginning of a word, side by
side, near the front, in a short entry. Several words in the query each have to match, in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ("rank", "score")

T = TypeVar("T")
_BREAKS = frozenset(" /-_.:@#")
_AT_WORD, _SIDE_BY_SIDE, _WHOLE, _FRONT = 8.0, 5.0, 6.0, 4.0
_GAP, _LENGTH = 0.3, 0.02


def score(query: str, text: str) -> float | None:
    """How well `text` answers to `query`, higher is better; None when it does not. Case says nothing."""
    words, lowered = query.lower().split(), text.lower()
    total = 0.0
    for word in words:
        found = _score_word(word, lowered)
        if found is None:
            return None
        total += found
    return total - _LENGTH * len(text)


def rank(query: str, entries: Iterable[T], text_of: Callable[[T], str]) -> list[T]:
    """The entries that match, best first; equal ones as they came, and all of them for an empty query."""
    if not query.strip():
        return list(entries)
    scored = [(found, entry) for entry in entries if (found := score(query, text_of(entry))) is not None]
    scored.sort(key=lambda pair: -pair[0])
    return [entry for _, entry in scored]


def _score_word(word: str, text: str) -> float | None:
    """The best of the ways to find a word: whole, from each place where its first letter begins a word, or anywhere."""
    best = _walk(word, text, text.find(word[0]))
    if best is None:
        return None
    at = text.find(word)
    if at >= 0:
        best = max(best, _WHOLE * len(word) + (_walk(word, text, at) or 0.0))
    for start in _word_starts(word[0], text):
        found = _walk(word, text, start)
        if found is not None:
            best = max(best, found)
    return best


def _word_starts(letter: str, text: str) -> Iterable[int]:
    at = text.find(letter)
    while at >= 0:
        if at > 0 and text[at - 1] in _BREAKS:
            yield at
        at = text.find(letter, at + 1)


def _walk(word: str, text: str, start: int) -> float | None:
    """The letters taken greedily from `start` on."""
    total, last, at = 0.0, -1, start
    for number, letter in enumerate(word):
        at = text.find(letter, at)
        if at < 0:
            return None
        if at == 0:
            total += _FRONT
        if at == 0 or text[at - 1] in _BREAKS:
            total += _AT_WORD
        if number and at == last + 1:
            total += _SIDE_BY_SIDE
        elif number:
            total -= _GAP * (at - last - 1)
        total += 1.0
        last, at = at, at + 1
    return total
