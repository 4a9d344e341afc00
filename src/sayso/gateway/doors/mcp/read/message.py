"""One JSON-RPC message, as MCP has it (JSON-RPC 2.0; MCP basic/index).

An id is text or an integer, never null, a fraction, a boolean or an object; params are an object. What is no message is
a `Fault`: what the JSON-RPC error that answers it will say. A message without an id is a
notification and is answered by nobody, so whether the member stands there decides, not whether it is any good.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from sayso.core.strictjson import JsonValue
from sayso.gateway.doors.mcp.codes import INVALID_PARAMS, INVALID_REQUEST

__all__ = (
    "Fault",
    "Message",
    "Notification",
    "Reply",
    "Request",
    "RequestId",
    "id_of",
    "invalid_params",
    "invalid_request",
    "read_message",
)

RequestId: TypeAlias = str | int
Params: TypeAlias = Mapping[str, JsonValue]

_REQUEST = frozenset({"jsonrpc", "id", "method", "params"})
_REPLIES = (frozenset({"jsonrpc", "id", "result"}), frozenset({"jsonrpc", "id", "error"}))
_NOTHING: Params = {}


class Request(msgspec.Struct, frozen=True):
    """A call that is owed an answer."""

    id: RequestId
    method: str
    params: Params


class Notification(msgspec.Struct, frozen=True):
    """Something the client tells and wants no answer to."""

    method: str
    params: Params


class Reply(msgspec.Struct, frozen=True):
    """A client's answer to a request of ours. We ask clients nothing, so it is taken and dropped."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a message: a registered code, and what its JSON-RPC error will say besides."""

    code: str
    message: str
    id: RequestId | None = None
    data: Mapping[str, JsonValue] | None = None
    place: str | None = None


Message: TypeAlias = Request | Notification | Reply | Fault


def read_message(value: JsonValue) -> Message:
    """One parsed value as a message."""
    if not isinstance(value, dict):
        return invalid_request("A message is a JSON object")
    if value.get("jsonrpc") != "2.0":
        return invalid_request('jsonrpc is "2.0"', "$.jsonrpc", id_of(value))
    method = value.get("method")
    if not isinstance(method, str):
        return Reply() if value.keys() in _REPLIES else invalid_request("A request names its method", "$.method")
    has_id = "id" in value
    found = id_of(value)
    if has_id and found is None:
        return invalid_request("An id is text or an integer", "$.id")
    if not value.keys() <= _REQUEST:
        return invalid_request(f"{min(value.keys() - _REQUEST)} is no member of a request", "$", found)
    params = value.get("params", _NOTHING)
    if not isinstance(params, dict):
        return invalid_params("params is an object", "$.params", found)
    return Notification(method, params) if found is None else Request(found, method, params)


def id_of(value: JsonValue) -> RequestId | None:
    """The id of a message that may be anything, where it has one that can be answered to."""
    found = value.get("id") if isinstance(value, dict) else None
    # A boolean is an int to Python and is none to JSON.
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def invalid_request(message: str, place: str | None = None, id_: RequestId | None = None) -> Fault:
    """The fault of a value that is no request."""
    return Fault(code=INVALID_REQUEST, message=message, place=place, id=id_)


def invalid_params(message: str, place: str | None = None, id_: RequestId | None = None) -> Fault:
    """The fault of a request whose params do not fit its method."""
    return Fault(code=INVALID_PARAMS, message=message, place=place, id=id_)
