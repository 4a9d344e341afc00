"""JSON-RPC 2.0, as far as A2A uses it: one request with an id, never a batch, never a notification (GTW-021a)."""

from __future__ import annotations

import msgspec

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue
from sayso.gateway.doors.a2a.codes import invalid_request
from sayso.gateway.doors.a2a.read.members import Members
from sayso.gateway.doors.a2a.values import RequestId
from sayso.gateway.guard.rules.limits import Limits, scan_depth

__all__ = ("RpcRequest", "parse_body", "read_envelope", "read_id")

_LONGEST_ID = 256
_LONGEST_METHOD = 100
_LARGEST_ID = 2**53 - 1


class RpcRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request before its parameters are looked at."""

    id: RequestId
    method: str
    params: Members


def parse_body(body: bytes, limits: Limits) -> JsonValue:
    """One JSON value. Refused: `payload_limits` for too many levels, before parsing; `malformed_json`."""
    scan_depth(body, limits.envelope_levels)
    return strictjson.parse(body)


def read_envelope(body: bytes, limits: Limits) -> RpcRequest:
    """Refused: `payload_limits`, `malformed_json`, `invalid_request`, `invalid_params` (params that are no object)."""
    value = parse_body(body, limits)
    if isinstance(value, list):
        raise invalid_request("A2A has no batches")
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise invalid_request("This is no JSON-RPC 2.0 request")
    method = value.get("method")
    if not isinstance(method, str) or len(method) > _LONGEST_METHOD:
        raise invalid_request("The method is a short text", "$.method")
    if not _is_id(value.get("id")):
        raise invalid_request("An id is a short text or a whole number, and every request has one", "$.id")
    params = value.get("params")
    return RpcRequest(id=value["id"], method=method, params=Members({} if params is None else params, "$.params"))


def read_id(body: bytes, limits: Limits) -> RequestId:
    """The id to answer under, as far as the body lets it be read; never refuses."""
    try:
        value = parse_body(body, limits)
    except Refused:
        return None
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str | int) and _is_id(found) else None


def _is_id(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return len(value) <= _LONGEST_ID
    return isinstance(value, int) and abs(value) <= _LARGEST_ID
