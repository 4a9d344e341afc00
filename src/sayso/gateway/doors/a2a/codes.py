"""The errors of A2A itself: JSON-RPC number, HTTP status, gRPC status, reason (A2A 1.0 section 5.4), and 0.3's name.

By JSON-RPC such an error rides on HTTP 200, since the request was understood; only a body that is no JSON-RPC request
at all is answered with 400 (GTW-022). What the guard or an act refuses is in the guard's registry and keeps the HTTP
status it has there, by JSON-RPC too (GTW-021a).
"""

from __future__ import annotations

import msgspec

from sayso.core.refusal import Refusal, Refused
from sayso.gateway.guard.rules.codes import UNLISTED, find_code

__all__ = (
    "DOMAIN",
    "ERRORS",
    "OWN_DOMAIN",
    "Error",
    "content_type_not_supported",
    "find_error",
    "invalid_params",
    "invalid_request",
    "method_not_found",
    "status_of",
    "task_not_cancelable",
    "task_not_found",
    "translate",
    "unsupported_operation",
    "version_not_supported",
)

DOMAIN = "a2a-protocol.org"
OWN_DOMAIN = "sayso.example"


class Error(msgspec.Struct, frozen=True):
    """One row. `named` is what 0.3's REST binding calls it."""

    code: str
    rpc: int
    http: int
    grpc: str
    reason: str
    named: str
    domain: str = DOMAIN


ERRORS = {
    error.code: error
    for error in (
        Error("task_not_found", -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND", "TaskNotFoundError"),
        Error(
            "task_not_cancelable", -32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", "TaskNotCancelableError"
        ),
        Error(
            "unsupported_operation", -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION",
            "UnsupportedOperationError",
        ),
        Error(
            "content_type_not_supported", -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED",
            "ContentTypeNotSupportedError",
        ),
        Error(
            "version_not_supported", -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED",
            "VersionNotSupportedError",
        ),
        Error("invalid_request", -32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST", "InvalidRequestError"),
        Error("method_not_found", -32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND", "MethodNotFoundError"),
        Error("invalid_params", -32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "InvalidParamsError"),
        Error("internal_error", -32603, 500, "INTERNAL", "INTERNAL_ERROR", "InternalError"),
        Error("malformed_json", -32700, 400, "INVALID_ARGUMENT", "INVALID_REQUEST", "JSONParseError"),
    )
}  # fmt: skip
_NO_REQUEST = frozenset({"malformed_json", "invalid_request", "internal_error"})
_GRPC = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
# What an act, the Gate or the fetcher says of what the caller sent, and the error of A2A that says the same.
_SAME = {
    "schema_invalid": "invalid_params",
    "unclassified_act": "invalid_params",
    "url_not_allowed": "invalid_params",
    "malformed_instant": "invalid_params",
    "unknown_proposal": "task_not_found",
    "already_decided": "task_not_cancelable",
    "proposal_expired": "task_not_cancelable",
}


def find_error(code: str, status: int) -> Error:
    """The row of a code: A2A's own, or one made of the guard's registry."""
    if code in ERRORS:
        return ERRORS[code]
    listed = find_code(code)
    number = listed.rpc if listed is not UNLISTED else status * 100
    return Error(code, number, status, _GRPC.get(status, "UNKNOWN"), code.upper(), code, OWN_DOMAIN)


def translate(refusal: Refusal) -> Refusal:
    """A refusal from within the house under the name that A2A has for it, where it has one."""
    code = _SAME.get(refusal.code)
    return refusal if code is None else msgspec.structs.replace(refusal, code=code)


def status_of(code: str, *, by_rpc: bool) -> int:
    """The HTTP status to refuse with."""
    if code not in ERRORS:
        return find_code(code).status
    return 200 if by_rpc and code not in _NO_REQUEST else ERRORS[code].http


def task_not_found() -> Refused:
    """The one answer for a task that does not exist and for one that is another agent's: not a byte differs."""
    return Refused.because("task_not_found", "There is no such task of yours", place="id", help="Look at the id.")


def task_not_cancelable(state: str) -> Refused:
    """A task that has begun or ended is not taken back."""
    return Refused.because(
        "task_not_cancelable", f"The task is {state}, and that is not taken back", help="Read the task again."
    )


def unsupported_operation(message: str, help_: str) -> Refused:
    """What this task, or this house, does not do."""
    return Refused.because("unsupported_operation", message, help=help_)


def content_type_not_supported(message: str, place: str) -> Refused:
    """A part that is neither text nor JSON data."""
    return Refused.because(
        "content_type_not_supported", message, place=place, help="Send text, or data with an act and its arguments."
    )


def version_not_supported(message: str) -> Refused:
    """A version we do not speak, or a method of 1.0 without saying so."""
    return Refused.because(
        "version_not_supported", message, place="A2A-Version", help="Send A2A-Version: 1.0, or 0.3, or none for 0.3."
    )


def invalid_request(message: str, place: str = "$") -> Refused:
    """JSON, and no request."""
    return Refused.because("invalid_request", message, place=place, help="Send one JSON-RPC 2.0 request object.")


def method_not_found(message: str) -> Refused:
    """No operation has that name in the version spoken."""
    return Refused.because("method_not_found", message, place="$.method", help="Compare with the version you speak.")


def invalid_params(message: str, place: str) -> Refused:
    """A member with the wrong shape."""
    return Refused.because("invalid_params", message, place=place, help="Compare with the protocol.")
