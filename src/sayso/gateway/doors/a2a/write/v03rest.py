"""A2A 0.3's spelling by REST: protobuf's JSON of that version, whose `CANCELLED` is British."""

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
    State,
    Status,
    StatusUpdate,
)
from sayso.gateway.doors.a2a.write.instants import write_at

__all__ = ("event", "push", "pushes", "sent", "task")


def task(value: A2aTask) -> dict[str, Any]:
    """A Task."""
    found: dict[str, Any] = {"id": value.id, "contextId": value.context, "status": _status(value.status)}
    if value.artifacts:
        found["artifacts"] = [_artifact(each) for each in value.artifacts]
    if value.history is not None:
        found["history"] = [_message(each) for each in value.history]
    return {**found, "metadata": value.metadata} if value.metadata else found


def sent(value: A2aTask) -> dict[str, Any]:
    """A SendMessageResponse."""
    return {"task": task(value)}


def event(value: Event) -> dict[str, Any]:
    """A StreamResponse."""
    match value:
        case A2aTask():
            return {"task": task(value)}
        case StatusUpdate():
            final = value.status.state in ENDED
            inner = {"taskId": value.task, "contextId": value.context, "status": _status(value.status), "final": final}
            return {"statusUpdate": inner}
        case _:
            inner = {"taskId": value.task, "contextId": value.context, "artifact": _artifact(value.artifact)}
            return {"artifactUpdate": {**inner, "lastChunk": True}}


def push(value: PushConfig) -> dict[str, Any]:
    """A TaskPushNotificationConfig, named by its resource. Credentials are never given back."""
    inner: dict[str, Any] = {"id": value.id, "url": value.url}
    if value.token:
        inner["token"] = value.token
    if value.scheme:
        inner["authentication"] = {"schemes": [value.scheme]}
    return {"name": f"tasks/{value.task}/pushNotificationConfigs/{value.id}", "pushNotificationConfig": inner}


def pushes(values: tuple[PushConfig, ...]) -> dict[str, Any]:
    """A ListTaskPushNotificationConfigResponse."""
    return {"configs": [push(each) for each in values], "nextPageToken": ""}


def _message(value: Message) -> dict[str, Any]:
    found: dict[str, Any] = {
        "messageId": value.id,
        "role": "ROLE_USER" if value.role == "user" else "ROLE_AGENT",
        "content": [_part(each) for each in value.parts],
    }
    optional = {
        "contextId": value.context,
        "taskId": value.task,
        "metadata": value.metadata,
        "extensions": list(value.extensions),
    }
    return {**found, **{name: each for name, each in optional.items() if each}}


def _artifact(value: Artifact) -> dict[str, Any]:
    return {"artifactId": value.id, "name": value.name, "parts": [_part(each) for each in value.parts]}


def _status(value: Status) -> dict[str, Any]:
    name = "CANCELLED" if value.state is State.CANCELED else value.state.value.replace("-", "_").upper()
    found: dict[str, Any] = {"state": f"TASK_STATE_{name}"}
    if value.message is not None:
        found["message"] = _message(value.message)
    return {**found, "timestamp": write_at(value.at)}


def _part(value: Part) -> dict[str, Any]:
    if value.text is not None:
        found: dict[str, Any] = {"text": value.text}
    else:
        found = {"data": {"data": value.data if isinstance(value.data, dict) else {"value": value.data}}}
    return found if value.metadata is None else {**found, "metadata": value.metadata}
