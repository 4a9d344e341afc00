"""How much a hypothesis depends on each piece of its evidence: a simulation that really computes (GTW-044).

The evidence is resampled 10,000 times, a Poisson bootstrap: in each draw every piece counts Poisson(1) times, so it may
be missing, stand once, or stand several times. From the sums so drawn, one probability is drawn of
Beta(1 + supporting, 1 + opposing). The mean of the draws and their middle 95% are the answer; the exact mean stands
beside.

Each piece has a stream of random numbers of its own, keyed by the seed and the observation's id. A piece's part in the
answer is therefore found exactly: without it, every other piece is drawn as before, and the numbers reported are to the
last digit those of a simulation in which that piece had never been there. The generator is PCG64 and the seed comes
from the call's id, so that whoever has the evidence and the seed gets the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from sayso.core.refusal import Refused
from sayso.gateway.knowledge.rules.confidence import THOUSAND, confidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ("DRAWS", "MOST_PIECES", "Contribution", "Posterior", "Simulated", "Weight", "seed_of", "simulate")

DRAWS = 10_000
MOST_PIECES = 64
"""How many pieces' parts are told, the weightiest first; all of them are resampled."""
UNAVAILABLE = "simulation_unavailable"
_PREFIX = b"sayso/simulation/v1\n"
_SEED_BYTES = 6
_DIGITS = 6
_MIDDLE = (2.5, 97.5)


class Weight(msgspec.Struct, frozen=True):
    """A piece of evidence as it is resampled."""

    observation: str
    weight: float
    supports: bool


class Posterior(msgspec.Struct, frozen=True, kw_only=True):
    """`exact` is the mean by the formula, `mean` that of the draws, `low` to `high` holds the middle 95% of them."""

    exact: float
    mean: float
    low: float
    high: float


class Contribution(msgspec.Struct, frozen=True, kw_only=True):
    """What one piece does: the posterior as it is without it, and how much the exact mean rises because of it."""

    observation: str
    weight: float
    supports: bool
    without: Posterior
    moves: float


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `simulate`."""

    seed: int
    draws: int
    posterior: Posterior
    contributions: tuple[Contribution, ...]


def seed_of(call_id: str) -> int:
    """48 bits out of a call's id, so that JSON carries them whole and the same call always draws the same."""
    return int.from_bytes(sha256(_PREFIX + call_id.encode()).digest()[:_SEED_BYTES])


def simulate(evidence: Sequence[Weight], seed: int) -> Simulated:
    """Takes CPU: never on an event loop. Refused: `simulation_unavailable` where numpy is not installed."""
    if find_spec("numpy") is None:
        raise Refused.because(
            UNAVAILABLE, "simulations need the extra `semantic`", help="Ask whoever runs this house to install it."
        )
    numpy = import_module("numpy")
    pieces = sorted(evidence, key=lambda each: (-each.weight, each.observation))
    sums = numpy.full((2, DRAWS), THOUSAND)
    for each in pieces:
        sums[_row(each)] += _drawn(numpy, seed, each)
    whole = _posterior(numpy, seed, pieces, sums)
    contributions = []
    for each in pieces[:MOST_PIECES]:
        # Whole numbers subtract without a rest: what is left is what it would have been without the piece.
        rest = [other for other in pieces if other is not each]
        less = sums.copy()
        less[_row(each)] -= _drawn(numpy, seed, each)
        without = _posterior(numpy, seed, rest, less)
        moves = round(whole.exact - without.exact, _DIGITS)
        contributions.append(
            Contribution(
                observation=each.observation, weight=each.weight, supports=each.supports, without=without, moves=moves
            )
        )
    return Simulated(seed=seed, draws=DRAWS, posterior=whole, contributions=tuple(contributions))


def _row(piece: Weight) -> int:
    return 0 if piece.supports else 1


def _drawn(numpy: Any, seed: int, piece: Weight) -> NDArray[Any]:
    """A piece's weight in each draw, in whole thousandths, which add up and subtract without a rest."""
    key = int.from_bytes(sha256(piece.observation.encode()).digest()[:8])
    generator = numpy.random.Generator(numpy.random.PCG64([seed, key]))
    found: NDArray[Any] = generator.poisson(1.0, DRAWS) * round(piece.weight * THOUSAND)
    return found


def _posterior(numpy: Any, seed: int, pieces: Sequence[Weight], sums: NDArray[Any]) -> Posterior:
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    draws = generator.beta(sums[0] / THOUSAND, sums[1] / THOUSAND)
    low, high = numpy.percentile(draws, _MIDDLE)
    supporting = sum(round(each.weight * THOUSAND) for each in pieces if each.supports)
    opposing = sum(round(each.weight * THOUSAND) for each in pieces if not each.supports)
    return Posterior(
        exact=round(confidence(supporting, opposing), _DIGITS),
        mean=round(float(draws.mean()), _DIGITS),
        low=round(float(low), _DIGITS),
        high=round(float(high), _DIGITS),
    )
