"""A2A 1.0's spelling: upper-case states and roles, no `kind`, member names tell variants apart."""

from __future__ import annotations

from typing import Any

from sayso.gateway.doors.a2a.values import (
    A2aTask,
    Artifact,
    Event,
    Message,
    Page,
    Part,
    PushConfig,
    Status,
    StatusUpdate,
)
from sayso.gateway.doors.a2a.write.instants import write_at

__all__ = ("event", "message", "page", "push", "pushes", "sent", "task")


def task(value: A2aTask, *, with_artifacts: bool = True) -> dict[str, Any]:
    """A Task; `history` is left out where none is wanted."""
    found: dict[str, Any] = {"id": value.id, "contextId": value.context, "status": _status(value.status)}
    if value.artifacts and with_artifacts:
        found["artifacts"] = [artifact(each) for each in value.artifacts]
    if value.history is not None:
        found["history"] = [message(each) for each in value.history]
    if value.metadata:
        found["metadata"] = value.metadata
    return found


def sent(value: A2aTask) -> dict[str, Any]:
    """A SendMessageResponse."""
    return {"task": task(value)}


def event(value: Event) -> dict[str, Any]:
    """A StreamResponse."""
    match value:
        case A2aTask():
            return {"task": task(value)}
        case StatusUpdate():
            inner = {"taskId": value.task, "contextId": value.context, "status": _status(value.status)}
            return {"statusUpdate": inner}
        case _:
            inner = {"taskId": value.task, "contextId": value.context, "artifact": artifact(value.artifact)}
            return {"artifactUpdate": {**inner, "append": False, "lastChunk": True}}


def page(value: Page) -> dict[str, Any]:
    """A ListTasksResponse: `nextPageToken` is always there, empty at the end."""
    return {
        "tasks": [task(each, with_artifacts=value.with_artifacts) for each in value.tasks],
        "nextPageToken": value.after,
        "pageSize": value.size,
        "totalSize": value.total,
    }


def message(value: Message) -> dict[str, Any]:
    """A Message."""
    found: dict[str, Any] = {
        "messageId": value.id,
        "role": "ROLE_USER" if value.role == "user" else "ROLE_AGENT",
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


def artifact(value: Artifact) -> dict[str, Any]:
    """An Artifact."""
    return {"artifactId": value.id, "name": value.name, "parts": [_part(each) for each in value.parts]}


def push(value: PushConfig) -> dict[str, Any]:
    """A TaskPushNotificationConfig. Credentials are never given back."""
    found: dict[str, Any] = {"id": value.id, "taskId": value.task, "url": value.url}
    if value.token:
        found["token"] = value.token
    if value.scheme:
        found["authentication"] = {"scheme": value.scheme}
    return found


def pushes(values: tuple[PushConfig, ...]) -> dict[str, Any]:
    """A ListTaskPushNotificationConfigsResponse: all of them, as a task has only a few."""
    return {"configs": [push(each) for each in values], "nextPageToken": ""}


def _status(value: Status) -> dict[str, Any]:
    found: dict[str, Any] = {"state": f"TASK_STATE_{value.state.value.replace('-', '_').upper()}"}
    if value.message is not None:
        found["message"] = message(value.message)
    return {**found, "timestamp": write_at(value.at)}


def _part(value: Part) -> dict[str, Any]:
    found: dict[str, Any] = {"text": value.text} if value.text is not None else {"data": value.data}
    found["mediaType"] = "text/plain" if value.text is not None else "application/json"
    return found if value.metadata is None else {**found, "metadata": value.metadata}
