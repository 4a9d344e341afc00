"""From a request's bytes to what is asked of the task feed (GTW-005, GTW-006, GTW-021)."""

from __future__ import annotations

import re
from typing import TypeAlias

import msgspec

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.gateway.crossing import Crossing
from sayso.gateway.doors.tasks.wire import Result
from sayso.gateway.guard.rules.codes import refusal
from sayso.gateway.guard.rules.limits import Limits, check_payload, scan_depth

__all__ = ("PREFIX", "Call", "Deliver", "ReadFeed", "read_call")

PREFIX = b"/api/protocols/tasks"
_RESULT = re.compile(re.escape(PREFIX) + rb"/([^/?]+)/result")
_ID = re.compile(r"[A-Za-z0-9_]{1,64}")
_JSON = re.compile(r"application/json(?:[ \t]*;[ \t]*charset=\"?utf-8\"?)?", re.IGNORECASE)


class ReadFeed(msgspec.Struct, frozen=True):
    """`GET /api/protocols/tasks`."""


class Deliver(msgspec.Struct, frozen=True):
    """`POST /api/protocols/tasks/{runId}/result`."""

    run_id: str
    result: Result


Call: TypeAlias = ReadFeed | Deliver


def read_call(crossing: Crossing, limits: Limits) -> Call:
    """What is asked. Refused: `no_such_path`, `malformed_request`, `malformed_json`, `schema_invalid`,
    `payload_limits`, `run_not_found_for_agent` for what is no run's id at all.
    """
    path, _, _query = crossing.target.partition(b"?")
    if crossing.method == "GET" and path.rstrip(b"/") == PREFIX:
        if crossing.body:
            raise Refused(refusal("malformed_request", "This request takes no body", reason="body"))
        return ReadFeed()
    found = _RESULT.fullmatch(path) if crossing.method == "POST" else None
    if found is None:
        raise Refused(refusal("no_such_path"))
    result = _read_result(crossing, limits)
    run_id = found[1].decode("latin-1")
    if not _ID.fullmatch(run_id):
        raise Refused(refusal("run_not_found_for_agent"))
    return Deliver(run_id, result)


def _read_result(crossing: Crossing, limits: Limits) -> Result:
    said = crossing.header(b"content-type")
    if said is not None and not _JSON.fullmatch(said):
        message = "The body is application/json, whether its type is said or not"
        raise Refused(refusal("malformed_request", message, reason="media_type", place="Content-Type"))
    scan_depth(crossing.body, limits.envelope_levels)
    result = strictjson.decode(crossing.body, Result, depth=limits.envelope_levels)
    check_payload(result.body, "$.body", limits)
    return result
