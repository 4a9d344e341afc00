"""The short way for what a trace mostly is: text that a run says.

A line as our writer writes it is read straight into its type, and written again. Where that gives the same bytes, it
says exactly this and says it once: no member twice, none unknown, nothing that changed on the way. A line of somebody
else's goes through the strict parser, and has no member that its type lacks.

Taken is only what holds text and two numbers, so nothing of it is nested deep or out of range once the numbers are
looked at. Whatever does not pass goes the long way, where every verdict and every message comes from: this file
accepts, and never refuses (OAP-022, OAP-023).
"""

from __future__ import annotations

import msgspec

from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.content import ReasoningPart, TextPart
from sayso.control.protocol.payloads.run import ContentDelta
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.core.refusal import Refused
from sayso.core.strictjson import MAX_INTEGER, MIN_INTEGER, parse_flat

__all__ = ("read_speech",)

_TYPE = "content.delta"
_OURS = b'{"type":"content.delta",'
_THEIRS = b'"content.delta"'
_SPEECH = Envelope[ContentDelta]
_MEMBERS = frozenset(Envelope.__struct_fields__)
_HEAD = frozenset(("protocol", "version", "profile", "type", "id", "payload"))
_decode = msgspec.json.Decoder(_SPEECH).decode
_encode = msgspec.json.Encoder().encode


def read_speech(line: bytes) -> Envelope[ContentDelta] | None:
    """The envelope of a run's text; None for a line that has to go the long way."""
    try:
        envelope = _read_ours(line) if line.startswith(_OURS) else None
        if envelope is None and _THEIRS in line:
            envelope = _read_theirs(line)
    except (msgspec.MsgspecError, Refused, ValueError, RecursionError):
        return None
    if envelope is None:
        return None
    kind, when = type(envelope.payload.part), envelope.timestamp_ms
    is_text = (kind is TextPart or kind is ReasoningPart) and envelope.extensions is UNSET
    is_within = when is UNSET or MIN_INTEGER <= when <= MAX_INTEGER
    return envelope if is_text and is_within else None


def _read_ours(line: bytes) -> Envelope[ContentDelta] | None:
    envelope = _decode(line)
    said = _encode(envelope)
    return envelope if line.startswith(said) and len(line) - len(said) < 2 else None


def _read_theirs(line: bytes) -> Envelope[ContentDelta] | None:
    value = parse_flat(line)
    if not isinstance(value, dict) or not _HEAD <= value.keys() <= _MEMBERS or value["type"] != _TYPE:
        return None
    return msgspec.convert(value, _SPEECH, strict=True)
