"""A refusal in the shape of the binding it is answered in: JSON-RPC, 1.0's REST, 0.3's REST.

JSON-RPC and 1.0's REST carry google.rpc details, the first an ErrorInfo whose metadata are texts. The domain says whose
reason it is: A2A's own, or ours.
"""

from __future__ import annotations

from typing import Any

from sayso.core import strictjson
from sayso.gateway.crossing import Answer, Crossing, Denial
from sayso.gateway.doors.a2a.codes import Error, find_error
from sayso.gateway.doors.a2a.read.envelope import read_id
from sayso.gateway.doors.a2a.read.request import is_rpc
from sayso.gateway.doors.a2a.read.version import read_path
from sayso.gateway.guard.rules.limits import Limits

__all__ = ("A2A_JSON", "JSON", "write_denial")

JSON = "application/json"
A2A_JSON = "application/a2a+json"
_LONGEST = 300


def write_denial(crossing: Crossing, denial: Denial, limits: Limits) -> Answer:
    """Pure; never fails, whatever the body was."""
    error = find_error(denial.refusal.code, denial.status)
    message = denial.refusal.message[:_LONGEST]
    details = [_info(error, denial)]
    if is_rpc(crossing):
        inner = {"code": error.rpc, "message": message, "data": details}
        return _answer(denial, {"jsonrpc": "2.0", "id": read_id(crossing.body, limits), "error": inner}, JSON)
    if read_path(crossing).startswith("/v1/"):
        old = {"type": error.named, "code": error.rpc, "message": message, "data": details}
        return _answer(denial, old, JSON)
    new = {"code": denial.status, "status": error.grpc, "message": message, "details": details}
    return _answer(denial, {"error": new}, A2A_JSON)


def _answer(denial: Denial, body: dict[str, Any], content_type: str) -> Answer:
    allowed = denial.refusal.details.get("allow")
    headers = ((b"allow", str(allowed).encode()),) if allowed else ()
    return Answer(status=denial.status, body=strictjson.encode(body), content_type=content_type, headers=headers)


def _info(error: Error, denial: Denial) -> dict[str, Any]:
    refusal = denial.refusal
    said = {
        "code": refusal.code,
        "reason": refusal.reason,
        "place": refusal.place,
        "help": refusal.help,
        "retryAfter": denial.retry_after,
        "violationsLeft": denial.left,
        "article": refusal.details.get("article"),
    }
    metadata = {name: str(value)[:_LONGEST] for name, value in said.items() if value is not None}
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": error.reason,
        "domain": error.domain,
        "metadata": metadata,
    }
