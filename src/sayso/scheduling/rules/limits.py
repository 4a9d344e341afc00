"""How long a hold may last and how many may live at once (SCH-133, SCH-135..138, SCH-153).

Counts are read in the transaction that places the hold, so a limit cannot be passed by asking twice at once. The
mandate's own number of bookings is judged with the mandate (`terms.mandate_checks.check_limit`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sayso.scheduling.terms.codes import refused

__all__ = ("Ceilings", "Counts", "check_counts", "granted_ttl")


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The host's own limits on holds."""

    ttl_min: timedelta
    ttl_max: timedelta
    per_agent: int
    unproven: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Live holds now: the agent's own, and those of everybody who has not kept an appointment here."""

    of_agent: int
    of_newcomers: int
    is_proven: bool


def granted_ttl(asked: timedelta, ceilings: Ceilings) -> timedelta:
    """The least of what was asked and what the host allows; refused `ttl_too_short` below the host's floor."""
    if asked < ceilings.ttl_min:
        raise refused("ttl_too_short")
    return min(asked, ceilings.ttl_max)


def check_counts(counts: Counts, ceilings: Ceilings) -> None:
    """Refused `too_many_holds` or `newcomers_full` when one more hold would be one too many.

    The pool of newcomers never touches a principal with a kept appointment (SCH-137).
    """
    if counts.of_agent >= ceilings.per_agent:
        raise refused("too_many_holds")
    if not counts.is_proven and counts.of_newcomers >= ceilings.unproven:
        raise refused("newcomers_full")
