"""The documents of the Agent Communication Protocol, frozen at its last release (GTW-004; acp-sdk 1.0.3).

Closed, with one exception the protocol makes: a part may carry members of others' making. They are carried in and never
read. What comes in is a `Create` or a `Resume`; everything else here goes out.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

__all__ = (
    "AcpRun",
    "AcpSession",
    "Agent",
    "AgentList",
    "AwaitRequest",
    "AwaitResume",
    "Create",
    "Error",
    "ErrorCode",
    "ErrorData",
    "Event",
    "EventList",
    "Message",
    "MessageCompleted",
    "MessageCreated",
    "MessagePart",
    "Mode",
    "Part",
    "Pong",
    "Resume",
    "RunAwaiting",
    "RunCancelled",
    "RunCompleted",
    "RunCreated",
    "RunFailed",
    "RunInProgress",
    "Status",
)

Mode = Literal["sync", "async", "stream"]
Status = Literal["created", "in-progress", "awaiting", "cancelling", "cancelled", "completed", "failed"]
ErrorCode = Literal["server_error", "invalid_input", "not_found"]

# `$` alone would let a line feed through in Python, and `\Z` is nothing to a schema's reader.
Role = Annotated[str, msgspec.Meta(pattern=r"^(?:user|agent(?:/[A-Za-z0-9_-]+)?)$(?!\n)", max_length=80)]
Written = Annotated[str, msgspec.Meta(extra_json_schema={"format": "uuid"})]
"""A UUID as it goes out: in lower case, with hyphens."""
Label = Annotated[str, msgspec.Meta(min_length=1, max_length=63)]


class ErrorData(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Our own words in an error's `data`: the code of this house, and what a refusal of ours says."""

    code: str
    reason: str | None = None
    place: str | None = None
    help: str | None = None
    details: dict[str, Any] = {}
    left: int | None = None
    retry_after: int | None = None


class Error(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every answer that is a no, and what a failed run says."""

    code: ErrorCode
    message: str
    data: ErrorData | None = None


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Content with its media type, or an address of some; never both. Members that are not listed are not read."""

    name: str | None = None
    content_type: str | None = "text/plain"
    content: str | None = None
    content_encoding: Literal["plain", "base64"] | None = "plain"
    content_url: str | None = None
    metadata: dict[str, Any] | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one side says."""

    parts: Annotated[list[Part], msgspec.Meta(max_length=64)]
    role: Role = "user"
    created_at: datetime | None = None
    completed_at: datetime | None = None


class AcpSession(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What several runs have in common. Nothing is fetched from the addresses that a caller puts in here."""

    id: UUID
    history: Annotated[list[str], msgspec.Meta(max_length=256)] = []
    state: str | None = None


class Create(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /runs`."""

    agent_name: str
    input: Annotated[list[Message], msgspec.Meta(max_length=64)]
    session_id: UUID | None = None
    session: AcpSession | None = None
    mode: Mode = "sync"


class AwaitRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run that awaits asks for."""

    message: Message
    type: Literal["message"] = "message"


class AwaitResume(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a caller answers to that."""

    message: Message
    type: Literal["message"] = "message"


class Resume(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /runs/{run_id}`. The run's id stands in the path; the client leaves it out of the body."""

    await_resume: AwaitResume
    mode: Mode = "sync"
    run_id: UUID | None = None


class AcpRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run, as it is when it is asked for."""

    run_id: Written
    agent_name: Label
    session_id: Written | None
    status: Status
    await_request: AwaitRequest | None
    output: list[Message]
    error: Error | None
    created_at: datetime
    finished_at: datetime | None


class RunCreated(msgspec.Struct, frozen=True, tag_field="type", tag="run.created"):
    run: AcpRun


class RunInProgress(msgspec.Struct, frozen=True, tag_field="type", tag="run.in-progress"):
    run: AcpRun


class RunAwaiting(msgspec.Struct, frozen=True, tag_field="type", tag="run.awaiting"):
    run: AcpRun


class RunCompleted(msgspec.Struct, frozen=True, tag_field="type", tag="run.completed"):
    run: AcpRun


class RunFailed(msgspec.Struct, frozen=True, tag_field="type", tag="run.failed"):
    run: AcpRun


class RunCancelled(msgspec.Struct, frozen=True, tag_field="type", tag="run.cancelled"):
    run: AcpRun


class MessageCreated(msgspec.Struct, frozen=True, tag_field="type", tag="message.created"):
    message: Message


class MessagePart(msgspec.Struct, frozen=True, tag_field="type", tag="message.part"):
    part: Part


class MessageCompleted(msgspec.Struct, frozen=True, tag_field="type", tag="message.completed"):
    message: Message


Event = (
    RunCreated
    | RunInProgress
    | RunAwaiting
    | RunCompleted
    | RunFailed
    | RunCancelled
    | MessageCreated
    | MessagePart
    | MessageCompleted
)


class EventList(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to `GET /runs/{run_id}/events`."""

    events: list[Event]


class Agent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent's manifest. `metadata.annotations` tells which act it is, its class and its arguments' schema."""

    name: Label
    description: str
    metadata: dict[str, Any]
    input_content_types: list[str]
    output_content_types: list[str]


class AgentList(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to `GET /agents`."""

    agents: list[Agent]


class Pong(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to `GET /ping`: an empty object."""
