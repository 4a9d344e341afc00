"""How long a hold may last and how many may live at once (SCH-133, SCH-135..138, SCH-153).

Counts are read in the transaction that places the hold, so a limit cannot be passed by asking twice at once. The
mandate's own number of bookings is judged with the mandate (`terms.mandate_checks.check_limit`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from sayso.scheduling.terms.codes import refused

__all__ = ("Ceilings", "Counts", "Pool", "check_counts", "granted_ttl")


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The host's own limits on holds."""

    ttl_min: timedelta
    ttl_max: timedelta
    per_agent: int
    unproven: int
    per_attester: int = 4


@dataclass(frozen=True, slots=True)
class Counts:
    """Live holds now: the agent's own; those of everybody who has not kept an appointment here and is in no lane; and
    those in the lane of the attester who vouches for this principal, None where none does.
    """

    of_agent: int
    of_newcomers: int
    is_proven: bool
    in_lane: int | None = None


class Pool(Enum):
    """Where a hold is counted besides with its agent."""

    OPEN = "open"
    """Nowhere: the principal has standing."""
    LANE = "lane"
    """With the newcomers its attester vouches for."""
    NEWCOMERS = "newcomers"
    """With all other newcomers."""


def granted_ttl(asked: timedelta, ceilings: Ceilings, allowed: timedelta | None = None) -> timedelta:
    """The least of what was asked, what the host allows and what reputation allows (`rules.reputation`).

    Refused: ttl_too_short, for asking below the host's floor; what reputation allows may lie below it.
    """
    if asked < ceilings.ttl_min:
        raise refused("ttl_too_short")
    return min(asked, ceilings.ttl_max, allowed or ceilings.ttl_max)


def check_counts(counts: Counts, ceilings: Ceilings) -> Pool:
    """The pool in which one more hold finds room. Refused: too_many_holds, newcomers_full.

    No pool ever touches a principal with a kept appointment (SCH-137). A vouched newcomer stands in the attester's lane
    and, where that is full, among the others: an attestation never makes anybody worse off (SCH-285).
    """
    if counts.of_agent >= ceilings.per_agent:
        raise refused("too_many_holds")
    if counts.is_proven:
        return Pool.OPEN
    if counts.in_lane is not None and counts.in_lane < ceilings.per_attester:
        return Pool.LANE
    if counts.of_newcomers >= ceilings.unproven:
        raise refused("newcomers_full")
    return Pool.NEWCOMERS
