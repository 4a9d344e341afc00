"""A request, from bytes to a value, whichever version and binding it speaks.

`A2A-Version` decides how the method is read: a 1.0 method without it is refused (-32009), since no version means 0.3.
"""

from __future__ import annotations

from sayso.core.refusal import Refused
from sayso.gateway.crossing import Crossing
from sayso.gateway.doors.a2a.codes import content_type_not_supported, method_not_found, version_not_supported
from sayso.gateway.doors.a2a.read import v03, v10
from sayso.gateway.doors.a2a.read.envelope import read_envelope
from sayso.gateway.doors.a2a.read.rest import read_rest
from sayso.gateway.doors.a2a.read.version import read_path, read_version
from sayso.gateway.doors.a2a.values import Asked
from sayso.gateway.guard.rules.codes import refusal
from sayso.gateway.guard.rules.limits import Limits

__all__ = ("is_rpc", "read_request")


def is_rpc(crossing: Crossing) -> bool:
    """Whether it came to the JSON-RPC address."""
    return read_path(crossing) in ("", "/")


def read_request(crossing: Crossing, limits: Limits) -> Asked:
    """Refused: what is wrong with it, under a code of `codes` or of the guard."""
    version = read_version(crossing)
    if crossing.body:
        _check_type(crossing)
    if not is_rpc(crossing):
        return read_rest(crossing, version, limits)
    if crossing.method != "POST":
        raise Refused(refusal("method_not_allowed", place="method", allow="POST"))
    envelope = read_envelope(crossing.body, limits)
    known, other = (v10.METHODS, v03.METHODS) if version == "1.0" else (v03.METHODS, v10.METHODS)
    reader = known.get(envelope.method)
    if reader is None:
        if envelope.method in other and version == "0.3":
            raise version_not_supported(
                "That method belongs to A2A 1.0, and the request does not say that it speaks it"
            )
        raise method_not_found(f"A2A {version} has no such method")
    return Asked(call=reader(envelope.params), version=version, binding="jsonrpc", id=envelope.id)


def _check_type(crossing: Crossing) -> None:
    said = (crossing.header(b"content-type") or "application/json").partition(";")[0].strip().lower()
    if said != "application/json" and not (said.startswith("application/") and said.endswith("+json")):
        raise content_type_not_supported("A body is application/json or application/a2a+json", "content-type")
