"""One run as it is told: the blocks that are still being written, and what the run has said so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from sayso.apps.tui.view.blocks import CallBlock, CompactionBlock, Question, SaidBlock, TextBlock, ThoughtBlock
from sayso.apps.tui.view.numbers import Hearing
from sayso.control.protocol.payloads.run import RunStatus

__all__ = ("ENDED", "Telling")

ENDED: tuple[RunStatus, ...] = ("completed", "failed", "cancelled")


@dataclass(slots=True, kw_only=True, eq=False)
class Telling:
    """What has to be remembered of a run until it ends, and no longer."""

    run_id: str
    hearing: Hearing = field(default_factory=Hearing)
    status: RunStatus = "queued"
    started_ms: int | None = None
    is_presumed_over: bool = False
    """The hub no longer lists it, and its end was not heard."""
    opening: SaidBlock | None = None
    """What it was started with; empty until the program says what that was."""
    writing: TextBlock | None = None
    message_id: str | None = None
    thinking: ThoughtBlock | None = None
    texts: list[TextBlock] = field(default_factory=list)
    calls: dict[str, CallBlock] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    settled: dict[str, str] = field(default_factory=dict)
    """Interactions that were settled, by id; a question that comes after its answer is never put."""
    steers: dict[str, SaidBlock] = field(default_factory=dict)
    compactions: dict[str, CompactionBlock] = field(default_factory=dict)
    has_acted: bool = False
    """Whether a tool was called, or the conversation compacted, since its last text: a final response stands below."""
    is_calling: bool = False
    turns: int = 1
    """How often the model was asked, as far as its words and calls show."""
    listed_at: int = 0
    listed: frozenset[str] = frozenset()
    """The interactions that the session's state listed as pending, and the number of the event it was taken after."""

    @property
    def is_live(self) -> bool:
        return self.status not in ENDED and self.status != "queued" and not self.is_presumed_over
