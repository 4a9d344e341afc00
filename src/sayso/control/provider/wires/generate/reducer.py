"""The chunks of a generated content, read. The terminal is the candidate's `finishReason`; figures may follow it."""

from __future__ import annotations

from collections.abc import Mapping

from sayso.control.protocol.payloads.content import Usage
from sayso.control.protocol.payloads.inference import StopReason
from sayso.control.protocol.payloads.scalars import UNSET, Maybe
from sayso.control.provider.parts import PartEvent, Parts
from sayso.control.provider.wires.carry import write_carry
from sayso.control.provider.wires.faults import failure_in
from sayso.control.provider.wires.generate.codec import WIRE
from sayso.control.provider.wires.reducing import Concluded, Counted, NameCall, broken_off
from sayso.control.provider.wires.vendor_json import (
    Fields,
    count_in,
    fields_of,
    list_in,
    object_in,
    read_event,
    text_in,
)
from sayso.core import strictjson
from sayso.core.frames import SseEvent
from sayso.core.refusal import Refused

__all__ = ("GenerateReducer",)

_REASONS: Mapping[str, StopReason | None] = {
    "STOP": None,
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
         "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"),
        "content_filter",
    ),
}  # fmt: skip
_BAD_CALLS = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE")
_INPUT = ("promptTokenCount", "toolUsePromptTokenCount")
_OUTPUT = ("candidatesTokenCount", "thoughtsTokenCount")
_TOTAL = "totalTokenCount"
_UNSPECIFIED = ("FINISH_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED")


class GenerateReducer:
    """Reads one stream. A call comes whole, so it begins and ends at once."""

    def __init__(self, name_call: NameCall) -> None:
        self._parts = Parts(name_call)
        self._figures: dict[str, int] = {}
        self._calls = 0
        self._finish: str | None = None
        self._is_blocked = False
        self.is_over = False

    @property
    def usage(self) -> Maybe[Usage]:
        """Thoughts are written by the model, results of its own tools are read by it: both belong to a sum."""
        return Counted(self._sum(_INPUT), self._sum(_OUTPUT), self._figures.get(_TOTAL)).usage

    def feed(self, event: SseEvent) -> list[PartEvent]:
        chunk = read_event(event)
        self._count(object_in(chunk, "usageMetadata"))
        if chunk.get("error"):
            raise failure_in(chunk["error"])
        blocked = text_in(object_in(chunk, "promptFeedback"), "blockReason")
        self._is_blocked = self._is_blocked or bool(blocked and blocked not in _UNSPECIFIED)
        events: list[PartEvent] = []
        for candidate in list_in(chunk, "candidates"):
            if candidate.get("index", 0) in (0, None):
                events += self._candidate(candidate)
        return events

    def conclude(self) -> Concluded:
        if self._finish is None and not self._is_blocked:
            raise broken_off()
        if self._finish in _BAD_CALLS:
            raise Refused.because("endpoint_error", "the model made a call that is none", reason="malformed_tool_call")
        reason = "content_filter" if self._finish is None else _REASONS.get(self._finish, "error")
        return Concluded(self._parts.finish(is_cut=reason is not None), reason)

    def _candidate(self, candidate: Fields) -> list[PartEvent]:
        events: list[PartEvent] = []
        for part in list_in(object_in(candidate, "content"), "parts"):
            events += self._part(part)
        finish = text_in(candidate, "finishReason")
        if finish and finish not in _UNSPECIFIED:
            self._finish = finish
        return events

    def _part(self, part: Fields) -> list[PartEvent]:
        signature = text_in(part, "thoughtSignature")
        signed = {"signature": signature} if signature else {}
        if isinstance(part.get("functionCall"), dict):
            return self._call(object_in(part, "functionCall"), signed)
        said = text_in(part, "text")
        if part.get("thought") is True:
            return self._parts.think(said, carry=write_carry(WIRE, signed) if signed else UNSET)
        events = self._parts.text(said)
        if signed:
            # A text has no carry of its own; its signature stands behind it, as an empty thought.
            carry = write_carry(WIRE, {**signed, "of": "text"})
            events += [*self._parts.think("", "signature", carry=carry), *self._parts.end_prose()]
        return events

    def _call(self, call: Fields, signed: Mapping[str, object]) -> list[PartEvent]:
        self._calls += 1
        given = call.get("args", {})
        if given is not None and not isinstance(given, dict):
            raise Refused.because("endpoint_error", "a call's arguments are no object", reason="truncated_tool_call")
        call_id, index = text_in(call, "id"), ("call", self._calls)
        token = {**signed, **({"id": call_id} if call_id else {})}
        carry = write_carry(WIRE, token) if token else UNSET
        arguments = strictjson.encode(fields_of(given)).decode()
        return [
            *self._parts.call(arguments, call_id=call_id, index=index, name=text_in(call, "name"), carry=carry),
            *self._parts.end_call(call_id=call_id, index=index),
        ]

    def _count(self, usage: Fields) -> None:
        for name in (*_INPUT, *_OUTPUT, _TOTAL):
            if (figure := count_in(usage, name)) is not None:
                self._figures[name] = figure

    def _sum(self, names: tuple[str, ...]) -> int | None:
        figures = [self._figures[name] for name in names if name in self._figures]
        return sum(figures) if figures else None
