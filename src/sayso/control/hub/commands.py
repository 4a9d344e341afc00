"""What may happen to a session of the hub: the commands of its machine, which decides in `hub.machine`."""

from __future__ import annotations

from dataclasses import dataclass

from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire

__all__ = (
    "MAILBOX",
    "Answer",
    "Ask",
    "Claim",
    "Close",
    "Cursor",
    "Drop",
    "Follow",
    "HangUp",
    "Publish",
    "Release",
    "Subscribe",
    "Take",
    "TellEvent",
    "TellSession",
    "Withhold",
)

MAILBOX = 64
"""How many entries a reader may be behind, and takes at once."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A position: after which sequence, of which run; without a run the current one is meant."""

    after: int
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """A request came in."""

    request: Envelope[Wire]


@dataclass(frozen=True, slots=True)
class Answer:
    """A request was answered."""

    response: Envelope[Wire]


@dataclass(frozen=True, slots=True)
class TellEvent:
    """The adapter told an event; `data` are its bytes."""

    envelope: Envelope[Wire]
    data: bytes


@dataclass(frozen=True, slots=True)
class TellSession:
    """The adapter told an event of the session itself; it belongs to no run."""

    envelope: Envelope[Wire]


@dataclass(frozen=True, slots=True)
class Withhold:
    """A steer is about to go to the adapter: what is told from now on waits for its answer."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Publish:
    """The answer to that steer is out, or may wait no longer."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Claim:
    """An answer to an interaction is about to go to the adapter."""

    request: Envelope[Wire]


@dataclass(frozen=True, slots=True)
class Release:
    """The adapter has dealt with that answer."""

    request: Envelope[Wire]


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A reader comes."""

    name: str
    cursor: Cursor | None = None


@dataclass(frozen=True, slots=True)
class Follow:
    """The reader of a transport that has one comes, to all that is kept, or is set back to a cursor."""

    name: str
    cursor: Cursor | None = None


@dataclass(frozen=True, slots=True)
class Take:
    """A reader is ready for at most `limit` entries."""

    name: str
    limit: int = MAILBOX


@dataclass(frozen=True, slots=True)
class Drop:
    """A reader has gone."""

    name: str


@dataclass(frozen=True, slots=True)
class HangUp:
    """All readers are to end, with what is in flight; the session goes on."""


@dataclass(frozen=True, slots=True)
class Close:
    """The session ends, and with it all readers."""
