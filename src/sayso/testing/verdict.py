"""What the run of a break's tests says, from its exit status and whether it ended at all."""

from __future__ import annotations

from enum import Enum

__all__ = ("GENEROUS", "Verdict", "is_proof", "judged")

_PYTEST_FAILED = 1
GENEROUS = 120.0
"""Seconds from which on a test that has not ended is believed to hang."""


class Verdict(Enum):
    """What became of a break; the values are what is printed."""

    CAUGHT = "caught"
    HUNG = "HUNG  "
    MISSED = "MISSED"


def judged(status: int | None) -> Verdict:
    """What the named tests' run under a break says: its exit status, or None when it did not end within the bound.

    A run that could not even collect proves nothing.
    """
    if status is None:
        return Verdict.HUNG
    return Verdict.CAUGHT if status == _PYTEST_FAILED else Verdict.MISSED


def is_proof(verdict: Verdict, bound: float, *, generous: float = GENEROUS) -> bool:
    """Whether the break is caught: a test failed, or hung for longer than any of them takes."""
    return verdict is Verdict.CAUGHT or (verdict is Verdict.HUNG and bound >= generous)
