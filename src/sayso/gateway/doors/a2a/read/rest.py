"""The REST bindings: a method, a path and a query name the operation; 0.3's paths begin with `/v1`.

Paths of 1.0 without `A2A-Version: 1.0` are refused as its JSON-RPC methods are. Ids stand in the path, the other
members of a GET in its query, as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue
from sayso.gateway.crossing import Crossing
from sayso.gateway.doors.a2a.codes import version_not_supported
from sayso.gateway.doors.a2a.read import v03, v10
from sayso.gateway.doors.a2a.read.envelope import parse_body
from sayso.gateway.doors.a2a.read.members import Members
from sayso.gateway.doors.a2a.read.version import read_path, read_query
from sayso.gateway.doors.a2a.values import (
    Asked,
    Call,
    Cancel,
    ExtendedCard,
    Find,
    PushDelete,
    PushFind,
    PushList,
    Subscribe,
    Version,
)
from sayso.gateway.guard.rules.codes import refusal
from sayso.gateway.guard.rules.limits import Limits

__all__ = ("ROUTES", "read_rest")

_ID = r"([^/:]{1,384})"
_NUMBERS = frozenset({"pageSize", "historyLength"})
_FLAGS = {"true": True, "false": False}
_DIGITS = re.compile(r"-?[0-9]{1,9}")

Reader = Callable[[Members, tuple[str, ...]], Call]


def _new(method: str, *names: str) -> Reader:
    """1.0: the ids of the path join the other members, and JSON-RPC's reader takes it from there."""

    def read(members: Members, ids: tuple[str, ...]) -> Call:
        joined = {**members.everything(), **dict(zip(names, ids, strict=True))}
        return v10.METHODS[method](Members(joined, members.place, snake=True))

    return read


def _old_find(members: Members, ids: tuple[str, ...]) -> Call:
    return Find(task=_word(ids[0]), history=members.number("historyLength") or None)


def _word(text: str) -> str:
    return Members({"id": text}, "path").the_word("id")


_TASK = rf"/tasks/{_ID}"
_PUSHES = rf"{_TASK}/pushNotificationConfigs"
_V10: tuple[tuple[str, str, Reader], ...] = (
    ("POST", r"/message:send", _new("SendMessage")),
    ("POST", r"/message:stream", _new("SendStreamingMessage")),
    ("GET", _TASK, _new("GetTask", "id")),
    ("GET", r"/tasks", _new("ListTasks")),
    ("POST", rf"{_TASK}:cancel", _new("CancelTask", "id")),
    ("POST", rf"{_TASK}:subscribe", _new("SubscribeToTask", "id")),
    ("GET", rf"{_TASK}:subscribe", _new("SubscribeToTask", "id")),
    ("POST", _PUSHES, _new("CreateTaskPushNotificationConfig", "taskId")),
    ("GET", _PUSHES, _new("ListTaskPushNotificationConfigs", "taskId")),
    ("GET", rf"{_PUSHES}/{_ID}", _new("GetTaskPushNotificationConfig", "taskId", "id")),
    ("DELETE", rf"{_PUSHES}/{_ID}", _new("DeleteTaskPushNotificationConfig", "taskId", "id")),
    ("GET", r"/extendedAgentCard", _new("GetExtendedAgentCard")),
)
_V03: tuple[tuple[str, str, Reader], ...] = (
    ("POST", r"/v1/message:send", lambda members, _: v03.read_send(members, "0.3 rest", is_streamed=False)),
    ("POST", r"/v1/message:stream", lambda members, _: v03.read_send(members, "0.3 rest", is_streamed=True)),
    ("GET", rf"/v1{_TASK}", _old_find),
    ("POST", rf"/v1{_TASK}:cancel", lambda _, ids: Cancel(task=_word(ids[0]))),
    ("POST", rf"/v1{_TASK}:subscribe", lambda _, ids: Subscribe(task=_word(ids[0]))),
    ("GET", rf"/v1{_TASK}:subscribe", lambda _, ids: Subscribe(task=_word(ids[0]))),
    ("POST", rf"/v1{_PUSHES}", lambda members, ids: v03.read_rest_push(members, _word(ids[0]))),
    ("GET", rf"/v1{_PUSHES}", lambda _, ids: PushList(task=_word(ids[0]))),
    ("GET", rf"/v1{_PUSHES}/{_ID}", lambda _, ids: PushFind(task=_word(ids[0]), id=_word(ids[1]))),
    ("DELETE", rf"/v1{_PUSHES}/{_ID}", lambda _, ids: PushDelete(task=_word(ids[0]), id=_word(ids[1]))),
    ("GET", r"/v1/card", lambda *_: ExtendedCard()),
)
_TABLES: tuple[tuple[Version, tuple[tuple[str, str, Reader], ...]], ...] = (("1.0", _V10), ("0.3", _V03))
ROUTES: tuple[tuple[Version, str, re.Pattern[str], Reader], ...] = tuple(
    (spoken, method, re.compile(path), reader) for spoken, table in _TABLES for method, path, reader in table
)
"""Every operation: its version, HTTP method, path and reader."""


def read_rest(crossing: Crossing, version: Version, limits: Limits) -> Asked:
    """Refused: `no_such_path`, `method_not_allowed`, `version_not_supported`, and what the body's reader refuses."""
    path = _path(crossing)
    allowed: list[str] = []
    for of_version, method, pattern, reader in ROUTES:
        found = pattern.fullmatch(path)
        if found is None:
            continue
        if method != crossing.method:
            allowed.append(method)
            continue
        if of_version != version:
            raise version_not_supported(f"That address belongs to A2A {of_version}, and the request speaks {version}")
        members = Members(_members(crossing, limits), "query" if method == "GET" else "$", snake=True)
        return Asked(call=reader(members, found.groups()), version=version, binding="rest")
    if allowed:
        raise Refused(refusal("method_not_allowed", place="method", allow=", ".join(sorted(allowed))))
    raise Refused(refusal("no_such_path", place="path"))


def _path(crossing: Crossing) -> str:
    """The path with its percent signs read; empty, which is no operation's, where they spell no characters."""
    try:
        return unquote(read_path(crossing), errors="strict") if crossing.target.isascii() else ""
    except UnicodeDecodeError:
        return ""


def _members(crossing: Crossing, limits: Limits) -> JsonValue:
    if crossing.method == "POST":
        return parse_body(crossing.body, limits) if crossing.body else {}
    found: dict[str, Any] = {name: value for name, value in read_query(crossing).items() if name != "A2A-Version"}
    for name, value in found.items():
        if name in _NUMBERS and _DIGITS.fullmatch(value):
            found[name] = int(value)
        elif name == "includeArtifacts":
            found[name] = _FLAGS.get(value, value)
    return found
