"""What a session's line of runs is made of: where a run stands in it, what can happen, what to do; all values. Nothing
here decides; `line.machine` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = (
    "Admitted",
    "Begun",
    "CloseLine",
    "Ended",
    "LineCommand",
    "LineDecision",
    "LineEffect",
    "Place",
    "Promote",
    "Read",
    "RunLine",
    "Standing",
    "WithdrawRun",
    "Withdrawn",
)


class Standing(Enum):
    """Where a run stands in its session's line."""

    RESERVED = "reserved"
    """Admitted; nothing of it was told."""
    STARTING = "starting"
    """It started, and its first event was not read yet."""
    RUNNING = "running"
    """Its first event was read."""
    ENDED = "ended"
    """Its terminal was told, and was not read yet."""


# --- commands: what happened to one run ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Begun:
    """The first event of this run was read."""

    run_id: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The terminal of this run was told."""

    run_id: str


@dataclass(frozen=True, slots=True)
class Read:
    """The terminal of this run was read."""

    run_id: str


@dataclass(frozen=True, slots=True)
class WithdrawRun:
    """Somebody cancels this run, while it is only reserved."""

    run_id: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CloseLine:
    """The session ends; asked of each of its runs."""

    run_id: str


LineCommand = Begun | Ended | Read | WithdrawRun | CloseLine

# --- effects ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Admitted:
    """A run took a place: it starts now, or it is reserved."""

    run_id: str
    starts: bool
    was_busy: bool


@dataclass(frozen=True, slots=True)
class Promote:
    """It is this run's turn: start it."""

    run_id: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A reservation ends before it started: tell its one event, `run.cancelled`, or `run.failed` where the session
    ends.
    """

    run_id: str
    is_cancelled: bool
    reason: str | None = None


LineEffect = Promote | Withdrawn

# --- state -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """One run of the line. `was_reserved` tells whether it was admitted as a reservation, `has_started` whether it was
    told to start, `has_begun` whether its first event was read.
    """

    run_id: str
    standing: Standing
    was_reserved: bool
    has_started: bool = False
    has_begun: bool = False


@dataclass(frozen=True, slots=True)
class RunLine:
    """The runs whose terminal was not read yet, in the order of their admission; at most `bound` of them reserved."""

    bound: int
    places: tuple[Place, ...] = ()
    is_closed: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether a message would have to wait."""
        return bool(self.places)

    @property
    def reserved(self) -> int:
        """How many wait for their turn."""
        return sum(place.standing is Standing.RESERVED for place in self.places)

    @property
    def seen_reserved(self) -> int:
        """How many wait for all that a reader of the events can know."""
        return sum(place.was_reserved and not place.has_begun for place in self.places)

    @property
    def at_work(self) -> Place | None:
        """The run that started and did not end for everybody."""
        return next((place for place in self.places if place.has_started), None)

    def place_of(self, run_id: str) -> Place | None:
        """Where this run stands; None when it left the line, or never was in it."""
        return next((place for place in self.places if place.run_id == run_id), None)


@dataclass(frozen=True, slots=True)
class LineDecision:
    """The line afterwards, and what to do, in order."""

    line: RunLine
    effects: tuple[LineEffect, ...] = ()
