"""What the legality machine remembers of a conversation: the states of runs, calls, gates, steers, compactions and
logins, and the records that hold them, all values. Nothing here changes a state; `protocol.machine` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

import msgspec

from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.persistent import PersistentMap, RecentMap
from sayso.core.refusal import Refusal, Refused

__all__ = (
    "CALL_OPEN",
    "ENDED",
    "GATE_OPEN",
    "HANDED_OPEN",
    "Asked",
    "CallState",
    "Compaction",
    "CompactionState",
    "Conversation",
    "Diagnostic",
    "Gate",
    "GateKind",
    "GateState",
    "Handed",
    "HandedState",
    "Illegal",
    "Login",
    "LoginState",
    "ResolveFault",
    "Run",
    "RunState",
    "SteerState",
    "Work",
    "own_conversation",
)

GateKind = Literal["permission", "user_input"]
Work = Literal["messages", "compaction", "compaction and a turn", "unknown"]
ResolveFault = Literal[
    "unknown_run",
    "unknown_interaction",
    "wrong_responder",
    "already_resolved",
    "repeated_acknowledgement",
    "late_acknowledgement",
]


class RunState(Enum):
    """Where a run stands."""

    RESERVED = "reserved"
    """Admitted; nothing emitted."""
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class CallState(Enum):
    """Where a tool call stands."""

    ABSENT = "absent"
    REQUESTED = "requested"
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class GateState(Enum):
    """Where an interaction stands."""

    ABSENT = "absent"
    OPEN = "open"
    ANSWERED = "answered"
    """A resolve was accepted; the resolved event has not come."""
    CLOSED = "closed"


class HandedState(Enum):
    """Where a call stands that was handed to the control layer to run."""

    ABSENT = "absent"
    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    """The control layer said that it began."""
    ANSWERED = "answered"
    """Its result or error was accepted; the call's terminal has not come."""
    SETTLED = "settled"


class SteerState(Enum):
    """Where guidance into a running run stands."""

    ABSENT = "absent"
    PENDING = "pending"
    APPLIED = "applied"
    DROPPED = "dropped"


class CompactionState(Enum):
    """Where one replacement of history stands."""

    ABSENT = "absent"
    OPEN = "open"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class LoginState(Enum):
    """Where one login flow stands."""

    ABSENT = "absent"
    STARTED = "started"
    ENDED = "ended"


ENDED = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)
CALL_OPEN = (CallState.REQUESTED, CallState.STARTED)
GATE_OPEN = (GateState.OPEN, GateState.ANSWERED)
HANDED_OPEN = (HandedState.OPEN, HandedState.ACKNOWLEDGED, HandedState.ANSWERED)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault: its code from the specification's set, the envelope it was found at, and why."""

    code: str
    envelope_id: str
    message: str


class Illegal(Refused):
    """The verdict on an envelope that may not come now; `diagnostics` lists every fault of it."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        first = diagnostics[0]
        details = {"codes": [fault.code for fault in diagnostics]}
        super().__init__(Refusal(code=first.code, message=first.message, place=first.envelope_id, details=details))
        self.diagnostics = diagnostics


class Gate(msgspec.Struct, frozen=True):
    """One interaction: who asked, who alone may answer, and what an accepted resolve said."""

    kind: GateKind
    requested_by: str
    responded_by: str
    tool_call_id: str | None
    state: GateState = GateState.OPEN
    granted: bool | None = None
    answers: object = None
    """What an accepted user input said; None where none was accepted, or where it was withdrawn."""
    answered_by: str | None = None
    """The id of the resolve request that was accepted."""


class Handed(msgspec.Struct, frozen=True):
    """One call the control layer runs: who may resolve it, and what the accepted resolution said."""

    interaction_id: str
    requested_by: str
    responded_by: str
    state: HandedState = HandedState.OPEN
    acknowledged_by: str | None = None
    answered_by: str | None = None
    arm: Literal["result", "error"] | None = None
    said: object = None
    settled_as: str | None = None
    """The id of the envelope that ended the call."""


class Compaction(msgspec.Struct, frozen=True):
    """One replacement of history inside a run."""

    reason: str
    state: CompactionState = CompactionState.OPEN
    ending: Wire | None = None
    """The payload that ended it."""


class Login(msgspec.Struct, frozen=True):
    """One login flow; its numbers are a domain of their own."""

    provider_id: str
    state: LoginState = LoginState.STARTED


class Run(msgspec.Struct, frozen=True):
    """One run with what is coupled to it; `last` is the number of its latest event."""

    session_id: str
    state: RunState = RunState.RESERVED
    last: int = 0
    is_admitted: bool = False
    is_cancel_accepted: bool = False
    is_met: bool = False
    """Met under way, by a recovery or in a view that joined late: what it did before is not known."""
    is_afloat: bool = False
    """Met under way at a number nobody stated; its next event says where it is."""
    work: Work = "messages"
    place: int = 0
    """Its place in the order of its session's admissions."""
    calls: PersistentMap[str, CallState] = msgspec.field(default_factory=PersistentMap)
    gates: PersistentMap[str, Gate] = msgspec.field(default_factory=PersistentMap)
    handed: PersistentMap[str, Handed] = msgspec.field(default_factory=PersistentMap)
    """By tool call."""
    interactions: PersistentMap[str, str] = msgspec.field(default_factory=PersistentMap)
    """Which tool call a handed call's interaction belongs to."""
    steers: PersistentMap[str, SteerState] = msgspec.field(default_factory=PersistentMap)
    """By the id of the submit request."""
    compactions: PersistentMap[str, Compaction] = msgspec.field(default_factory=PersistentMap)
    compacting: str | None = None
    """The compaction that is under way."""

    @property
    def open_calls(self) -> tuple[str, ...]:
        """Tool calls that have not ended, oldest first."""
        return tuple(name for name, state in self.calls.items() if state in CALL_OPEN)

    @property
    def open_gates(self) -> tuple[str, ...]:
        """Interactions that have not been closed, oldest first; a handed call is closed by the call's own end."""
        return tuple(name for name, gate in self.gates.items() if gate.state in GATE_OPEN)

    @property
    def open_steers(self) -> tuple[str, ...]:
        """Guidance neither applied nor dropped, oldest first."""
        return tuple(name for name, state in self.steers.items() if state is SteerState.PENDING)

    @property
    def open_compactions(self) -> tuple[str, ...]:
        """The compaction that is under way, if any."""
        return () if self.compacting is None else (self.compacting,)


class Asked(msgspec.Struct, frozen=True):
    """An open request, and what stood when it was asked."""

    envelope: Envelope[Wire]
    is_too_late: bool = False
    """The run it would cancel had completed or failed."""
    was_busy: bool = False
    """Its session had a run that had not ended."""
    fault: ResolveFault | None = None
    """Why it could not be accepted, for a resolve."""


class Queue(msgspec.Struct, frozen=True):
    """The order of a session's admissions: places from `first` on may still be live, `next` is the next one given."""

    first: int = 0
    next: int = 0


class Conversation(msgspec.Struct, frozen=True):
    """All that was seen, as a value."""

    is_partial: bool = False
    is_ordered: bool = False
    """Put in order by the party whose it is: a run's events come behind the answer that admits it."""
    ids: PersistentMap[str, bool] | RecentMap[str, bool] = msgspec.field(default_factory=PersistentMap)
    requests: PersistentMap[str, Asked] = msgspec.field(default_factory=PersistentMap)
    answered: PersistentMap[str, bool] | RecentMap[str, bool] = msgspec.field(default_factory=PersistentMap)
    runs: PersistentMap[str, Run] = msgspec.field(default_factory=PersistentMap)
    ended: PersistentMap[str, Run] | RecentMap[str, Run] = msgspec.field(default_factory=PersistentMap)
    domains: PersistentMap[str, int] = msgspec.field(default_factory=PersistentMap)
    queues: PersistentMap[str, Queue] = msgspec.field(default_factory=PersistentMap)
    early: PersistentMap[str, frozenset[str]] = msgspec.field(default_factory=PersistentMap)
    """Runs that spoke and were not admitted, with the requests that may have admitted them."""
    line: PersistentMap[tuple[str, int], str] = msgspec.field(default_factory=PersistentMap)
    """Which run was admitted to a session at a place."""
    logins: PersistentMap[str, Login] = msgspec.field(default_factory=PersistentMap)
    resolving: PersistentMap[str, int] = msgspec.field(default_factory=PersistentMap)
    """How many unanswered resolves a call's interaction has, by run and interaction."""


MOST_IDS = 4096
"""How many envelopes, and how many answers, a party remembers of its own conversation at the least."""
MOST_ENDED = 1024
"""How many ended runs it remembers at the least."""


def own_conversation() -> Conversation:
    """An empty conversation for the party that carries it: it keeps its own order, and remembers its latest part.

    However long it gets, it takes no more room than what is open and this many ids, answers and ended runs.
    """
    return Conversation(
        is_ordered=True, ids=RecentMap(MOST_IDS), answered=RecentMap(MOST_IDS), ended=RecentMap(MOST_ENDED)
    )
