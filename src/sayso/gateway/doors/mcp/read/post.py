"""A POST at the door: which era it is of, and the message or messages in it.

Read in this order, and the first rung that fails answers: media types; JSON (-32700); batch or single; the shape of the
message (-32600); then, for a modern request, its metadata (-32602), the headers that mirror it (-32020), its revision
(-32022). Whether a legacy request has a session, and whether a method exists, is the endpoint's to say.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue, parse
from sayso.gateway.doors.mcp.codes import HEADER_MISMATCH, NOT_ACCEPTABLE, PARSE_ERROR, UNSUPPORTED_VERSION
from sayso.gateway.doors.mcp.read.head import Head, accepts, decode_value
from sayso.gateway.doors.mcp.read.message import (
    Fault,
    Message,
    Notification,
    Request,
    RequestId,
    id_of,
    invalid_params,
    invalid_request,
    read_message,
)
from sayso.gateway.doors.mcp.read.revisions import BATCHING, CAPABILITIES_KEY, LEGACY, MODERN, SERVED, VERSION_KEY

__all__ = ("BATCH_CAP", "Legacy", "Modern", "Post", "read_post", "readable_id", "unsupported")

BATCH_CAP = 16
"""Messages in one batch; more would be a way around every limit that counts requests."""

_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Which member of the params the header Mcp-Name repeats."""


class Modern(msgspec.Struct, frozen=True):
    """A message that says everything about itself."""

    message: Request | Notification


class Legacy(msgspec.Struct, frozen=True):
    """What came in a session, or opens one."""

    messages: tuple[Message, ...]
    is_batch: bool


Post: TypeAlias = Modern | Legacy | Fault


def read_post(head: Head, body: bytes) -> Post:
    """The whole of it: headers and body to messages, or the fault that answers."""
    fault = _media_types(head)
    if fault is not None:
        return fault
    try:
        value = parse(body)
    except Refused as refused:
        said = refused.refusal
        data: dict[str, JsonValue] = {"reason": said.reason or said.code}
        return Fault(code=PARSE_ERROR, message=said.message, place=said.place, data=data)
    if _is_modern(head, value):
        return _modern(head, value)
    if head.version is not None and head.version not in LEGACY:
        return unsupported(head.version, id_of(value))
    if isinstance(value, list):
        return _batch(head, value)
    message = read_message(value)
    return message if isinstance(message, Fault) else Legacy((message,), is_batch=False)


def readable_id(body: bytes) -> RequestId | None:
    """The id that a refusal of these bytes can be tied to; None for bytes that are no message, or several."""
    try:
        return id_of(parse(body))
    except Refused:
        return None


def _media_types(head: Head) -> Fault | None:
    media_type = (head.content_type or "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        return invalid_request("A message is sent as application/json", "Content-Type")
    if not accepts(head.accept, "application/json"):
        return Fault(code=NOT_ACCEPTABLE, message="Answers are JSON or an event stream; accept both", place="Accept")
    return None


def _is_modern(head: Head, value: JsonValue) -> bool:
    if head.version == MODERN:
        return True
    params = value.get("params") if isinstance(value, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and VERSION_KEY in meta


def _batch(head: Head, values: list[JsonValue]) -> Post:
    if head.version not in (None, BATCHING):
        return invalid_request(f"Only {BATCHING} has batches")
    if not 0 < len(values) <= BATCH_CAP:
        return invalid_request(f"A batch holds 1 to {BATCH_CAP} messages")
    return Legacy(tuple(read_message(value) for value in values), is_batch=True)


def _modern(head: Head, value: JsonValue) -> Post:
    if isinstance(value, list):
        return invalid_request(f"Only {BATCHING} has batches")
    message = read_message(value)
    if isinstance(message, Fault):
        return message
    if isinstance(message, Notification):
        # The revision defines none over HTTP; what is sent all the same is taken and has no effect.
        return Modern(message) if head.version == MODERN else unsupported(head.version or "")
    if not isinstance(message, Request):
        return invalid_request("A client answers nothing in this revision")
    return _metadata(head, message) or _mirrors(head, message) or _revision(message) or Modern(message)


def _metadata(head: Head, message: Request) -> Fault | None:
    meta = message.params.get("_meta")
    if not isinstance(meta, dict):
        return invalid_params("params._meta is an object", "$.params._meta", message.id)
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]
    if missing:
        return invalid_params(f"params._meta lacks {' and '.join(missing)}", "$.params._meta", message.id)
    if not isinstance(meta[VERSION_KEY], str) or not isinstance(meta[CAPABILITIES_KEY], dict):
        return invalid_params("A version is text and capabilities are an object", "$.params._meta", message.id)
    return None


def _mirrors(head: Head, message: Request) -> Fault | None:
    meta = message.params["_meta"]
    version = meta[VERSION_KEY] if isinstance(meta, dict) else None
    if head.version != version:
        return _mismatch("MCP-Protocol-Version is not what the body says", "MCP-Protocol-Version", message.id)
    if head.method != message.method:
        return _mismatch("Mcp-Method is not what the body says", "Mcp-Method", message.id)
    member = _NAMES.get(message.method)
    if member is None:
        return None
    named = message.params.get(member)
    # A name that is no text is judged with the other params; there is nothing yet that a header could mirror.
    if isinstance(named, str) and (head.name is None or decode_value(head.name) != named):
        return _mismatch(f"Mcp-Name is not the body's {member}", "Mcp-Name", message.id)
    return None


def _revision(message: Request) -> Fault | None:
    meta = message.params["_meta"]
    version = meta[VERSION_KEY] if isinstance(meta, dict) else None
    return None if version == MODERN else unsupported(str(version), message.id)


def _mismatch(text: str, place: str, id_: RequestId | None) -> Fault:
    return Fault(code=HEADER_MISMATCH, message=text, place=place, id=id_)


def unsupported(requested: str, id_: RequestId | None = None) -> Fault:
    """The fault of a revision that is not served: what was asked for, and what could be."""
    data: dict[str, JsonValue] = {"supported": list(SERVED), "requested": requested}
    return Fault(code=UNSUPPORTED_VERSION, message="That revision is not spoken here", data=data, id=id_)
