"""The one shape of a decision: what is stored, what is recorded, what others hear, what the caller hears.

A decision is made by a pure function of (state, command, now) and carried out by a driver in one unit of work: state,
records and deliveries are written together, the reply leaves after COMMIT. A refusal is raised instead, before
anything is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from sayso.ledger.rules.record import Draft

__all__ = ("Decision", "Delivery")

S = TypeVar("S")
R = TypeVar("R", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Delivery:
    """Something another party is told after COMMIT; `key` tells repeats apart."""

    url: str
    key: str
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Generic[S, R]):
    """`records` go to the host's own log, `reply` is the body of the answer."""

    state: S
    records: tuple[Draft, ...]
    reply: R
    deliveries: tuple[Delivery, ...] = ()
