"""The chunks of a chat completion, read.

The vendor's own terminal is the choice's `finish_reason`: `[DONE]` follows it, and so may a chunk of usage, but
compatible servers leave either out, and neither says anything of the message.
"""

from __future__ import annotations

from collections.abc import Mapping

from sayso.control.protocol.payloads.content import Usage
from sayso.control.protocol.payloads.inference import StopReason
from sayso.control.protocol.payloads.scalars import Maybe
from sayso.control.provider.parts import PartEvent, Parts
from sayso.control.provider.wires.carry import write_carry
from sayso.control.provider.wires.chat.codec import WIRE
from sayso.control.provider.wires.faults import failure_in
from sayso.control.provider.wires.reducing import Concluded, Counted, NameCall, broken_off
from sayso.control.provider.wires.vendor_json import Fields, count_in, list_in, object_in, read_event, text_in
from sayso.core.frames import SseEvent

__all__ = ("ChatReducer",)

_DONE = b"[DONE]"
_REASONS: Mapping[str, StopReason | None] = {
    "stop": None,
    "tool_calls": None,
    "function_call": None,
    "length": "length",
    "content_filter": "content_filter",
}
_REASONING = ("reasoning_content", "reasoning")


class ChatReducer:
    """Reads one stream."""

    def __init__(self, name_call: NameCall) -> None:
        self._parts = Parts(name_call)
        self._counted = Counted()
        self._finish: str | None = None
        self.is_over = False

    @property
    def usage(self) -> Maybe[Usage]:
        return self._counted.usage

    def feed(self, event: SseEvent) -> list[PartEvent]:
        if event.data.strip() == _DONE:
            self.is_over = True
            return []
        chunk = read_event(event)
        # Figures first: they come with choices, with an empty list of them, or without (B23).
        self._count(object_in(chunk, "usage"))
        if chunk.get("error"):
            raise failure_in(chunk["error"])
        events: list[PartEvent] = []
        for choice in list_in(chunk, "choices"):
            if choice.get("index", 0) in (0, None):
                events += self._choice(choice)
        return events

    def conclude(self) -> Concluded:
        if self._finish is None:
            raise broken_off()
        if self._finish == "error":
            raise failure_in("the model stopped with an error")
        reason = _REASONS.get(self._finish, "error")
        return Concluded(self._parts.finish(is_cut=reason is not None), reason)

    def _choice(self, choice: Fields) -> list[PartEvent]:
        delta = object_in(choice, "delta")
        events: list[PartEvent] = []
        for member in _REASONING:
            if said := text_in(delta, member):
                events += self._parts.think(said, carry=write_carry(WIRE, {"member": member}))
                break
        events += self._parts.text(text_in(delta, "content"))
        # A refusal is what the model says instead of an answer, in its own member.
        events += self._parts.text(text_in(delta, "refusal"))
        for call in list_in(delta, "tool_calls"):
            events += self._call(call)
        if choice.get("error"):
            raise failure_in(choice["error"])
        self._finish = text_in(choice, "finish_reason") or self._finish
        return events

    def _call(self, call: Fields) -> list[PartEvent]:
        function = object_in(call, "function")
        return self._parts.call(
            text_in(function, "arguments"),
            call_id=text_in(call, "id"),
            index=count_in(call, "index"),
            name=text_in(function, "name"),
        )

    def _count(self, usage: Fields) -> None:
        counted = self._counted
        for name, member in (
            ("input_tokens", "prompt_tokens"),
            ("output_tokens", "completion_tokens"),
            ("total_tokens", "total_tokens"),
        ):
            if (figure := count_in(usage, member)) is not None:
                setattr(counted, name, figure)
