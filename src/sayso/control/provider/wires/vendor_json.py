"""Reading what a vendor sent: members that may be missing, null or of another type, each as one typed answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sayso.core import strictjson
from sayso.core.frames import SseEvent
from sayso.core.refusal import Refused

__all__ = ("Fields", "count_in", "fields_of", "list_in", "object_in", "read_event", "text_in")

Fields = Mapping[str, object]
_NOTHING: Fields = {}
_DEPTH = 128
_MENDED = ("lone_surrogate", "not_utf8", "number_out_of_range")
_OF_CALLS = (b"arguments", b'"args"', b'"input"', b"partial_json")
"""The members in which the wires tell what a call is made with."""
_LOW, _HIGH = rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}", rb"\\u[dD][89abAB][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rb"%b%b|(?P<lone>%b|%b)|\\." % (_HIGH, _LOW, _HIGH, _LOW), re.DOTALL)
_NUMBER = re.compile(rb'"(?:[^"\\]|\\.)*"|(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)', re.DOTALL)


def read_event(event: SseEvent) -> Fields:
    """An event's data as a JSON object. Refused `endpoint_error`, reason `malformed_event`.

    A whole answer is not lost for one character or figure: half a character is read as U+FFFD, a number that no integer
    of ours holds as null. Not so where a call is told, because its arguments are done and not only shown.
    """
    try:
        value = _parse(event.data)
    except Refused as refused:
        what = refused.refusal.reason or "syntax"
        raise Refused.because(
            "endpoint_error", f"an event of the stream is no JSON ({what})", reason="malformed_event"
        ) from None
    if not isinstance(value, dict):
        raise Refused.because("endpoint_error", "an event of the stream is no JSON object", reason="malformed_event")
    return value


def _parse(data: bytes) -> strictjson.JsonValue:
    try:
        return strictjson.parse(data, depth=_DEPTH)
    except Refused as refused:
        if refused.refusal.reason not in _MENDED or any(word in data for word in _OF_CALLS):
            raise
    whole = _ESCAPE.sub(_paired, data.decode(errors="replace").encode())
    return strictjson.parse(_NUMBER.sub(_held, whole), depth=_DEPTH)


def _paired(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if escape["lone"] else escape[0]


def _held(found: re.Match[bytes]) -> bytes:
    number = found["number"]
    return found[0] if number is None or abs(float(number)) < strictjson.MAX_INTEGER else b"null"


def fields_of(value: object) -> Fields:
    """An object, or an empty one for anything else."""
    return value if isinstance(value, dict) else _NOTHING


def object_in(value: Fields, name: str) -> Fields:
    """The object under a name, or an empty one."""
    return fields_of(value.get(name))


def list_in(value: Fields, name: str) -> Iterator[Fields]:
    """The objects of the list under a name; what is no object is passed over."""
    found = value.get(name)
    return (item for item in found if isinstance(item, dict)) if isinstance(found, list) else iter(())


def text_in(value: Fields, name: str) -> str:
    """The text under a name, or an empty one."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def count_in(value: Fields, name: str) -> int | None:
    """A whole number of at least zero, or None: a figure that is no figure is not known."""
    found = value.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None
