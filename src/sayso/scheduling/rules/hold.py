"""The hold machine: time kept for one guest until a stated instant.

Theory. A hold is the only way a guest's agent takes time (SCH-008). It is born `held` by an allocation and leaves that
state exactly once: it is confirmed (a booking stands on it), released (the agent gave it back) or expired (nobody
did anything in time). The three ends are final; there is no way back and no way between them.

Who wins at the very instant `expires_at`: the expiry. A hold is good before `expires_at` and not at it, and that is
judged by the `now` of the transaction that acts (SCH-123), whether or not anything has marked the hold yet. So two
commands can meet a hold that is over but still marked `held`: `Confirm` and `Release` are refused
`hold_expired`, `Lapse` marks it.

Tables cannot say three things, so conditions do: that a hold is still good, that it is really over, and (in `host`)
whose it is. What the end of a hold does to the time it kept stands in `COUPLED`.

SCH-123, SCH-131, SCH-151, SCH-154, SCH-199. Reputation (late release, lapse counts) reads these same transitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Final

from sayso.core.refusal import Misuse
from sayso.scheduling.terms.codes import refused

__all__ = (
    "COUPLED",
    "TABLE",
    "Command",
    "Confirm",
    "Hold",
    "HoldState",
    "Lapse",
    "Release",
    "TimeKept",
    "is_good",
    "step",
)


class HoldState(Enum):
    """Where a hold stands; the values are the wire's words."""

    HELD = "held"
    """The time is kept for this guest until `expires_at`."""
    CONFIRMED = "confirmed"
    """A booking took the time over."""
    RELEASED = "released"
    """The agent gave the time back early."""
    EXPIRED = "expired"
    """`expires_at` came first."""


@dataclass(frozen=True, slots=True)
class Confirm:
    """The guest accepts the hold's offer."""


@dataclass(frozen=True, slots=True)
class Release:
    """The agent gives the time back."""


@dataclass(frozen=True, slots=True)
class Lapse:
    """The clock has reached `expires_at`."""


Command = Confirm | Release | Lapse

TABLE: Final[Mapping[HoldState, Mapping[type[Command], HoldState]]] = {
    HoldState.HELD: {
        Confirm: HoldState.CONFIRMED,
        Release: HoldState.RELEASED,
        Lapse: HoldState.EXPIRED,
    },
    HoldState.CONFIRMED: {},
    HoldState.RELEASED: {},
    HoldState.EXPIRED: {},
}


class TimeKept(Enum):
    """What becomes of the allocations of a hold or change offer."""

    UNTIL_EXPIRY = "until_expiry"
    PASSED_ON = "passed_on"
    FREED = "freed"


COUPLED: Final[Mapping[HoldState, TimeKept]] = {
    HoldState.HELD: TimeKept.UNTIL_EXPIRY,
    HoldState.CONFIRMED: TimeKept.PASSED_ON,
    HoldState.RELEASED: TimeKept.FREED,
    HoldState.EXPIRED: TimeKept.FREED,
}


@dataclass(frozen=True, slots=True)
class Hold:
    """What the machine knows of a hold; the rest of it never changes after it is placed."""

    state: HoldState
    version: int
    expires_at: datetime


def is_good(hold: Hold, now: datetime) -> bool:
    """Still held, and its time not over."""
    return hold.state is HoldState.HELD and now < hold.expires_at


def step(hold: Hold, command: Command, now: datetime) -> Hold:
    """The hold after a command, one version later.

    Refused with the reason the hold is no longer good for it (`hold_expired`, `hold_released`, `hold_confirmed`);
    nothing has changed then. Lapsing a hold whose time is not over is a bug of the caller.
    """
    target = TABLE[hold.state].get(type(command))
    if target is None:
        raise refused(f"hold_{hold.state.value}")
    over = now >= hold.expires_at
    if isinstance(command, Lapse):
        if not over:
            raise Misuse("a hold lapses at its expiry, not before")
    elif over:
        raise refused("hold_expired")
    return replace(hold, state=target, version=hold.version + 1)
