"""What a session's story is made of, in the order it happened. Every text in a block is already safe to print.

A block is changed in place by `Story` alone; widgets read it, by its `index` and after `Story.take_changes` named it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sayso.apps.tui.view.clean import Cleaner
from sayso.control.protocol.consent import ConsentQuestion
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.interaction import UserInputRequested

__all__ = (
    "Block",
    "CallBlock",
    "CallState",
    "CompactionBlock",
    "EndBlock",
    "ModelBlock",
    "NoteBlock",
    "Question",
    "QuestionBlock",
    "QuestionKind",
    "Reservation",
    "SaidBlock",
    "SaidState",
    "TextBlock",
    "ThoughtBlock",
    "Writing",
)

CallState = Literal["asked", "started", "completed", "failed", "cancelled"]
SaidState = Literal["sent", "steering", "dropped"]
QuestionKind = Literal["permission", "signed", "unreadable", "input"]

_MANY_PIECES = 256


class Writing:
    """A text that grows by deltas: cleaned as it comes, joined when it is read, never kept delta by delta."""

    __slots__ = ("_cleaner", "_pieces", "revision")

    def __init__(self) -> None:
        self._cleaner = Cleaner()
        self._pieces: list[str] = []
        self.revision = 0
        """Counts replacements: the same number means that what was read before is a beginning of what is there now."""

    def add(self, delta: str) -> None:
        """More of it."""
        if piece := self._cleaner.feed(delta):
            self._pieces.append(piece)
            if len(self._pieces) >= _MANY_PIECES:
                self._pieces = ["".join(self._pieces)]

    def replace(self, text: str) -> None:
        """Another text, whole."""
        self._cleaner = Cleaner()
        self._pieces = [self._cleaner.feed(text)]
        self.revision += 1

    def finish(self) -> None:
        """No more of it comes: it is one string from now on."""
        self._pieces = ["".join((*self._pieces, self._cleaner.close()))]

    @property
    def text(self) -> str:
        """What there is of it."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""


@dataclass(slots=True, kw_only=True, eq=False)
class Block:
    """One thing that happened. `index` is its place in the story; `run_id` is None for what belongs to no run."""

    index: int
    run_id: str | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class SaidBlock(Block):
    """What the person said. `steering` until the run takes it or drops it (then `why`)."""

    text: str
    state: SaidState = "sent"
    why: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class TextBlock(Block):
    """The assistant's words, as Markdown. `done` once no more of it comes."""

    writing: Writing = field(default_factory=Writing)
    done: bool = False

    @property
    def text(self) -> str:
        return self.writing.text


@dataclass(slots=True, kw_only=True, eq=False)
class ThoughtBlock(Block):
    """The model's reasoning. Milliseconds are the envelopes' own timestamps."""

    writing: Writing = field(default_factory=Writing)
    done: bool = False
    started_ms: int | None = None
    ended_ms: int | None = None

    @property
    def text(self) -> str:
        return self.writing.text


@dataclass(slots=True, kw_only=True, eq=False)
class CallBlock(Block):
    """One tool call. `arguments` and `result` are texts for people; `diff` a unified diff where the call has one."""

    call_id: str
    name: str
    summary: str = ""
    arguments: str = ""
    state: CallState = "asked"
    progress: str = ""
    result: str = ""
    diff: str = ""
    started_ms: int | None = None
    ended_ms: int | None = None

    @property
    def duration_ms(self) -> int | None:
        """How long it ran; None while unknown."""
        if self.started_ms is None or self.ended_ms is None:
            return None
        return max(0, self.ended_ms - self.started_ms)


@dataclass(slots=True, kw_only=True, eq=False)
class Question:
    """A question to the person, open until `outcome` says what became of it.

    `asked` is the envelope as it came: the client answers it by this, and its text has not been cleaned. Once it was
    settled, its long texts are let go of, and who it was asked by and for is kept. `consent` is there for `signed`. An
    `unreadable` permission carries a consent nobody can read: it can be declined only.
    """

    interaction_id: str
    run_id: str
    kind: QuestionKind
    asked: Envelope[PermissionRequested] | Envelope[UserInputRequested]
    consent: ConsentQuestion | None = None
    outcome: str | None = None
    block: QuestionBlock | None = None

    @property
    def is_open(self) -> bool:
        return self.outcome is None


@dataclass(slots=True, kw_only=True, eq=False)
class QuestionBlock(Block):
    """A question and what became of it."""

    question: Question
    title: str


@dataclass(slots=True, kw_only=True, eq=False)
class EndBlock(Block):
    """A run that did not complete."""

    kind: Literal["failed", "cancelled"]
    code: str = ""
    message: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class CompactionBlock(Block):
    """History made shorter; token counts where the loop gives them."""

    compaction_id: str
    reason: str
    outcome: str | None = None
    before: int | None = None
    after: int | None = None
    summary: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class ModelBlock(Block):
    """The session's model is another one from here on."""

    model_id: str


@dataclass(slots=True, kw_only=True, eq=False)
class NoteBlock(Block):
    """A line of the program's own."""

    text: str


@dataclass(slots=True, kw_only=True, frozen=True)
class Reservation:
    """A run that waits for its turn; `position` counts from 1."""

    run_id: str
    text: str
    position: int
