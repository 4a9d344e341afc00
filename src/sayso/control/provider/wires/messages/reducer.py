"""The events of a message, read. The terminals are `message_stop` and `error`; `message_delta` says why it stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sayso.control.protocol.payloads.content import Usage
from sayso.control.protocol.payloads.inference import StopReason
from sayso.control.protocol.payloads.scalars import Maybe
from sayso.control.provider.parts import PartEvent, Parts
from sayso.control.provider.wires.carry import write_carry
from sayso.control.provider.wires.faults import failure_in
from sayso.control.provider.wires.messages.codec import WIRE
from sayso.control.provider.wires.reducing import Concluded, Counted, NameCall, broken_off
from sayso.control.provider.wires.vendor_json import Fields, count_in, object_in, read_event, text_in
from sayso.core import strictjson
from sayso.core.frames import SseEvent

__all__ = ("MessagesReducer",)

_REASONS: Mapping[str, StopReason | None] = {
    "end_turn": None,
    "stop_sequence": None,
    "tool_use": None,
    "pause_turn": None,
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class MessagesReducer:
    """Reads one stream."""

    def __init__(self, name_call: NameCall) -> None:
        self._parts = Parts(name_call)
        self._figures: dict[str, int] = {}
        self._signatures: dict[int | None, str] = {}
        self._inputs: dict[int | None, str] = {}
        self._reason: str | None = None
        self._is_stopped = False
        self._read: Mapping[str, Callable[[Fields], list[PartEvent]]] = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
            "error": self._error,
        }

    @property
    def is_over(self) -> bool:
        return self._is_stopped

    @property
    def usage(self) -> Maybe[Usage]:
        """What went in counts whether it was read from a cache, written to one or neither."""
        given = [self._figures[name] for name in _INPUT if name in self._figures]
        return Counted(sum(given) if given else None, self._figures.get("output_tokens")).usage

    def feed(self, event: SseEvent) -> list[PartEvent]:
        fields = read_event(event)
        read = self._read.get(text_in(fields, "type") or event.event)
        if read is None and fields.get("error"):
            raise failure_in(fields["error"])
        return read(fields) if read is not None else []

    def conclude(self) -> Concluded:
        if not self._is_stopped or self._reason is None:
            raise broken_off()
        reason = _REASONS.get(self._reason, "error")
        return Concluded(self._parts.finish(is_cut=reason is not None), reason)

    def _message_start(self, fields: Fields) -> list[PartEvent]:
        self._count(object_in(object_in(fields, "message"), "usage"))
        return []

    def _block_start(self, fields: Fields) -> list[PartEvent]:
        index, block = count_in(fields, "index"), object_in(fields, "content_block")
        match block.get("type"):
            case "text":
                return self._parts.text(text_in(block, "text"), index)
            case "thinking":
                return self._think(index, text_in(block, "thinking"), text_in(block, "signature"))
            case "redacted_thinking":
                carry = write_carry(WIRE, {"redacted": text_in(block, "data")})
                return self._parts.think("", index, carry=carry)
            case "tool_use":
                if given := object_in(block, "input"):
                    self._inputs[index] = strictjson.encode(given).decode()
                return self._parts.call(call_id=text_in(block, "id"), index=index, name=text_in(block, "name"))
        return []

    def _block_delta(self, fields: Fields) -> list[PartEvent]:
        index, delta = count_in(fields, "index"), object_in(fields, "delta")
        match delta.get("type"):
            case "text_delta":
                return self._parts.text(text_in(delta, "text"), index)
            case "thinking_delta":
                return self._think(index, text_in(delta, "thinking"), "")
            case "signature_delta":
                return self._think(index, "", text_in(delta, "signature"))
            case "input_json_delta":
                if said := text_in(delta, "partial_json"):
                    self._inputs.pop(index, None)  # what is streamed is the whole of it
                    return self._parts.call(said, index=index)
        return []

    def _block_stop(self, fields: Fields) -> list[PartEvent]:
        index = count_in(fields, "index")
        return [*self._parts.end_prose(), *self._parts.end_call(index=index, arguments=self._inputs.pop(index, None))]

    def _message_delta(self, fields: Fields) -> list[PartEvent]:
        self._count(object_in(fields, "usage"))
        self._reason = text_in(object_in(fields, "delta"), "stop_reason") or self._reason
        return []

    def _message_stop(self, _: Fields) -> list[PartEvent]:
        self._is_stopped = True
        return []

    def _error(self, fields: Fields) -> list[PartEvent]:
        raise failure_in(fields.get("error"))

    def _think(self, index: int | None, said: str, signature: str) -> list[PartEvent]:
        if not signature:
            return self._parts.think(said, index)
        whole = self._signatures[index] = self._signatures.get(index, "") + signature
        return self._parts.think(said, index, carry=write_carry(WIRE, {"signature": whole}))

    def _count(self, usage: Fields) -> None:
        for name in (*_INPUT, "output_tokens"):
            if (figure := count_in(usage, name)) is not None:
                self._figures[name] = figure
