"""The events of a response, read. Its terminals are `response.completed`, `.incomplete` and `.failed`, and `error`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sayso.control.protocol.payloads.content import Usage
from sayso.control.protocol.payloads.inference import StopReason
from sayso.control.protocol.payloads.scalars import Maybe
from sayso.control.provider.parts import PartEvent, Parts
from sayso.control.provider.wires.carry import write_carry
from sayso.control.provider.wires.codex.codec import WIRE as CODEX_WIRE
from sayso.control.provider.wires.faults import failure_in
from sayso.control.provider.wires.reducing import Concluded, Counted, NameCall, broken_off
from sayso.control.provider.wires.responses.codec import WIRE
from sayso.control.provider.wires.vendor_json import Fields, count_in, list_in, object_in, read_event, text_in
from sayso.core.frames import SseEvent

__all__ = ("CodexReducer", "ResponsesReducer")

_DONE = b"[DONE]"
_INCOMPLETE: Mapping[str, StopReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}
_KEPT = ("id", "encrypted_content", "summary")


class ResponsesReducer:
    """Reads one stream. An item's id decides which item an event is of, its output index only where there is none."""

    wire = WIRE
    """Whose carries these are."""

    def __init__(self, name_call: NameCall) -> None:
        self._parts = Parts(name_call)
        self._counted = Counted()
        self._call_ids: dict[str, str] = {}
        self._summaries: dict[object, object] = {}
        self._reason: StopReason | None = None
        self._read: Mapping[str, Callable[[Fields], list[PartEvent]]] = {
            "response.output_item.added": self._added,
            "response.output_text.delta": self._text,
            "response.refusal.delta": self._text,
            "response.reasoning_summary_text.delta": self._thought,
            "response.reasoning_text.delta": self._thought,
            "response.function_call_arguments.delta": self._arguments,
            "response.output_item.done": self._done,
            "response.completed": self._completed,
            "response.incomplete": self._incomplete,
            "response.failed": self._failed,
            "response.cancelled": self._failed,
            "error": self._error,
        }
        self.is_over = False

    @property
    def usage(self) -> Maybe[Usage]:
        return self._counted.usage

    def feed(self, event: SseEvent) -> list[PartEvent]:
        if event.data.strip() == _DONE:
            return []
        fields = read_event(event)
        if "type" not in fields and fields.get("error"):
            raise failure_in(fields["error"])
        read = self._read.get(text_in(fields, "type") or event.event)
        return read(fields) if read is not None else []

    def conclude(self) -> Concluded:
        if not self.is_over:
            raise broken_off()
        return Concluded(self._parts.finish(is_cut=self._reason is not None), self._reason)

    def _added(self, fields: Fields) -> list[PartEvent]:
        item = object_in(fields, "item")
        if item.get("type") != "function_call":
            return []
        call_id = text_in(item, "call_id")
        if call_id and (item_id := text_in(item, "id")):
            self._call_ids[item_id] = call_id
        # What it says of arguments here is a beginning that the deltas say again.
        return self._parts.call(call_id=call_id, index=count_in(fields, "output_index"), name=text_in(item, "name"))

    def _text(self, fields: Fields) -> list[PartEvent]:
        return self._parts.text(text_in(fields, "delta"), (_key(fields), fields.get("content_index")))

    def _thought(self, fields: Fields) -> list[PartEvent]:
        """Paragraphs of one item are one part, an empty line between them."""
        key = _key(fields)
        place = (fields.get("type"), fields.get("summary_index"), fields.get("content_index"))
        before = self._summaries.setdefault(key, place)
        self._summaries[key] = place
        gap = "\n\n" if before != place else ""
        return self._parts.think(gap + text_in(fields, "delta"), key)

    def _arguments(self, fields: Fields) -> list[PartEvent]:
        call_id = self._call_ids.get(text_in(fields, "item_id"))
        return self._parts.call(text_in(fields, "delta"), call_id=call_id, index=count_in(fields, "output_index"))

    def _done(self, fields: Fields) -> list[PartEvent]:
        item = object_in(fields, "item")
        match item.get("type"):
            case "function_call":
                return self._call_done(item, count_in(fields, "output_index"))
            case "reasoning":
                return self._thought_done(item, fields)
            case "message":
                return [*self._parts.end_prose(), *self._phase(item)]
        return []

    def _phase(self, item: Fields) -> list[PartEvent]:
        """Whether a text was a remark on the way or the answer, which the vendor wants back. A text has no carry of its
        own; its phase stands behind it, as an empty thought.
        """
        phase = text_in(item, "phase")
        if not phase:
            return []
        carry = write_carry(self.wire, {"phase": phase})
        return [*self._parts.think("", "phase", carry=carry), *self._parts.end_prose()]

    def _call_done(self, item: Fields, index: int | None) -> list[PartEvent]:
        call_id = text_in(item, "call_id") or self._call_ids.get(text_in(item, "id"), "")
        events = self._parts.call(call_id=call_id, index=index, name=text_in(item, "name"))
        if item.get("status") == "incomplete":
            return events
        said = item.get("arguments")
        arguments = said if isinstance(said, str) else None
        return [*events, *self._parts.end_call(call_id=call_id, index=index, arguments=arguments)]

    def _thought_done(self, item: Fields, fields: Fields) -> list[PartEvent]:
        if not text_in(item, "encrypted_content"):
            return self._parts.end_prose()
        key = text_in(item, "id") or count_in(fields, "output_index")
        carry = write_carry(self.wire, {name: item[name] for name in _KEPT if name in item})
        said = "" if key in self._summaries else "\n\n".join(text_in(part, "text") for part in list_in(item, "summary"))
        return [*self._parts.think(said, key, carry=carry), *self._parts.end_prose()]

    def _completed(self, fields: Fields) -> list[PartEvent]:
        self._count(fields)
        self.is_over = True
        return []

    def _incomplete(self, fields: Fields) -> list[PartEvent]:
        self._count(fields)
        details = object_in(object_in(fields, "response"), "incomplete_details")
        self._reason = _INCOMPLETE.get(text_in(details, "reason"), "error")
        self.is_over = True
        return []

    def _failed(self, fields: Fields) -> list[PartEvent]:
        self._count(fields)
        raise failure_in(object_in(fields, "response").get("error"))

    def _error(self, fields: Fields) -> list[PartEvent]:
        # Both forms are seen: the error's members on the event itself, and under `error`. The event's own `type` is no
        # name of an error.
        raise failure_in(fields.get("error") or {name: value for name, value in fields.items() if name != "type"})

    def _count(self, fields: Fields) -> None:
        usage = object_in(object_in(fields, "response"), "usage")
        counted = self._counted
        counted.input_tokens = count_in(usage, "input_tokens")
        counted.output_tokens = count_in(usage, "output_tokens")
        counted.total_tokens = count_in(usage, "total_tokens")


class CodexReducer(ResponsesReducer):
    """The same events from the Codex backend."""

    wire = CODEX_WIRE


def _key(fields: Fields) -> object:
    return text_in(fields, "item_id") or count_in(fields, "output_index")
