"""Operations of A2A 0.3 by their JSON-RPC names, and what its REST binding has instead of them."""

from __future__ import annotations

from collections.abc import Callable

from sayso.gateway.doors.a2a.codes import invalid_params
from sayso.gateway.doors.a2a.read.members import Members
from sayso.gateway.doors.a2a.read.message import Spelling, read_message, read_push
from sayso.gateway.doors.a2a.values import (
    Call,
    Cancel,
    ExtendedCard,
    Find,
    PushDelete,
    PushFind,
    PushList,
    PushSet,
    Send,
    Subscribe,
)

__all__ = ("METHODS", "read_rest_push", "read_send")


def read_send(params: Members, spelling: Spelling, *, is_streamed: bool) -> Send:
    """A message with its settings. Refused: as `read_message`."""
    # protobuf's own name of the member is `request`; its JSON name is `message`.
    named = "request" if spelling == "0.3 rest" and params.has("request") else "message"
    message = params.the_object(named)
    settings = params.object("configuration")
    push = None
    if settings is not None:
        push = settings.object("pushNotification" if spelling == "0.3 rest" else "pushNotificationConfig")
    return Send(
        message=read_message(message, spelling),
        place=message.place,
        is_streamed=is_streamed,
        # 0.3 takes 0 for all of it, 1.0 for none.
        history=(settings.number("historyLength") or None) if settings else None,
        push=read_push(push, "", is_nested=True) if push else None,
    )


def read_rest_push(body: Members, task: str) -> PushSet:
    """The REST body: either protobuf's request message (`config`, `config_id`) or the bare configuration."""
    outer = body.object("config") or body
    inner = outer.object("pushNotificationConfig") or outer
    config = read_push(inner, task, is_nested=True)
    return PushSet(config=config)


def _set_push(params: Members) -> Call:
    return PushSet(
        config=read_push(params.the_object("pushNotificationConfig"), params.the_word("taskId"), is_nested=True)
    )


def _find(params: Members) -> Call:
    return Find(task=params.the_word("id"), history=params.number("historyLength") or None)


def _delete_push(params: Members) -> Call:
    id_ = params.word("pushNotificationConfigId")
    if id_ is None:
        raise invalid_params("This id is missing", params.at("pushNotificationConfigId"))
    return PushDelete(task=params.the_word("id"), id=id_)


METHODS: dict[str, Callable[[Members], Call]] = {
    "message/send": lambda params: read_send(params, "0.3", is_streamed=False),
    "message/stream": lambda params: read_send(params, "0.3", is_streamed=True),
    "tasks/get": _find,
    "tasks/cancel": lambda params: Cancel(task=params.the_word("id")),
    "tasks/resubscribe": lambda params: Subscribe(task=params.the_word("id")),
    "tasks/pushNotificationConfig/set": _set_push,
    "tasks/pushNotificationConfig/get": lambda params: PushFind(
        task=params.the_word("id"), id=params.word("pushNotificationConfigId")
    ),
    "tasks/pushNotificationConfig/list": lambda params: PushList(task=params.the_word("id")),
    "tasks/pushNotificationConfig/delete": _delete_push,
    "agent/getAuthenticatedExtendedCard": lambda _params: ExtendedCard(),
}
"""Each operation's reader of its parameters."""
