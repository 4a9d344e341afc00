"""The lines of the hub over stdio: a host's request in, an answer or a line of a subscription out (OAP-116..122).

A request is `{"id": int64, "op": ...}` and members from a fixed list. What makes a line unreadable ends the connection,
because a stream whose boundaries are in doubt carries nothing that can be trusted; what is readable and wrong is
answered under its id. Which op takes which member is `OPS`; a member counts as given when it is there, null included,
and where the op defines it null is the same as absent.

A line that is too long to leave is made smaller, never dropped: a refusal sheds its details, an ending its ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from sayso.control.protocol.codes import CODES
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.scalars import UNSET, Maybe
from sayso.core import strictjson
from sayso.core.refusal import Misuse, Refused

__all__ = ("OPS", "Op", "StdioRequest", "event_line", "read_request", "refusal_line", "result_line", "verify_members")

_MESSAGE_LIMIT = 300
_NAME_LIMIT = 64
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class StdioRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One readable line. `given` are the members that were there, null or not; `size` is the line's in bytes."""

    id: Int64
    op: str
    adapter: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    after: object = None
    request: object = None
    allow_degraded_features: tuple[str, ...] | None = None
    limit: Int64 | None = None
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Op:
    """What an op takes, and what of it must be there."""

    takes: frozenset[str]
    needs: tuple[str, ...]


def _op(*needs: str, takes: tuple[str, ...] = ()) -> Op:
    return Op(frozenset((*needs, *takes)), needs)


OPS: Mapping[str, Op] = {
    "adapters": _op(),
    "capabilities": _op("adapter"),
    "open": _op("adapter", "request"),
    "sessions": _op(),
    "history": _op(takes=("limit", "cursor")),
    "state": _op("session_id"),
    "models": _op("session_id", takes=("allow_degraded_features",)),
    "tools": _op("session_id", takes=("allow_degraded_features",)),
    "submit": _op("session_id", "request"),
    "resolve": _op("session_id", "request"),
    "cancel": _op("session_id", "request"),
    "settings": _op("session_id", "request"),
    "close": _op("session_id"),
    "events": _op("session_id", takes=("after", "run_id")),
}
_MEMBERS = frozenset(StdioRequest.__struct_fields__)
_LINE_MEMBERS = _MEMBERS - {"id", "op"}


def read_request(line: bytes) -> tuple[StdioRequest, frozenset[str]]:
    """A line to its request and the members that were given. Raises `Refused` `malformed_line`, which is fatal."""
    if not line:
        raise _malformed("it is empty")
    if b"\r" in line:
        raise _malformed("it holds a carriage return")
    try:
        value = strictjson.parse(line)
    except Refused as refused:
        raise _malformed(f"{refused.refusal.message} ({refused.refusal.place})") from None
    if not isinstance(value, Mapping):
        raise _malformed("it is no JSON object")
    unknown = sorted(value.keys() - _MEMBERS)
    if unknown:
        raise _malformed(f"nobody knows the member {unknown[0][:_NAME_LIMIT]!r}")
    for name in ("id", "op"):
        if value.get(name) is None:
            raise _malformed(f"it has no `{name}`")
    try:
        request = msgspec.convert(value, StdioRequest, strict=True)
    except msgspec.ValidationError as error:
        raise _malformed(str(error)) from None
    return request, frozenset(value) & _LINE_MEMBERS


def verify_members(request: StdioRequest, given: frozenset[str]) -> None:
    """Raises `Refused`: `unknown_op`; `invalid_request` for a member the op does not take, or one it misses."""
    op = OPS.get(request.op)
    if op is None:
        raise Refused.because("unknown_op", f"there is no op {request.op[:_NAME_LIMIT]!r}")
    foreign = sorted(given - op.takes)
    if foreign:
        raise Refused.because("invalid_request", f"`{request.op}` takes no `{foreign[0]}`", place=f"$.{foreign[0]}")
    for name in op.needs:
        if getattr(request, name) in (None, ""):
            raise Refused.because("invalid_request", f"`{request.op}` needs `{name}`", place=f"$.{name}")


# --- lines out -------------------------------------------------------------------------------------------------------


class _Failure(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    ok: bool
    result: None
    error: ProtocolError


def result_line(request_id: int, result: bytes, limit: int) -> bytes:
    """The success of a request; `result` is JSON. Over the limit it is `response_too_large` instead."""
    line = b'{"id":%d,"ok":true,"result":%b}' % (request_id, result)
    if len(line) <= limit:
        return line
    row = CODES["response_too_large"]
    return refusal_line(request_id, ProtocolError(code=row.name, message=row.meaning), limit)


def refusal_line(request_id: int, error: ProtocolError, limit: int) -> bytes:
    """The refusal of a request; its message is bounded, and its details are shed before its code would be."""
    bounded = msgspec.structs.replace(error, message=error.message[:_MESSAGE_LIMIT])
    for each in (bounded, msgspec.structs.replace(bounded, details=UNSET), ProtocolError(code=error.code, message="")):
        line = strictjson.encode(_Failure(id=request_id, ok=False, result=None, error=each))
        if len(line) <= limit:
            return line
    raise Misuse("a frame holds at least a refusal")


class _EventHead(msgspec.Struct, frozen=True, kw_only=True):
    event: str
    id: int
    session_id: Maybe[str] = UNSET
    run_id: Maybe[str] = UNSET
    sequence: Maybe[int] = UNSET
    joined_after: Maybe[int] = UNSET
    last_sequence: Maybe[int] = UNSET
    requested_after: Maybe[int] = UNSET
    oldest_available: Maybe[int] = UNSET
    latest_available: Maybe[int] = UNSET
    message: Maybe[str] = UNSET


def event_line(event: str, request_id: int, limit: int, envelope: bytes | None = None, **members: object) -> bytes:
    """A line of a subscription, under the id of the request that began it; empty when it cannot be made to fit.

    Sheds `session_id`, `run_id` and `message` when the whole is too long; an envelope is never shed.
    """
    small = {name: value for name, value in members.items() if name not in ("session_id", "run_id", "message")}
    for each in (members,) if envelope is not None else (members, small):
        line = strictjson.encode(msgspec.convert({"event": event, "id": request_id, **each}, _EventHead))
        if envelope is not None:
            line = b'%b,"envelope":%b}' % (line[:-1], envelope)
        if len(line) <= limit:
            return line
    return b""


def _malformed(why: str) -> Refused:
    return Refused.because("malformed_line", why[:_MESSAGE_LIMIT])
