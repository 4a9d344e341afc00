"""How sure: the mean of a Beta distribution, out of sums of weights that everybody is shown (GTW-044).

Weights are whole thousandths, so a sum is exact in whatever order it is made. Without any evidence the answer is one
half, which is what not knowing looks like; one piece of full weight makes it two thirds.
"""

from __future__ import annotations

__all__ = ("THOUSAND", "confidence", "in_decimals")

THOUSAND = 1000


def confidence(supporting: int, opposing: int) -> float:
    """The mean of Beta(1 + supporting, 1 + opposing); the sums are in thousandths."""
    alpha, beta = THOUSAND + supporting, THOUSAND + opposing
    return alpha / (alpha + beta)


def in_decimals(thousandths: int) -> float:
    """A weight, a sum of weights or a closeness as it is shown."""
    return thousandths / THOUSAND
