"""What an operation answers, as bytes: the version's spelling inside the binding's wrapping."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from sayso.core import strictjson
from sayso.core.frames import SseEvent, write_sse
from sayso.gateway.crossing import Answer
from sayso.gateway.doors.a2a.values import A2aTask, Asked, Event, Page, PushConfig
from sayso.gateway.doors.a2a.write import v03, v03rest, v10
from sayso.gateway.doors.a2a.write.errors import A2A_JSON, JSON

__all__ = ("write_event", "write_first_event", "write_nothing", "write_page", "write_push", "write_pushes",
           "write_result", "write_sent", "write_task")  # fmt: skip


def write_sent(asked: Asked, task: A2aTask) -> Answer:
    """The answer to a message."""
    return write_result(asked, _spelling(asked).sent(task))


def write_task(asked: Asked, task: A2aTask) -> Answer:
    """A task that was read or taken back."""
    return write_result(asked, _spelling(asked).task(task))


def write_page(asked: Asked, page: Page) -> Answer:
    """A page of tasks; 1.0 alone has them."""
    return write_result(asked, v10.page(page))


def write_push(asked: Asked, config: PushConfig) -> Answer:
    """A push configuration."""
    return write_result(asked, _spelling(asked).push(config))


def write_pushes(asked: Asked, configs: tuple[PushConfig, ...]) -> Answer:
    """Every push configuration of a task."""
    return write_result(asked, _spelling(asked).pushes(configs))


def write_nothing(asked: Asked) -> Answer:
    """It was done, and there is nothing to say: null in 0.3's JSON-RPC, an empty object elsewhere."""
    return write_result(asked, None if (asked.version, asked.binding) == ("0.3", "jsonrpc") else {})


def write_result(asked: Asked, result: Any) -> Answer:
    """A result, wrapped."""
    return Answer(status=200, body=strictjson.encode(_wrap(asked, result)), content_type=_media_type(asked))


def write_first_event(asked: Asked, task: A2aTask) -> Answer:
    """The head of a stream: the task as it stands, which is what the receipt has the hash of."""
    return Answer(status=200, body=write_sse(write_event(asked, task)), content_type="text/event-stream")


def write_event(asked: Asked, event: Event) -> SseEvent:
    """One event: by JSON-RPC a whole response with the request's id, by REST the bare value."""
    return SseEvent(data=strictjson.encode(_wrap(asked, _spelling(asked).event(event))))


def _wrap(asked: Asked, result: Any) -> Any:
    return {"jsonrpc": "2.0", "id": asked.id, "result": result} if asked.binding == "jsonrpc" else result


def _spelling(asked: Asked) -> ModuleType:
    if asked.version == "1.0":
        return v10
    return v03 if asked.binding == "jsonrpc" else v03rest


def _media_type(asked: Asked) -> str:
    return A2A_JSON if (asked.version, asked.binding) == ("1.0", "rest") else JSON
