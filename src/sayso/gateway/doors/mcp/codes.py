"""The codes of this door, and which JSON-RPC number each refusal has (GTW-021a).

MCP's own situations keep MCP's numbers; everything the gateway adds has a number of its own, its HTTP status followed
by two digits, outside what JSON-RPC keeps for itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sayso.gateway.guard.rules.codes import Code, declare, find_code

__all__ = (
    "HEADER_MISMATCH",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "NOT_ACCEPTABLE",
    "NUMBERS",
    "PARSE_ERROR",
    "SESSION_REQUIRED",
    "TOO_MANY_STREAMS",
    "UNKNOWN_METHOD",
    "UNKNOWN_SESSION",
    "UNKNOWN_TOOL",
    "UNSUPPORTED_VERSION",
    "number_of",
)

PARSE_ERROR = "malformed_json"
INVALID_REQUEST = "malformed_request"
INVALID_PARAMS = "schema_invalid"
HEADER_MISMATCH = declare(
    Code("header_mismatch", 400, 40020, "A header does not say what the body says", "Send both from one value.")
).code
UNSUPPORTED_VERSION = declare(
    Code("unsupported_version", 400, 40021, "That revision is not spoken here", "Use one of those listed.")
).code
SESSION_REQUIRED = declare(
    Code("session_required", 400, 40022, "There is no session in this request", "Send initialize first.")
).code
UNKNOWN_TOOL = declare(Code("unknown_tool", 400, 40023, "There is no such tool", "List the tools.")).code
UNKNOWN_METHOD = declare(Code("unknown_method", 404, 40420, "There is no such method here", "Look at its name.")).code
UNKNOWN_SESSION = declare(
    Code("unknown_session", 404, 40421, "There is no such session of yours", "Send initialize again.")
).code
NOT_ACCEPTABLE = declare(
    Code("not_acceptable", 406, 40601, "Nothing that is sent here is accepted",
         "Accept application/json and text/event-stream.")
).code  # fmt: skip

TOO_MANY_STREAMS = declare(
    Code("too_many_streams", 403, 40320, "This agent has as many streams open as it may", "Close one first.")
).code

NUMBERS: Mapping[str, int] = MappingProxyType(
    {
        PARSE_ERROR: -32700,
        INVALID_REQUEST: -32600,
        UNKNOWN_METHOD: -32601,
        INVALID_PARAMS: -32602,
        UNKNOWN_TOOL: -32602,
        "unknown_prompt": -32602,
        "internal_error": -32603,
        HEADER_MISMATCH: -32020,
        UNSUPPORTED_VERSION: -32022,
    }
)
"""MCP's numbers. A resource that is not there has one of two, by revision."""


def number_of(code: str, status: int) -> int:
    """The JSON-RPC number of a code; for one that nobody declared, its status and two zeros."""
    return NUMBERS.get(code) or find_code(code).rpc or status * 100
