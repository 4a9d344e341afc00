"""Reading what a vendor sent: members that may be missing, null or of another type, each as one typed answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sayso.core import strictjson
from sayso.core.frames import SseEvent
from sayso.core.refusal import Refused

__all__ = ("Fields", "count_in", "fields_of", "list_in", "object_in", "read_event", "text_in")

Fields = Mapping[str, object]
_NOTHING: Fields = {}


def read_event(event: SseEvent) -> Fields:
    """An event's data as a JSON object. Refused `endpoint_error`, reason `malformed_event`."""
    try:
        value = strictjson.parse(event.data, depth=128)
    except Refused as refused:
        what = refused.refusal.reason or "syntax"
        raise Refused.because(
            "endpoint_error", f"an event of the stream is no JSON ({what})", reason="malformed_event"
        ) from None
    if not isinstance(value, dict):
        raise Refused.because("endpoint_error", "an event of the stream is no JSON object", reason="malformed_event")
    return value


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
