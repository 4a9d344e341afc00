"""What the planner can do next: call one tool, or say something. What it says may be a question; then the topic and the
choices tell how the answer is to be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ("Call", "Choice", "Outcome", "Say", "Step", "Topic", "asks", "done", "refused")


class Outcome(StrEnum):
    """How a turn ends, as far as the person's wish goes; travels as metadata of the message."""

    DONE = "done"
    ASKS = "asks"
    REFUSED = "refused"


class Topic(StrEnum):
    """What an answer to something said is expected to be about."""

    SERVICE = "service"
    HOST = "host"
    PERSON = "person"
    BOOKING = "booking"
    DAY = "day"
    TIME = "time"
    HALF = "half"
    SLOT = "slot"
    PRICE = "price"
    CANCEL_OR_MOVE = "cancel_or_move"
    NEW_OR_MOVE = "new_or_move"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the things asked about: the key it settles, and the words that people would pick it by."""

    key: str
    label: str


@dataclass(frozen=True, slots=True)
class Call:
    """Call a tool; `said` is told to the person first."""

    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    said: str = ""


@dataclass(frozen=True, slots=True)
class Say:
    """End the turn with these words."""

    text: str
    outcome: Outcome
    topic: Topic | None = None
    choices: tuple[Choice, ...] = ()


Step = Call | Say


def done(text: str) -> Say:
    """The wish is fulfilled or the question answered."""
    return Say(text, Outcome.DONE)


def refused(text: str, topic: Topic | None = None) -> Say:
    """It cannot be, or somebody said no; with a topic, a better wish on that topic carries on from here."""
    return Say(text, Outcome.REFUSED, topic)


def asks(text: str, topic: Topic, choices: tuple[Choice, ...] = ()) -> Say:
    """One plain question."""
    return Say(text, Outcome.ASKS, topic, choices)
