"""What the rules remember of a trace beside the conversation: descriptors, catalogs, promises, and open questions.

One trace is one endpoint's, seen whole. Facts of a run are dropped when it ends, those of a question when it is
answered, so a long trace costs no more than its sessions do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sayso.control.protocol.conversation import Conversation
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.capabilities import ToolDefinition, ToolSourceDescriptor
from sayso.control.protocol.payloads.models import ModelsResponse
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.validator.compiling import Check
from sayso.control.validator.packs import Packs
from sayso.control.validator.rules.capabilities import Capabilities

__all__ = ("Heard", "Peaks", "Question", "RunFacts", "Scene", "Session", "ToolCatalog")


class Peaks:
    """The highest value since any moment: a falling stack, so a long wait costs a look-up and not a walk."""

    def __init__(self) -> None:
        self._when: list[int] = []
        self._what: list[int] = []

    def add(self, when: int, value: int) -> None:
        """The value from this moment on."""
        while self._what and self._what[-1] <= value:
            self._what.pop()
            self._when.pop()
        self._what.append(value)
        self._when.append(when)

    def since(self, when: int) -> int:
        """The highest value that came at this moment or later; 0 when none did."""
        place = bisect_left(self._when, when)
        return self._what[place] if place < len(self._what) else 0


@dataclass(slots=True)
class ToolCatalog:
    """A session's served tools, and the revision they were served under."""

    revision: str
    tools: Mapping[str, ToolDefinition]


@dataclass(slots=True)
class Session:
    """One session."""

    is_fresh: bool = False
    """Opened here without a recovery, so everything of it was seen."""
    attached: dict[str, ToolSourceDescriptor] = field(default_factory=dict)
    """What its attached sources were published as when it was opened."""
    provided: dict[str, ToolDefinition] = field(default_factory=dict)
    known_sources: set[str] = field(default_factory=set)
    tools: ToolCatalog | None = None
    models: ModelsResponse | None = None
    models_revision: str = ""
    providers: dict[str, Any] = field(default_factory=dict)
    model_history: list[tuple[int, str]] = field(default_factory=list)
    """The session's own model, from each moment on that it was known to change."""
    unsettled: dict[tuple[str, bool], Callable[[str, str, str | None], None]] = field(default_factory=dict)
    """Models asked for before a catalog of `unsettled_revision`, granted or not, and who is told."""
    unsettled_revision: str = ""
    switched: tuple[int, str] | None = None
    """When a switch last moved the session's model, and from which."""
    run_models: set[str] = field(default_factory=set)
    """Models that single runs were given, which leave the session's own alone."""
    live: int = 0
    queued: int = 0
    live_peaks: Peaks = field(default_factory=Peaks)
    queued_peaks: Peaks = field(default_factory=Peaks)
    questions: int = 0
    """Requests for work that have not been answered."""

    @property
    def model(self) -> str | None:
        """The session's own model, where it is known."""
        return self.model_history[-1][1] if self.model_history else None

    def models_since(self, when: int) -> set[str]:
        """Every model the session held at this moment or later."""
        place = bisect_left(self.model_history, (when, ""))
        return {model for _, model in self.model_history[max(0, place - 1) :]}

    def set_model(self, when: int, model: str) -> None:
        """The session's own model from this moment on."""
        if self.model != model:
            self.model_history.append((when, model))


@dataclass(slots=True)
class RunFacts:
    """What one run was admitted with."""

    session_id: str
    model: str | None = None
    is_session_wide: bool = False
    allowed: frozenset[str] | None = None
    disallowed: frozenset[str] = frozenset()
    must_call: str | None = None
    """A tool's name, `*` for any, or None."""
    called: set[str] = field(default_factory=set)
    check: Check | None = None
    has_schema: bool = False
    fixed_result: Any = UNSET
    is_started: bool = False
    is_queued: bool = False
    sources: dict[str, Any] = field(default_factory=dict)
    """By call: the source it was requested under."""
    owners: dict[str, str] = field(default_factory=dict)
    settled_claim: int | None = None


@dataclass(slots=True)
class Question:
    """An open request, and what held when it was asked."""

    envelope: Envelope[Wire]
    value: Any
    when: int
    capabilities: Capabilities | None
    is_announced: bool
    """A newer revision had been announced and its descriptor not been fetched."""
    models: ModelsResponse | None = None
    was_busy: bool = False
    live: int = 0
    queued: int = 0
    revision: str | None = None


@dataclass(slots=True)
class Scene:
    """The trace so far."""

    packs: Packs
    after: Conversation = field(default_factory=Conversation)
    capabilities: Capabilities | None = None
    revision: str | None = None
    """The active one, announced or in hand."""
    revisions: set[str] = field(default_factory=set)
    participant: str | None = None
    questions: dict[str, Question] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    furnished: dict[str, Session] = field(default_factory=dict)
    """Those that were opened with sources or tools, which every later descriptor has to leave room for."""
    runs: dict[str, RunFacts] = field(default_factory=dict)
    early: dict[str, list[Heard]] = field(default_factory=dict)
    """What came of a run before the answer that admits it: the rules hear it behind that answer."""
    ended_at: dict[str, int] = field(default_factory=dict)
    """When each run's end was told."""

    @property
    def is_announced(self) -> bool:
        """A newer revision was announced and its descriptor is not in hand."""
        return self.capabilities is not None and self.capabilities.revision != self.revision

    @property
    def in_hand(self) -> Capabilities | None:
        """The descriptor in force; None before the first, and between an announcement and the next."""
        return None if self.is_announced else self.capabilities

    def session(self, session_id: object) -> Session:
        """The facts of a session."""
        name = str(session_id)
        if name not in self.sessions:
            self.sessions[name] = Session()
        return self.sessions[name]


@dataclass(slots=True)
class Heard:
    """One envelope as the rules get it."""

    when: int
    envelope: Envelope[Wire]
    value: Any
    """As it came: what the typed envelope left out stands here."""
    question: Question | None
    note: Callable[[str, str, str | None], None]

    @property
    def payload(self) -> Any:
        """The payload, by whose type the rule was chosen."""
        return self.envelope.payload

    @property
    def request(self) -> Any:
        """The payload of the request that is answered here."""
        return None if self.question is None else self.question.envelope.payload

    def add(self, code: str, message: str, place: str | None = None) -> None:
        """One fault of this envelope."""
        self.note(code, message, place)

    @property
    def steady(self) -> Capabilities | None:
        """The descriptor that held from the request to this answer; None when there was none, or it moved."""
        return None if self.question is None else self.question.capabilities
