"""What is kept of a conversation, and the port the loop keeps it through (OAP-164).

A conversation is told as steps in the order they happened: it was opened, a message was added, a call reached its tool,
a call got its result, history was compacted, the model was switched, it got a title, it was closed. `Retelling` folds
them back into the messages the loop goes on with. Steps hold protocol messages and the settings below and nothing else;
there is no member a credential could stand in. Where steps are kept is `loop.saved`'s business.

Results of calls are told one by one, as they come, and never again as a message: the results behind a message that
called become its `tool` message when the fold meets whatever comes next.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sayso.control.loop.contract import PermissionMode
from sayso.control.loop.history import calls_in, repair
from sayso.control.protocol.payloads.content import Message, ToolResultPart, text_of
from sayso.control.protocol.payloads.inference import ReasoningLevel
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Natural, OpaqueId, Ordinal, Text, Wire
from sayso.control.protocol.payloads.session import CompactionPolicy
from sayso.core.refusal import Misuse

__all__ = (
    "FORMAT",
    "SPEAKERS",
    "SUMMARY_MARK",
    "TITLE_LIMIT",
    "CallEnded",
    "CallRequested",
    "Closed",
    "Compacted",
    "ConversationEntry",
    "ConversationTerms",
    "Conversations",
    "KeptConversation",
    "ModelSwitched",
    "OpenConversation",
    "Opened",
    "Retelling",
    "Said",
    "Step",
    "Titled",
    "after_compaction",
    "is_summary",
    "latest_question",
    "title_of",
)

FORMAT = 1
"""The version of the records; a conversation of a later one is not read."""
TITLE_LIMIT = 80
"""Characters of a title."""
SPEAKERS = frozenset({"user", "assistant"})
"""Whose messages are kept: the system's are written anew for each run, a tool's are told as results."""
SUMMARY_MARK = "dev.sayso.summary"
"""The member of a message's metadata that marks it as a summary."""
_LOOKED_AT = 4000
"""Characters of a message that are looked at for a title."""


class ConversationTerms(Wire, frozen=True, kw_only=True):
    """What a session agreed to that its conversation takes along when it is reopened."""

    permission: PermissionMode = "ask"
    reasoning_level: Maybe[ReasoningLevel] = UNSET
    compaction_policy: Maybe[CompactionPolicy] = UNSET
    max_output_tokens: Maybe[Ordinal] = UNSET


class Opened(Wire, frozen=True, kw_only=True, tag_field="type", tag="opened"):
    """The first step, and only that. `workspace` is the resolved root."""

    format: Literal[1] = 1
    model_ref: Text
    settings: ConversationTerms = ConversationTerms()
    workspace: Maybe[Text] = UNSET


class Said(Wire, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A message was added to the history: the user's or the model's, calls included; never role `tool`."""

    message: Message


class CallRequested(Wire, frozen=True, kw_only=True, tag_field="type", tag="call_requested"):
    """A call is about to reach its tool: what it does may be done even where no result follows."""

    tool_call_id: OpaqueId


class CallEnded(Wire, frozen=True, kw_only=True, tag_field="type", tag="call_result"):
    """A call got its result."""

    result: ToolResultPart


class Compacted(Wire, frozen=True, kw_only=True, tag_field="type", tag="compaction"):
    """History became `summary`, then the latest user message if `asks` (it would have been cut), then the last `kept`
    messages of the repaired history (`loop.compacting`).
    """

    summary: Message
    kept: Natural
    asks: bool = False


class ModelSwitched(Wire, frozen=True, kw_only=True, tag_field="type", tag="model_switched"):
    """Later turns run with another model."""

    model_ref: Text


class Titled(Wire, frozen=True, kw_only=True, tag_field="type", tag="title"):
    """What people call the conversation from now on."""

    title: Text


class Closed(Wire, frozen=True, kw_only=True, tag_field="type", tag="closed"):
    """Its session was closed; it may be taken up again, and steps follow then."""


Step = Opened | Said | CallRequested | CallEnded | Compacted | ModelSwitched | Titled | Closed


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationEntry:
    """A conversation as it is listed. `messages` counts what the user and the model said, compacted or not."""

    native_id: str
    title: str | None
    model_ref: str
    updated_at_ms: int
    messages: int
    workspace: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptConversation:
    """A conversation as it was kept: what a loop goes on with.

    `messages` may hold calls without results, for `history.repair`; `unfinished` names those that had reached their
    tool, so that what they do may be done. `used` are the ids of all calls there ever were, compacted ones too.
    """

    native_id: str
    model_ref: str
    settings: ConversationTerms
    workspace: str | None
    title: str | None
    messages: tuple[Message, ...]
    unfinished: tuple[str, ...]
    updated_at_ms: int
    used: frozenset[str] = frozenset()


class OpenConversation(Protocol):
    """A conversation this process alone writes to."""

    @property
    def native_id(self) -> str:
        """Its name."""
        ...

    def keep(self, step: Step) -> None:
        """Adds a step behind the others. It returns at once and never fails: writing goes on beside, in this order, and
        what goes wrong there is told by `written`. The first message of the user gives an untitled conversation its
        title. Misuse: a second `Opened`, a message of role `tool`, anything after `close`.
        """
        ...

    async def written(self) -> None:
        """Returns once everything kept so far outlives this process: called before anything outside happens because of
        it, a tool call or a terminal. Raises Refused `internal`, reason `conversation_not_saved`; what was written
        before stands and is whole, and nothing is added any more.
        """
        ...

    async def synced(self) -> None:
        """As `written`, and it outlives a power cut too: called once a run has ended."""
        ...

    async def close(self) -> None:
        """Keeps `Closed`, syncs, and lets others write it. A second close does nothing; a failure is logged."""
        ...


class Conversations(Protocol):
    """Where the loop keeps conversations."""

    async def begin(self, native_id: str, opened: Opened) -> OpenConversation:
        """A new one. `native_id` is 1 to 128 of letters, digits, `_` and `-`, such as `ids.new("talk")`; Misuse
        otherwise. Refused: `session_exists` when there is one of that name, `open_failed` when it cannot be made.
        """
        ...

    async def resume(self, native_id: str) -> tuple[KeptConversation, OpenConversation]:
        """One of an earlier session, to go on with. Refused: `unsupported_feature` with a reason `conversation_gone`,
        `conversation_damaged`, `conversation_newer` or `conversation_not_private`; `session_exists` with reason
        `conversation_in_use` while another session or process writes it.
        """
        ...


class Retelling:
    """Folds steps, in order, into what a loop goes on with. One step at a time: no more is held than the conversation
    itself, and what a compaction replaced is let go.
    """

    def __init__(self, native_id: str) -> None:
        self.model_ref = ""
        self.title: str | None = None
        self.opened: Opened | None = None
        self._native_id = native_id
        self._messages: list[Message] = []
        self._results: list[ToolResultPart] = []
        self._reached: dict[str, None] = {}
        self._used: set[str] = set()

    def hear(self, step: Step) -> None:
        """Raises ValueError, which says what is wrong, for a step that cannot come now."""
        if isinstance(step, Opened) != (self.opened is None):
            raise ValueError("a conversation is opened once, before all else")
        match step:
            case Opened(model_ref=model_ref):
                self.opened, self.model_ref = step, model_ref
            case ModelSwitched(model_ref=model_ref):
                self.model_ref = model_ref
            case Titled(title=title):
                self.title = title
            case Said(message=message):
                self._hear_message(message)
            case CallRequested(tool_call_id=name):
                self._reached[name] = None
            case CallEnded(result=result):
                self._reached.pop(result.tool_call_id, None)
                self._results.append(result)
            case Compacted():
                self._compact(step)
            case Closed():
                pass

    def conversation(self, updated_at_ms: int) -> KeptConversation:
        """What was heard so far. Misuse before it was opened."""
        if self.opened is None:
            raise Misuse("a conversation begins with its opening")
        self._settle()
        return KeptConversation(
            native_id=self._native_id,
            model_ref=self.model_ref,
            settings=self.opened.settings,
            workspace=self.opened.workspace or None,
            title=self.title,
            messages=tuple(self._messages),
            unfinished=tuple(self._reached),
            updated_at_ms=updated_at_ms,
            used=frozenset(self._used),
        )

    def _hear_message(self, message: Message) -> None:
        if message.role not in SPEAKERS:
            raise ValueError("a message is the user's or the model's; results are told one by one")
        self._settle()
        self._messages.append(message)
        self._used.update(call.tool_call_id for call in calls_in(message))

    def _settle(self) -> None:
        """The results heard so far become a message."""
        if self._results:
            self._messages.append(Message(role="tool", content=tuple(self._results)))
            self._results = []

    def _compact(self, step: Compacted) -> None:
        self._settle()
        self._messages = list(after_compaction(repair(self._messages), step))
        self._reached = {}


def after_compaction(messages: Sequence[Message], step: Compacted) -> tuple[Message, ...]:
    """The history a compaction leaves of a repaired one. Raises ValueError when it keeps what there is not."""
    if step.kept > len(messages):
        raise ValueError("a compaction keeps more messages than there are")
    at = len(messages) - step.kept
    asked = latest_question(messages, at) if step.asks else None
    if step.asks and asked is None:
        raise ValueError("a compaction keeps a message of the user, and there is none")
    question = () if asked is None else (messages[asked],)
    return (step.summary, *question, *messages[at:])


def latest_question(messages: Sequence[Message], end: int) -> int | None:
    """Where the user's last message before `end` stands; a summary is none of the user's."""
    places = (at for at in range(end - 1, -1, -1) if messages[at].role == "user" and not is_summary(messages[at]))
    return next(places, None)


def is_summary(message: Message) -> bool:
    """Whether a message of the history stands for what was compacted."""
    return message.metadata is not UNSET and SUMMARY_MARK in message.metadata


def title_of(message: Message) -> str | None:
    """The first line of a message that says something: without control characters, its blanks run together, cut to
    `TITLE_LIMIT` characters.
    """
    for line in text_of(message.content)[:_LOOKED_AT].splitlines():
        shown = "".join(each if unicodedata.category(each)[0] != "C" else " " for each in line)
        if words := " ".join(shown.split()):
            return words if len(words) <= TITLE_LIMIT else words[: TITLE_LIMIT - 1].rstrip() + "…"
    return None
