"""The tool port: what the loop knows of tools.

A source is called once with no answers. It either does the work (`ToolDone`) or says what a person must be asked first
(`ToolAsks`); the loop asks, and calls it again with all answers so far, as often as it asks. Nothing waits inside a
source: everything it needs to go on it keeps itself, found again by `tool_call_id`. The loop carries an answer as it
came and judges nothing: a grant without a document is the source's to refuse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

__all__ = (
    "OpensSource",
    "PermissionMode",
    "SourceTerms",
    "ToolAnswer",
    "ToolAsks",
    "ToolCall",
    "ToolDone",
    "ToolOutcome",
    "ToolSource",
    "ToolSpec",
)

PermissionMode = Literal["ask", "bypass"]
"""Whether a call that is not read-only needs a person's yes, one by one, or has the session's standing one."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told about it. `annotations` follow the tool annotations of MCP; with `readOnlyHint` a
    call counts as started at once, any other once a person granted it or it was done without asking.
    """

    name: str
    description: str
    input_schema: Mapping[str, object]
    annotations: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call; `tool_call_id` is unique in its session."""

    tool_call_id: str
    name: str
    arguments: Mapping[str, object]
    session_id: str
    run_id: str


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What the person answered to one question; `document` is the signed one, as a compact JWS, where there is one."""

    granted: bool
    document: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ToolDone:
    """The call is over; `result` is any JSON value."""

    result: object
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ToolAsks:
    """A person must be asked. `text` is what the document's bytes say in words; `kind` names the sort of question.

    Without a document it is a plain permission: there is nothing to sign, and a grant is good for acts that touch
    nobody else.
    """

    title: str
    text: str
    document: bytes | None = None
    media_type: str = ""
    kind: str = "permission"


ToolOutcome = ToolDone | ToolAsks


class ToolSource(Protocol):
    """A set of tools that are called in this process."""

    @property
    def id(self) -> str:
        """The name under which the source is published."""
        ...

    def tools(self) -> Sequence[ToolSpec]:
        """What it offers now."""
        ...

    async def call(self, call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        """Does the work, or says what must be asked; called again with one answer more after each question.

        `Refused`, `PeerRefused` and `PeerUnreachable` become an error result the model can read; any other exception
        fails the run. It may be cancelled while it works: what must not be cut in half it shields itself.
        """
        ...

    async def abandon(self, call: ToolCall) -> None:
        """The call's run was cancelled or failed: release what the call still holds. What is done stays done.

        Called once for each call of that run, the latest first, also for those that had ended, before the run's
        terminal is told. It has a few seconds.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTerms:
    """What one session agreed to when it was opened, as far as its tools are concerned.

    `workspace` is the root that file tools are confined to, resolved; None is: no file tools.
    """

    session_id: str
    permission: PermissionMode = "ask"
    workspace: Path | None = None


class OpensSource(Protocol):
    """A source that is opened anew for each session, with what that session agreed to, and closed with it."""

    @property
    def id(self) -> str:
        """The name under which the source is published."""
        ...

    def open(self, terms: SourceTerms) -> AbstractAsyncContextManager[ToolSource | None]:
        """The session's own source; None where these terms leave nothing to offer. Refused: `open_failed` and whatever
        says why it cannot start. What it started ends with the context, also after a failure.
        """
        ...
