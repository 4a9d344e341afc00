"""The lines of a harness that speaks JSON: one object a line, strictly (OAP-045, bugs B01, B05, B06).

A line is what stands between two 0x0A, bounded by whoever cut it. It is UTF-8, one JSON object with no member twice,
without a carriage return and not blank; anything else means that the two sides no longer agree where they are. What an
object means is the adapter's reducer to say, in one of four ways: see `Fate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from sayso.control.protocol.payloads.scalars import JsonObject
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("Fate", "read_frame", "verify_last", "write_frame")


class Fate(Enum):
    """What becomes of a native frame. There is no fifth way: a frame is never dropped without a decision."""

    MAPPED = "mapped"
    """It becomes events, or an answer somebody waits for."""
    OBSERVED = "observed-only"
    """It is known to say nothing that the protocol could carry."""
    UNMAPPED = "required-unmapped"
    """It says something the run cannot go on without, and there is no way to say it: the run fails."""
    UNSUPPORTED = "unsupported-request"
    """The harness asks for something nobody here does: it gets its own protocol's error, and goes on."""


def read_frame(line: bytes) -> JsonObject:
    """A line to its object. Raises `Refused` `protocol_violation`, reasons `blank`, `carriage_return`, `not_an_object`,
    or why it is no JSON.
    """
    if not line.strip():
        raise _violation("blank", "a blank line")
    if b"\r" in line:
        raise _violation("carriage_return", "a carriage return in a line")
    try:
        value = strictjson.parse(line)
    except Refused as refused:
        raise _violation(str(refused.refusal.reason), refused.refusal.message) from None
    if not isinstance(value, Mapping):
        raise _violation("not_an_object", "a line that is no JSON object")
    return value


def verify_last(unfinished: bytes) -> None:
    """What came after the last line end. Raises `Refused` `protocol_violation`, reason `unterminated`."""
    if unfinished:
        raise _violation("unterminated", "a last line without its end")


def write_frame(value: JsonObject) -> bytes:
    """An object to its line, without the line end: JSON writes none inside."""
    return strictjson.encode(value)


def _violation(reason: str, what: str) -> Refused:
    return Refused.because("protocol_violation", f"the harness wrote {what}", reason=reason)
