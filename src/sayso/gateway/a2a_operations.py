"""A2A 1.0's REST binding as the house's description lists it (GTW-003).

The door writes these documents member by member, because 0.3 spells them otherwise; here is what 1.0's look like,
closed where an answer of ours is. A2A 0.3 and JSON-RPC are told by the agent card.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from sayso.gateway.operation import DENIALS, EVENTS, Operation, Parameter, Shape

__all__ = ("OPERATIONS",)

_BASE = "/api/protocols/a2a"
_A2A_JSON = "application/a2a+json"
_DENIALS = (*DENIALS, 405)

State = Literal[
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_AUTH_REQUIRED",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_FAILED",
    "TASK_STATE_REJECTED",
]


class _Closed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A document of ours: no member that is not listed."""


class Part(_Closed, frozen=True, kw_only=True):
    """Text or data, one of the two."""

    text: str | UnsetType = UNSET
    data: Any = UNSET
    media_type: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class Message(_Closed, frozen=True, kw_only=True):
    """What one side says."""

    message_id: str
    role: Literal["ROLE_USER", "ROLE_AGENT"]
    parts: list[Part]
    context_id: str | UnsetType = UNSET
    task_id: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    extensions: list[str] | UnsetType = UNSET
    reference_task_ids: list[str] | UnsetType = UNSET


class Status(_Closed, frozen=True, kw_only=True):
    """How far a task is."""

    state: State
    timestamp: str
    message: Message | UnsetType = UNSET


class Artifact(_Closed, frozen=True, kw_only=True):
    """What came of a task."""

    artifact_id: str
    name: str
    parts: list[Part]


class A2aTask(_Closed, frozen=True, kw_only=True):
    """A task."""

    id: str
    context_id: str
    status: Status
    artifacts: list[Artifact] | UnsetType = UNSET
    history: list[Message] | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class Sent(_Closed, frozen=True, kw_only=True):
    """The answer to a message."""

    task: A2aTask


class TaskPage(_Closed, frozen=True, kw_only=True):
    """A page of tasks; `nextPageToken` is empty at the end."""

    tasks: list[A2aTask]
    next_page_token: str
    page_size: int
    total_size: int


class Push(_Closed, frozen=True, kw_only=True):
    """Where a task's moves are pushed to."""

    id: str
    task_id: str
    url: str
    token: str | UnsetType = UNSET
    authentication: dict[str, Any] | UnsetType = UNSET


class PushPage(_Closed, frozen=True, kw_only=True):
    """Every push configuration of a task."""

    configs: list[Push]
    next_page_token: str


class Empty(_Closed, frozen=True, kw_only=True):
    """It was done."""


class Card(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The extended agent card; its other members are A2A's own and 0.3's."""

    name: str
    version: str
    skills: list[dict[str, Any]]
    supported_interfaces: list[dict[str, Any]]


class Send(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The body of a message."""

    message: Message
    configuration: dict[str, Any] | UnsetType = UNSET


class NewPush(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The body of a push configuration."""

    url: str
    id: str | UnsetType = UNSET
    token: str | UnsetType = UNSET


class Said(_Closed, frozen=True, kw_only=True):
    """A google.rpc.Status."""

    code: int
    status: str
    message: str
    details: list[dict[str, Any]]


class Failure(_Closed, frozen=True, kw_only=True):
    """Every answer that is a no."""

    error: Said


_TEXT = {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9._~-]+$"}
_VERSION = Parameter(name="A2A-Version", where="header", schema={"const": "1.0"}, description="The version spoken")
_TASK = Parameter(name="id", where="path", schema=_TEXT, description="The task's id")
_PUSH = Parameter(name="config", where="path", schema=_TEXT, description="The configuration's id")
_HISTORY = Parameter(
    name="historyLength",
    where="query",
    schema={"type": "integer", "minimum": 0, "maximum": 100},
    description="How many messages of the history",
    required=False,
)
_SIZE = Parameter(
    name="pageSize",
    where="query",
    schema={"type": "integer", "minimum": 1, "maximum": 100},
    description="How many tasks at once",
    required=False,
)
_TOKEN = Parameter(
    name="pageToken", where="query", schema={"type": "string"}, description="Where to go on", required=False
)


def _new(
    id_: str,
    method: Literal["GET", "POST", "DELETE"],
    path: str,
    summary: str,
    answer: Shape,
    *parameters: Parameter,
    body: type[msgspec.Struct] | None = None,
) -> Operation:
    return Operation(
        id=id_,
        method=method,
        path=_BASE + path,
        summary=summary,
        answers={200: (answer,)},
        failure=Failure,
        denials=_DENIALS,
        parameters=(_VERSION, *parameters),
        body=body,
        media_type=_A2A_JSON,
    )


_PUSHES = "/tasks/{id}/pushNotificationConfigs"

OPERATIONS = (
    _new("a2aSend", "POST", "/message:send", "Send a message", Sent, body=Send),
    _new("a2aStream", "POST", "/message:stream", "Send a message and follow its task", EVENTS, body=Send),
    _new("a2aTasks", "GET", "/tasks", "The caller's tasks", TaskPage, _SIZE, _TOKEN, _HISTORY),
    _new("a2aTask", "GET", "/tasks/{id}", "A task as it stands", A2aTask, _TASK, _HISTORY),
    _new("a2aCancel", "POST", "/tasks/{id}:cancel", "Take a task back", A2aTask, _TASK),
    _new("a2aSubscribe", "GET", "/tasks/{id}:subscribe", "Follow a task", EVENTS, _TASK),
    _new("a2aPushSet", "POST", _PUSHES, "Have a task's moves pushed", Push, _TASK, body=NewPush),
    _new("a2aPushes", "GET", _PUSHES, "Where a task's moves are pushed", PushPage, _TASK),
    _new("a2aPush", "GET", _PUSHES + "/{config}", "One push configuration", Push, _TASK, _PUSH),
    _new("a2aPushDelete", "DELETE", _PUSHES + "/{config}", "Push no more", Empty, _TASK, _PUSH),
    _new("a2aCard", "GET", "/extendedAgentCard", "The agent card with the acts", Card),
)
"""Every operation of the binding."""
