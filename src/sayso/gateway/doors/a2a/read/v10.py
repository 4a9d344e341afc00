"""Operations of A2A 1.0 by their JSON-RPC names; REST brings the same members in its path, query and body."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from sayso.core.instants import parse_instant
from sayso.core.refusal import Refused
from sayso.gateway.doors.a2a.codes import invalid_params
from sayso.gateway.doors.a2a.read.members import Members
from sayso.gateway.doors.a2a.read.message import read_message, read_push
from sayso.gateway.doors.a2a.values import (
    Call,
    Cancel,
    ExtendedCard,
    Find,
    Listing,
    PushDelete,
    PushFind,
    PushList,
    PushSet,
    Send,
    State,
    Subscribe,
)

__all__ = ("METHODS", "STATES")

_DEFAULT_PAGE, _LARGEST_PAGE = 50, 100
STATES = {f"TASK_STATE_{state.value.replace('-', '_').upper()}": state for state in State}
"""The wire's names of the states."""


def _send(params: Members, *, is_streamed: bool = False) -> Call:
    message = params.the_object("message")
    settings = params.object("configuration")
    push = settings.object("taskPushNotificationConfig") if settings else None
    return Send(
        message=read_message(message, "1.0"),
        place=message.place,
        is_streamed=is_streamed,
        history=settings.number("historyLength") if settings else None,
        push=read_push(push, "", is_nested=False) if push else None,
    )


def _stream(params: Members) -> Call:
    return _send(params, is_streamed=True)


def _list(params: Members) -> Call:
    return Listing(
        context=params.word("contextId"),
        state=_state(params),
        size=params.number("pageSize", least=1, most=_LARGEST_PAGE) or _DEFAULT_PAGE,
        after=params.text("pageToken", most=256) or None,
        history=params.number("historyLength"),
        since=_instant(params, "statusTimestampAfter"),
        with_artifacts=params.flag("includeArtifacts"),
    )


def _state(params: Members) -> State | None:
    said = params.text("status")
    if said in (None, "", "TASK_STATE_UNSPECIFIED"):
        return None
    try:
        return STATES[str(said)]
    except KeyError:
        raise invalid_params("There is no such state", params.at("status")) from None


def _instant(params: Members, name: str) -> datetime | None:
    said = params.text(name, most=64)
    if not said:
        return None
    try:
        return parse_instant(said)
    except Refused as refused:
        raise invalid_params(refused.refusal.message, params.at(name)) from None


METHODS: dict[str, Callable[[Members], Call]] = {
    "SendMessage": _send,
    "SendStreamingMessage": _stream,
    "GetTask": lambda params: Find(task=params.the_word("id"), history=params.number("historyLength")),
    "ListTasks": _list,
    "CancelTask": lambda params: Cancel(task=params.the_word("id")),
    "SubscribeToTask": lambda params: Subscribe(task=params.the_word("id")),
    "CreateTaskPushNotificationConfig": lambda params: PushSet(
        config=read_push(params, params.the_word("taskId"), is_nested=False)
    ),
    "GetTaskPushNotificationConfig": lambda params: PushFind(task=params.the_word("taskId"), id=params.the_word("id")),
    "ListTaskPushNotificationConfigs": lambda params: PushList(task=params.the_word("taskId")),
    "DeleteTaskPushNotificationConfig": lambda params: PushDelete(
        task=params.the_word("taskId"), id=params.the_word("id")
    ),
    "GetExtendedAgentCard": lambda _params: ExtendedCard(),
}
"""Each operation's reader of its parameters."""
