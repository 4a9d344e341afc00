"""What a client may say and ask for, whatever carries it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from sayso.control.protocol.payloads.capabilities import ToolDefinition
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.inference import ReasoningLevel
from sayso.control.protocol.payloads.scalars import Json, JsonObject
from sayso.control.protocol.payloads.session import (
    CompactionPolicy,
    OpenMessage,
    ToolSourceAttachment,
)

__all__ = ("OpenSettings", "RunControls", "Said")

Said = str | Message
"""What a person says: plain text, or a whole message."""


class OpenSettings(TypedDict, total=False):
    """What an open may ask for (`session.open.request`); each is a feature the adapter has to advertise."""

    session_id: str
    metadata: JsonObject
    reopen: bool
    subscribe: bool
    message: OpenMessage
    tool_sources: Sequence[ToolSourceAttachment]
    tools: Sequence[ToolDefinition]
    reasoning_level: ReasoningLevel
    compaction_policy: CompactionPolicy
    allow_degraded_features: Sequence[str]


class RunControls(TypedDict, total=False):
    """What a submission may ask for (`session.message.submit.request`)."""

    model_id: str
    instructions: str
    tool_choice: Json
    output_schema: JsonObject
    allow_degraded_features: Sequence[str]
    metadata: JsonObject
    target_run_id: str
