"""What the memory machine remembers: a session with its runs, all values. Nothing here changes a state.

Ids are made from the session's own id and a count, so the same commands always give the same session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from sayso.control.adapters.reference.controls import Controls
from sayso.control.adapters.reference.offering import DEFAULT_MODEL, MODELS, PROVIDERS
from sayso.control.adapters.reference.script import Beat
from sayso.control.protocol.closing import Telling
from sayso.control.protocol.payloads.capabilities import ToolDefinition, ToolSourceDescriptor
from sayso.control.protocol.payloads.content import Message, text_of
from sayso.control.protocol.payloads.inference import ReasoningLevel
from sayso.control.protocol.payloads.models import ModelDescriptor, SessionProvider
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import CompactionPolicy

__all__ = ("Call", "Decision", "Gate", "MemoryRun", "MemorySession", "Phase", "Steer", "tokens_of")

_AUTO = CompactionPolicy(kind="auto")


class Phase(Enum):
    """Where a run stands between two commands."""

    RESERVED = "reserved"
    """Admitted; nothing told."""
    PERMITTING = "permitting"
    """A permission is open."""
    ASKING = "asking"
    """Questions to the person are open."""
    CALLING = "calling"
    """The client runs one of its tools."""
    COMPACTING = "compacting"
    """A compaction is held open."""
    HOLDING = "holding"
    """The script waits for a steer or a cancel."""
    ENDED = "ended"
    """The terminal was told."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The open interaction of a run."""

    interaction_id: str
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """The open tool call of a run; `acknowledged` and `settlement` are envelope ids of the client's requests."""

    tool_call_id: str
    tool: ToolDefinition
    arguments: object
    acknowledged: str | None = None


@dataclass(frozen=True, slots=True)
class Steer:
    """An admitted steer that has not settled."""

    submission_id: str
    request_id: str
    message_ids: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRun:
    """One run. `told` is the number of its last event, `heard` what steers added to its reply. It `is_waiting` from its
    admission as a reservation until its first event was read: only then is its place free for everybody.
    """

    run_id: str
    request_id: str
    responder: str
    messages: tuple[Message, ...]
    beats: tuple[Beat, ...]
    controls: Controls
    focus: str | None = None
    is_stubborn: bool = False
    is_steerable: bool = True
    phase: Phase = Phase.RESERVED
    model_id: str = DEFAULT_MODEL
    told: int = 0
    called: int = 0
    has_started: bool = False
    is_waiting: bool = False
    gate: Gate | None = None
    call: Call | None = None
    compaction_id: str | None = None
    summary: Message | None = None
    steers: tuple[Steer, ...] = ()
    heard: tuple[str, ...] = ()
    settled: Mapping[str, str] = field(default_factory=dict)
    ending: str | None = None
    """The type of its terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySession:
    """One session. `live` are the runs whose terminal was not read yet, in the order of their admission. `earlier` are
    the runs of the sessions this one was reopened from: their events are gone.
    """

    session_id: str
    runs: Mapping[str, MemoryRun] = field(default_factory=dict)
    live: tuple[str, ...] = ()
    history: tuple[Message, ...] = ()
    model_id: str = DEFAULT_MODEL
    models: tuple[ModelDescriptor, ...] = MODELS
    providers: tuple[SessionProvider, ...] = PROVIDERS
    attached: Mapping[str, str] = field(default_factory=dict)
    switched_by: str | None = None
    tools: tuple[ToolDefinition, ...] = ()
    sources: tuple[ToolSourceDescriptor, ...] = ()
    reasoning_level: ReasoningLevel = "off"
    policy: CompactionPolicy = _AUTO
    earlier: frozenset[str] = frozenset()
    made: int = 0
    is_recovered: bool = False
    is_closed: bool = False

    def mint(self, prefix: str) -> tuple[str, MemorySession]:
        """A fresh id and the session that will not give it again."""
        made = self.made + 1
        return f"{self.session_id}.{prefix}{made}", replace(self, made=made)

    def with_run(self, run: MemoryRun) -> MemorySession:
        """The session with this run as it is now."""
        return replace(self, runs={**self.runs, run.run_id: run})

    @property
    def live_runs(self) -> tuple[MemoryRun, ...]:
        """In the order of their admission."""
        return tuple(self.runs[name] for name in self.live)

    @property
    def started(self) -> MemoryRun | None:
        """The run that started and whose terminal was not read."""
        return next((run for run in self.live_runs if run.has_started), None)

    @property
    def reservations(self) -> tuple[MemoryRun, ...]:
        """Live runs that never started."""
        return tuple(run for run in self.live_runs if not run.has_started)

    @property
    def waiting(self) -> tuple[MemoryRun, ...]:
        """Runs that hold a place in the queue."""
        return tuple(run for run in self.live_runs if run.is_waiting)


@dataclass(frozen=True, slots=True)
class Decision:
    """The session after a command, what each run told, what the session told, and the answer."""

    session: MemorySession
    reply: Wire | None = None
    tellings: tuple[tuple[str, Telling], ...] = ()
    announced: bool = False
    """Whether the session's new state is to be told."""


def tokens_of(history: tuple[Message, ...]) -> int:
    """A token is four characters, and every message costs one more."""
    return sum(len(text_of(message.content)) // 4 + 1 for message in history)
