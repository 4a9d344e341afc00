"""A2A 0.3's spelling by JSON-RPC: lower-case states, `kind` everywhere, `final` on status updates."""

from __future__ import annotations

from typing import Any

from sayso.gateway.doors.a2a.values import (
    ENDED,
    A2aTask,
    Artifact,
    Event,
    Message,
    Part,
    PushConfig,
    Status,
    StatusUpdate,
)
from sayso.gateway.doors.a2a.write.instants import write_at

__all__ = ("event", "message", "push", "pushes", "sent", "task")


def task(value: A2aTask) -> dict[str, Any]:
    """A Task; `history` is left out where none is wanted."""
    found: dict[str, Any] = {
        "kind": "task",
        "id": value.id,
        "contextId": value.context,
        "status": _status(value.status),
    }
    if value.artifacts:
        found["artifacts"] = [_artifact(each) for each in value.artifacts]
    if value.history is not None:
        found["history"] = [message(each) for each in value.history]
    return {**found, "metadata": value.metadata} if value.metadata else found


sent = task


def event(value: Event) -> dict[str, Any]:
    """What a stream's response holds."""
    match value:
        case A2aTask():
            return task(value)
        case StatusUpdate():
            return {
                "kind": "status-update",
                "taskId": value.task,
                "contextId": value.context,
                "status": _status(value.status),
                "final": value.status.state in ENDED,
            }
        case _:
            return {
                "kind": "artifact-update",
                "taskId": value.task,
                "contextId": value.context,
                "artifact": _artifact(value.artifact),
                "append": False,
                "lastChunk": True,
            }


def message(value: Message) -> dict[str, Any]:
    """A Message."""
    found: dict[str, Any] = {
        "kind": "message",
        "messageId": value.id,
        "role": value.role,
        "parts": [_part(each) for each in value.parts],
    }
    optional = {
        "contextId": value.context,
        "taskId": value.task,
        "metadata": value.metadata,
        "extensions": list(value.extensions),
        "referenceTaskIds": list(value.references),
    }
    return {**found, **{name: each for name, each in optional.items() if each}}


def push(value: PushConfig) -> dict[str, Any]:
    """A TaskPushNotificationConfig. Credentials are never given back."""
    inner: dict[str, Any] = {"id": value.id, "url": value.url}
    if value.token:
        inner["token"] = value.token
    if value.scheme:
        inner["authentication"] = {"schemes": [value.scheme]}
    return {"taskId": value.task, "pushNotificationConfig": inner}


def pushes(values: tuple[PushConfig, ...]) -> list[dict[str, Any]]:
    """Every configuration of a task."""
    return [push(each) for each in values]


def _artifact(value: Artifact) -> dict[str, Any]:
    return {"artifactId": value.id, "name": value.name, "parts": [_part(each) for each in value.parts]}


def _status(value: Status) -> dict[str, Any]:
    found: dict[str, Any] = {"state": value.state.value}
    if value.message is not None:
        found["message"] = message(value.message)
    return {**found, "timestamp": write_at(value.at)}


def _part(value: Part) -> dict[str, Any]:
    if value.text is not None:
        found: dict[str, Any] = {"kind": "text", "text": value.text}
    else:
        # 0.3 has objects only as data.
        found = {"kind": "data", "data": value.data if isinstance(value.data, dict) else {"value": value.data}}
    return found if value.metadata is None else {**found, "metadata": value.metadata}
