"""Comparing a person's words with names that tools reveal: services, hosts, bookings.

Words match through plural and verb endings, compounds ("blow dry" and "blowdry") and one slip of the keyboard. A name
fits where either side holds all words of the other; names that merely share a word are only near, good enough to ask
about and never to choose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sayso.control.provider.planner.language.sheet import tidy
from sayso.control.provider.planner.language.small_words import ARTICLES, JOINTS

__all__ = ("Matches", "find_named", "is_named_in", "name_words")

T = TypeVar("T")

_WORD = re.compile(r"[^\W_]+")
_LITTLE = ARTICLES | JOINTS | frozenset(("for", "to", "in", "at", "by", "s", "please", "appointment", "booking"))
_ENDINGS = ("ing", "ies", "es", "ed", "s", "er", "e", "y")
_SHORTEST_STEM = 3
_SHORTEST_SLIP = 5


@dataclass(frozen=True, slots=True)
class Matches(Generic[T]):
    """What fits the words best, and what only comes near."""

    fitting: tuple[T, ...]
    near: tuple[T, ...]


def name_words(text: str) -> tuple[str, ...]:
    """The words of a name or phrase that tell it from others."""
    return tuple(word for word in _WORD.findall(tidy(text)) if word not in _LITTLE)


def find_named(words: Sequence[str], among: Sequence[T], name: Callable[[T], str]) -> Matches[T]:
    """What of `among` the words name: the best tier that has any, and everything that shares a word."""
    scored = [(_fit(words, name_words(name(each))), each) for each in among]
    best = max((score for score, _ in scored), default=_NONE)
    near = tuple(each for score, each in scored if score > _NONE)
    return Matches(tuple(each for score, each in scored if score == best) if best >= _FITS else (), near)


def is_named_in(text: str, name: str) -> bool:
    """Whether a text holds every word of a name."""
    words, wanted = name_words(text), name_words(name)
    return bool(wanted) and all(any(_same(word, each) for word in words) for each in wanted)


_Fit = tuple[int, int]
_NONE: _Fit = (0, 0)
_FITS: _Fit = (2, 0)


def _fit(said: Sequence[str], named: Sequence[str]) -> _Fit:
    """How well words and a name agree: 4 the same, 3 the words are part of the name, 2 the name is part of the words
    (longer names first), 1 they share a word, 0 nothing.
    """
    if not said or not named:
        return _NONE
    in_name = [word for word in said if any(_same(word, each) for each in named)]
    in_said = [each for each in named if any(_same(word, each) for word in said)]
    if _stem("".join(said)) == _stem("".join(named)) or (len(in_name) == len(said) and len(in_said) == len(named)):
        return 4, 0
    if len(in_name) == len(said) or _is_compound(said, named):
        return 3, 0
    if len(in_said) == len(named) or _is_compound(named, said):
        return 2, len(named)
    return (1, 0) if in_name else _NONE


def _is_compound(parts: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether two neighbours in `parts`, written as one word, and all the rest stand in `whole`."""
    for i in range(len(parts) - 1):
        joined = [*parts[:i], parts[i] + parts[i + 1], *parts[i + 2 :]]
        if all(any(_same(word, each) for each in whole) for word in joined):
            return True
    return False


def _same(one: str, other: str) -> bool:
    if one == other or _stem(one) == _stem(other):
        return True
    return min(len(one), len(other)) >= _SHORTEST_SLIP and not one.isdigit() and _is_slip(one, other)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            stem = word[: -len(ending)]
            # "fitting" and "fit", "cutting" and "cut"
            is_doubled = ending in ("ing", "ed") and len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2]
            return stem[:-1] if is_doubled else stem
    return word


def _is_slip(one: str, other: str) -> bool:
    """One letter too many, too few, wrong, or two swapped."""
    if one[0] != other[0] or abs(len(one) - len(other)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    a, b = one[start:], other[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
