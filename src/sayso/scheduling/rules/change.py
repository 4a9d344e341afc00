"""The change-offer machine: another time, kept beside a booking until the guest's person says yes to it.

Theory. Moving a booking is two steps, because a hash can only name what exists: the host first keeps the other time and
signs an offer that names the contract it would replace, then the guest accepts those bytes (SCH-221). The offer is born
`offered` and leaves that state once: it is made (the booking has moved), dropped (the agent abandoned it, asked for
another in its place, or the booking ended) or lapsed (its time was over). None of the three touches the booking except
`made`, and that one moves it in the same transaction (SCH-223).

As with a hold, an offer is good before `expires_at` and not at it, judged by the transaction's own clock. `expires_at`
is never later than the booking's start, so an offer cannot outlive the appointment it would move.

At most one change offer is open per booking: a second request drops the first (SCH-231).

At a host that approves, acceptance does not make the change: the offer is `awaiting_host`, kept until the deadline it
states, and the host's yes makes it, its no declines it, its silence lets it lapse (SCH-224..226).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Final

from sayso.core.refusal import Misuse
from sayso.scheduling.rules.hold import TimeKept
from sayso.scheduling.terms.codes import refused

__all__ = (
    "COUPLED",
    "TABLE",
    "Accept",
    "Approve",
    "AskHost",
    "ChangeOffer",
    "ChangeState",
    "Command",
    "Decline",
    "Drop",
    "Lapse",
    "step",
)


class ChangeState(Enum):
    """Where a change offer stands; the values are the wire's words."""

    OFFERED = "offered"
    """The other time is kept until `expires_at`."""
    AWAITING = "awaiting_host"
    """The guest accepted; the host has until `expires_at` to answer."""
    MADE = "made"
    """The booking stands on this offer now."""
    DROPPED = "dropped"
    """Given up before anybody accepted it."""
    LAPSED = "lapsed"
    """`expires_at` came first."""
    DECLINED = "declined"
    """The host said no to it."""


@dataclass(frozen=True, slots=True)
class Accept:
    """The guest accepts the offer by its hash, and that makes the change."""


@dataclass(frozen=True, slots=True)
class AskHost:
    """The guest accepts the offer by its hash, and the host is asked."""


@dataclass(frozen=True, slots=True)
class Approve:
    """The host says yes."""


@dataclass(frozen=True, slots=True)
class Decline:
    """The host says no."""


@dataclass(frozen=True, slots=True)
class Drop:
    """The agent abandons it, another takes its place, or the booking is over."""


@dataclass(frozen=True, slots=True)
class Lapse:
    """The clock has reached `expires_at`."""


Command = Accept | AskHost | Approve | Decline | Drop | Lapse

TABLE: Final[Mapping[ChangeState, Mapping[type[Command], ChangeState]]] = {
    ChangeState.OFFERED: {
        Accept: ChangeState.MADE,
        AskHost: ChangeState.AWAITING,
        Drop: ChangeState.DROPPED,
        Lapse: ChangeState.LAPSED,
    },
    ChangeState.AWAITING: {
        Approve: ChangeState.MADE,
        Decline: ChangeState.DECLINED,
        Drop: ChangeState.DROPPED,
        Lapse: ChangeState.LAPSED,
    },
    ChangeState.MADE: {},
    ChangeState.DROPPED: {},
    ChangeState.LAPSED: {},
    ChangeState.DECLINED: {},
}

COUPLED: Final[Mapping[ChangeState, TimeKept]] = {
    ChangeState.OFFERED: TimeKept.UNTIL_EXPIRY,
    ChangeState.AWAITING: TimeKept.UNTIL_EXPIRY,
    ChangeState.MADE: TimeKept.PASSED_ON,
    ChangeState.DROPPED: TimeKept.FREED,
    ChangeState.LAPSED: TimeKept.FREED,
    ChangeState.DECLINED: TimeKept.FREED,
}


@dataclass(frozen=True, slots=True)
class ChangeOffer:
    """What the machine knows of a change offer; the rest of it never changes after it is signed."""

    state: ChangeState
    version: int
    expires_at: datetime


def step(offer: ChangeOffer, command: Command, now: datetime) -> ChangeOffer:
    """The offer after a command, one version later.

    Refused `offer_expired` or `offer_dropped` when it is no longer good, `not_changeable` when it was already made,
    `move_awaits_host` when the host has it already, `nothing_to_answer` when the guest has not accepted it;
    then nothing has changed. Lapsing an offer whose time is not over is a bug of the caller.
    """
    target = TABLE[offer.state].get(type(command))
    if target is None:
        raise refused(_OUTSIDE[offer.state])
    over = now >= offer.expires_at
    if isinstance(command, Lapse):
        if not over:
            raise Misuse("a change offer lapses at its expiry, not before")
    elif over:
        raise refused("offer_expired")
    return replace(offer, state=target, version=offer.version + 1)


_OUTSIDE: Final = {
    ChangeState.OFFERED: "nothing_to_answer",
    ChangeState.AWAITING: "move_awaits_host",
    ChangeState.MADE: "not_changeable",
    ChangeState.DROPPED: "offer_dropped",
    ChangeState.LAPSED: "offer_expired",
    ChangeState.DECLINED: "offer_dropped",
}
