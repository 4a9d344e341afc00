"""One order out of two: reciprocal rank fusion of what words found and what vectors found (GTW-043).

A rank says nothing of how much better one find is than the next, and that is the point: scores of full text and
distances of vectors have no common scale, ranks do. What one list alone holds counts with that one.

Words are worth as much as meaning where a passage holds all the telling words of the question: whoever asks for a name
or a number gets it. Where it holds some of them only, they are worth less: plain questions share words with passages
that have nothing to do with them. The figures were chosen on the labelled queries of the tests, where neighbouring
ones do as well.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

__all__ = ("DEPTH", "SMOOTHING", "SOME_WORDS", "Fused", "fuse")

DEPTH = 50
"""How many of each list are looked at."""
SMOOTHING = 10
"""How slowly a place further down counts less: the eleventh is worth half of a place before the first."""
SOME_WORDS = 0.2
"""What a place by words is worth beside one by vector, where not all of the words are there."""


class Fused(msgspec.Struct, frozen=True):
    """An observation with its score and its ranks, counted from 1; None where a list has it not."""

    observation: str
    score: float
    text_rank: int | None
    vector_rank: int | None


def fuse(by_text: Sequence[str], by_vector: Sequence[str], whole: Collection[str] = ()) -> list[Fused]:
    """Best first; the same score in the order of the ids, so that the same question has the same answer.

    `whole` are the passages that hold every word asked for.
    """
    text = {observation: rank for rank, observation in enumerate(by_text, 1)}
    vector = {observation: rank for rank, observation in enumerate(by_vector, 1)}
    found = []
    for each in {**text, **vector}:
        worth = 1.0 if each in whole else SOME_WORDS
        score = worth * _score(text.get(each)) + _score(vector.get(each))
        found.append(Fused(each, score, text.get(each), vector.get(each)))
    return sorted(found, key=lambda each: (-each.score, each.observation))


def _score(rank: int | None) -> float:
    return 0.0 if rank is None else 1.0 / (SMOOTHING + rank)
