"""JSON-RPC answers to bytes, and which HTTP status each goes under (GTW-021a, GTW-022).

A modern error says its kind in the status too. In a legacy session only what is no request at all does: there, 404
means that the session is gone, so an unknown method or tool must never be one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sayso.core.refusal import Refusal
from sayso.core.strictjson import JsonValue, encode
from sayso.gateway.crossing import Answer, Denial
from sayso.gateway.doors.mcp.codes import number_of
from sayso.gateway.doors.mcp.read.message import Fault, RequestId
from sayso.gateway.doors.mcp.read.revisions import SERVER_INFO_KEY, Era
from sayso.gateway.guard.rules.codes import find_code
from sayso.gateway.surface import UNKNOWN_RESOURCE

__all__ = (
    "NO_BODY",
    "batch_answer",
    "denial_answer",
    "error_of",
    "fault_answer",
    "refusal_of",
    "result_answer",
    "result_of",
    "status_of",
)

NO_BODY = Answer(status=202, content_type="")
"""What a notification is answered with."""

_IN_SESSION = frozenset({"unknown_method", "schema_invalid", "unknown_tool", "unknown_prompt", UNKNOWN_RESOURCE})
"""What a legacy session answers under 200: the request was one, and its answer is an error."""
_MISSING = -32002
"""A resource that is not there, up to 2025-11-25; later that is invalid params."""


def status_of(fault: Fault, era: Era) -> int:
    """The HTTP status of an error that a request of this era is answered with."""
    if fault.code in _IN_SESSION and era == "legacy":
        return 200
    return 400 if fault.code in (UNKNOWN_RESOURCE, "unknown_prompt") else find_code(fault.code).status


def refusal_of(fault: Fault) -> Refusal:
    """A fault as the refusal that is receipted."""
    return Refusal(code=fault.code, message=fault.message, place=fault.place, details=fault.data or {})


def result_of(id_: RequestId, result: Mapping[str, object], era: Era, identity: Mapping[str, JsonValue]) -> JsonValue:
    """A result as its message. A modern one says that it is complete, and who answers."""
    if era == "modern":
        meta = {SERVER_INFO_KEY: identity, **_meta(result)}
        result = {**result, "resultType": "complete", "_meta": meta}
    return {"jsonrpc": "2.0", "id": id_, "result": result}  # type: ignore[dict-item]


def _meta(result: Mapping[str, object]) -> Mapping[str, JsonValue]:
    found = result.get("_meta")
    return found if isinstance(found, dict) else {}


def error_of(fault: Fault, era: Era) -> JsonValue:
    """An error as its message."""
    error: dict[str, JsonValue] = {"code": _number(fault.code, era), "message": fault.message}
    told = {**(fault.data or {}), "code": fault.code, "place": fault.place}
    error["data"] = {name: value for name, value in told.items() if value is not None}
    return {"jsonrpc": "2.0", "id": fault.id, "error": error}


def _number(code: str, era: Era) -> int:
    if code == UNKNOWN_RESOURCE:
        return _MISSING if era == "legacy" else -32602
    return number_of(code, 400)


def result_answer(message: JsonValue, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    """One answered request."""
    return Answer(status=200, body=encode(message), headers=headers)


def batch_answer(messages: Sequence[JsonValue]) -> Answer:
    """The answers of a batch; none at all where it held notifications alone."""
    return Answer(status=200, body=encode(messages)) if messages else NO_BODY


def fault_answer(fault: Fault, era: Era) -> Answer:
    """One request that is answered with an error."""
    return Answer(status=status_of(fault, era), body=encode(error_of(fault, era)))


def denial_answer(id_: RequestId | None, denial: Denial) -> Answer:
    """A request that was not let through: the number of its code, and the whole refusal as data."""
    refusal = denial.refusal
    number = -32602 if refusal.code == UNKNOWN_RESOURCE else number_of(refusal.code, denial.status)
    error = {"code": number, "message": refusal.message, "data": _data_of(refusal, denial)}
    allowed = refusal.details.get("allow")
    headers = ((b"allow", str(allowed).encode()),) if allowed else ()
    return Answer(status=denial.status, body=encode({"jsonrpc": "2.0", "id": id_, "error": error}), headers=headers)


def _data_of(refusal: Refusal, denial: Denial) -> Mapping[str, JsonValue]:
    told: dict[str, JsonValue] = {
        "code": refusal.code,
        "reason": refusal.reason,
        "place": refusal.place,
        "help": refusal.help,
        "violations_left": denial.left,
        "retry_after": denial.retry_after,
    }
    return {**refusal.details, **{name: value for name, value in told.items() if value is not None}}
