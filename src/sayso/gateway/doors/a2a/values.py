"""What A2A speaks of, in one model for both versions: `read` makes these values, `write` spells them.

State names are 0.3's. Parts are text or data; files and links are refused at the door, so no value holds one.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Any, Literal, TypeAlias

import msgspec

__all__ = (
    "ENDED",
    "A2aTask",
    "Artifact",
    "ArtifactUpdate",
    "Asked",
    "Binding",
    "Call",
    "Cancel",
    "Event",
    "ExtendedCard",
    "Find",
    "Listing",
    "Message",
    "Page",
    "Part",
    "PushConfig",
    "PushDelete",
    "PushFind",
    "PushList",
    "PushSet",
    "RequestId",
    "Send",
    "State",
    "Status",
    "StatusUpdate",
    "Subscribe",
    "Version",
)

Version = Literal["0.3", "1.0"]
Binding = Literal["jsonrpc", "rest"]
RequestId: TypeAlias = str | int | None


class State(Enum):
    """Where a task stands; the values are 0.3's words."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"
    COMPLETED = "completed"
    CANCELED = "canceled"
    FAILED = "failed"
    REJECTED = "rejected"


ENDED = frozenset({State.COMPLETED, State.CANCELED, State.FAILED, State.REJECTED})
"""The states that nothing leaves; a stream closes at one of them."""


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of a message: `text`, or else `data` (any JSON value)."""

    text: str | None = None
    data: Any = None
    metadata: dict[str, Any] | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn of a conversation."""

    id: str
    role: Literal["user", "agent"]
    parts: tuple[Part, ...]
    context: str | None = None
    task: str | None = None
    metadata: dict[str, Any] | None = None
    extensions: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """What a task produced."""

    id: str
    name: str
    parts: tuple[Part, ...]


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """A state, since when, and the words that go with it."""

    state: State
    at: datetime
    message: Message | None = None


class A2aTask(msgspec.Struct, frozen=True, kw_only=True):
    """One act that an agent asked for. `history` is None where the caller wants none."""

    id: str
    context: str
    status: Status
    artifacts: tuple[Artifact, ...] = ()
    history: tuple[Message, ...] | None = ()
    metadata: dict[str, Any] = {}


class StatusUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """A task has another state."""

    task: str
    context: str
    status: Status


class ArtifactUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """A task has a whole artifact more."""

    task: str
    context: str
    artifact: Artifact


Event = A2aTask | StatusUpdate | ArtifactUpdate
"""What a stream is made of; the first is always the task."""


class PushConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Where to tell of a task's moves. `token` and `credentials` are the agent's secrets: sent to `url` alone."""

    task: str
    url: str
    id: str | None = None
    token: str | None = None
    scheme: str | None = None
    credentials: str | None = None


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page of tasks. `after` is empty on the last one."""

    tasks: tuple[A2aTask, ...]
    after: str
    size: int
    total: int
    with_artifacts: bool


class Send(msgspec.Struct, frozen=True, kw_only=True):
    """Send a message. `place` is where it stands in the body; `push` has no task yet, its `task` is empty."""

    message: Message
    place: str
    is_streamed: bool = False
    history: int | None = None
    push: PushConfig | None = None


class Find(msgspec.Struct, frozen=True, kw_only=True):
    """Read one task."""

    task: str
    history: int | None = None


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """Read tasks, those that moved last first."""

    context: str | None = None
    state: State | None = None
    size: int = 50
    after: str | None = None
    history: int | None = None
    since: datetime | None = None
    with_artifacts: bool = False


class Cancel(msgspec.Struct, frozen=True, kw_only=True):
    """Take a task back."""

    task: str


class Subscribe(msgspec.Struct, frozen=True, kw_only=True):
    """Follow a task from here on."""

    task: str


class PushSet(msgspec.Struct, frozen=True, kw_only=True):
    """Keep a push configuration."""

    config: PushConfig


class PushFind(msgspec.Struct, frozen=True, kw_only=True):
    """Read a push configuration; without an id the task's only one."""

    task: str
    id: str | None


class PushList(msgspec.Struct, frozen=True, kw_only=True):
    """Read every push configuration of a task."""

    task: str


class PushDelete(msgspec.Struct, frozen=True, kw_only=True):
    """Forget a push configuration, if it is there."""

    task: str
    id: str


class ExtendedCard(msgspec.Struct, frozen=True, kw_only=True):
    """Read the card that only agents see."""


Call = Send | Find | Listing | Cancel | Subscribe | PushSet | PushFind | PushList | PushDelete | ExtendedCard


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was read. `method` is 1.0's name of the operation, whatever was spoken."""

    call: Call
    version: Version
    binding: Binding
    id: RequestId = None

    @property
    def method(self) -> str:
        """How receipts name the operation."""
        match self.call:
            case Send(is_streamed=streamed):
                return "SendStreamingMessage" if streamed else "SendMessage"
            case call:
                return _METHODS[type(call)]


_METHODS: dict[type, str] = {
    Find: "GetTask",
    Listing: "ListTasks",
    Cancel: "CancelTask",
    Subscribe: "SubscribeToTask",
    PushSet: "CreateTaskPushNotificationConfig",
    PushFind: "GetTaskPushNotificationConfig",
    PushList: "ListTaskPushNotificationConfigs",
    PushDelete: "DeleteTaskPushNotificationConfig",
    ExtendedCard: "GetExtendedAgentCard",
}
