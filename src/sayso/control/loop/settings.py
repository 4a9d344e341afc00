"""What a session of our own loop is opened with, and what each of its runs is admitted for; values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sayso.control.adapters.contract import Descriptor
from sayso.control.loop.controls import NO_CONTROLS, Controls
from sayso.control.loop.models import Catalog
from sayso.control.loop.replay import CAPACITY
from sayso.control.loop.run import Work
from sayso.control.loop.sources import Toolbox
from sayso.control.loop.telling import PERSON
from sayso.control.loop.terms import SessionTerms
from sayso.control.protocol.payloads.content import Message

__all__ = ("Kept", "LoopSettings", "Ticket")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """What a session was opened with. `capacity` is how many events it keeps for `resume`; `release` is called once it
    is closed.
    """

    descriptor: Descriptor
    toolbox: Toolbox
    catalog: Catalog
    terms: SessionTerms
    system: Callable[[], str] | None
    max_turns: int
    participant: str = PERSON
    capacity: int = CAPACITY
    release: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """What a session begins with: its model, and where it was reopened the conversation it goes on with and the ids of
    all calls of it.
    """

    model_ref: str
    messages: tuple[Message, ...] = ()
    used: frozenset[str] = frozenset()
    is_recovered: bool = False


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a run was admitted for, until it starts."""

    work: Work
    said: tuple[Message, ...] = ()
    controls: Controls = NO_CONTROLS
    focus: str | None = None
