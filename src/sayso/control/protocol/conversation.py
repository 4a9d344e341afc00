"""What the legality machine remembers of a conversation: the states of runs, calls and gates, and the records that hold
them, all values. Nothing here changes a state; `protocol.machine` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, Literal, TypeVar

from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.refusal import Refusal, Refused

__all__ = (
    "CALL_OPEN",
    "ENDED",
    "GATE_OPEN",
    "Asked",
    "CallState",
    "Conversation",
    "Diagnostic",
    "Gate",
    "GateKind",
    "GateState",
    "Illegal",
    "Log",
    "Run",
    "RunState",
)

V = TypeVar("V")
GateKind = Literal["permission", "user_input"]


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


ENDED = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)
CALL_OPEN = (CallState.REQUESTED, CallState.STARTED)
GATE_OPEN = (GateState.OPEN, GateState.ANSWERED)


class Log(Generic[V]):
    """A mapping that only grows, as a value: adding gives a new one in constant time.

    Successors share one dict and each knows how much of it is its own; the first branch off an old value copies.
    """

    __slots__ = ("_count", "_entries")

    def __init__(self, entries: dict[str, tuple[int, V]] | None = None, count: int = 0) -> None:
        self._entries = {} if entries is None else entries
        self._count = count

    def get(self, key: str) -> V | None:
        """The value of this key, if it was added before this value of the log."""
        index, value = self._entries.get(key, (self._count, None))
        return value if index < self._count else None

    def add(self, key: str, value: V) -> Log[V]:
        """The log with one entry more."""
        entries = self._entries
        if len(entries) != self._count:
            entries = {name: entry for name, entry in entries.items() if entry[0] < self._count}
        entries[key] = (self._count, value)
        return Log(entries, self._count + 1)


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


@dataclass(frozen=True, slots=True)
class Gate:
    """One interaction: who asked, who alone may answer, and what an accepted resolve said."""

    kind: GateKind
    requested_by: str
    responded_by: str
    tool_call_id: str | None
    state: GateState = GateState.OPEN
    granted: bool | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One run with what is coupled to it; `last` is the number of its latest event."""

    session_id: str
    state: RunState = RunState.RESERVED
    last: int = 0
    is_admitted: bool = False
    is_cancel_accepted: bool = False
    calls: Mapping[str, CallState] = field(default_factory=dict)
    gates: Mapping[str, Gate] = field(default_factory=dict)

    @property
    def open_calls(self) -> tuple[str, ...]:
        """Tool calls that have not ended, oldest first."""
        return tuple(name for name, state in self.calls.items() if state in CALL_OPEN)

    @property
    def open_gates(self) -> tuple[str, ...]:
        """Interactions that have not been closed, oldest first."""
        return tuple(name for name, gate in self.gates.items() if gate.state in GATE_OPEN)


@dataclass(frozen=True, slots=True)
class Asked:
    """An open request, and whether the run it names had already completed or failed when it was asked."""

    envelope: Envelope[Wire]
    is_too_late: bool


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that was seen, as a value."""

    is_partial: bool = False
    ids: Log[bool] = field(default_factory=Log)
    requests: Mapping[str, Asked] = field(default_factory=dict)
    answered: Log[bool] = field(default_factory=Log)
    runs: Mapping[str, Run] = field(default_factory=dict)
    ended: Log[Run] = field(default_factory=Log)
    domains: Mapping[str, int] = field(default_factory=dict)
