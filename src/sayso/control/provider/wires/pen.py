"""Writes the parts manager's events as the profile's envelopes, numbered and assembled by the inference's writer."""

from __future__ import annotations

import msgspec

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import ContentPart, ReasoningPart, TextPart, Usage
from sayso.control.protocol.payloads.inference import (
    InferenceCreateRequest,
    InferenceFailed,
    PartDelta,
    PartEnded,
    PartStarted,
    ProviderError,
    ToolCallEnd,
)
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.provider.parts import Ended, Grew, Opened, PartEvent
from sayso.control.provider.wires.carry import own_carry
from sayso.control.provider.writer import InferenceWriter
from sayso.core.ids import Ids
from sayso.core.refusal import Misuse

__all__ = ("StreamPen",)


class StreamPen(InferenceWriter):
    """A writer for parts that are open side by side, as calls told in turns are; what they carry is `provider`'s."""

    def __init__(self, request: ProviderEnvelope[InferenceCreateRequest], ids: Ids, provider: str) -> None:
        super().__init__(request, ids)
        self._provider = provider
        self._ended: dict[int, ContentPart] = {}

    def write(self, event: PartEvent) -> ProviderEnvelope[Wire]:
        """One event of the parts manager, which counts the indexes."""
        match event:
            case Opened(index, kind, call_id, name):
                started = PartStarted(
                    part_index=index, part_kind=kind, tool_call_id=call_id or UNSET, name=name or UNSET
                )
                return self._event("inference.part.started", started)
            case Grew(index, delta):
                return self._event("inference.part.delta", PartDelta(part_index=index, delta=delta))
            case Ended():
                return self._write_end(event)

    def fail_with(self, error: ProviderError, usage: Maybe[Usage] = UNSET) -> ProviderEnvelope[Wire]:
        """`inference.failed` with its details and what was counted until then."""
        return self._terminal("inference.failed", InferenceFailed(error=error, usage=usage))

    def _write_end(self, event: Ended) -> ProviderEnvelope[Wire]:
        index, part = event.index, event.part
        if not isinstance(part, TextPart):
            part = msgspec.structs.replace(part, carry=own_carry(part.carry, self._provider))
        if index in self._ended:
            raise Misuse("a part ends once")
        self._ended[index] = part
        # The message is the ended parts in the order of their indexes, in whatever order they ended.
        self._parts = [self._ended[each] for each in sorted(self._ended)]
        if isinstance(part, TextPart):
            ended = PartEnded(part_index=index, part_kind="text", text=part.text)
        elif isinstance(part, ReasoningPart):
            ended = PartEnded(part_index=index, part_kind="reasoning", text=part.reasoning, carry=part.carry)
        else:
            call = ToolCallEnd(tool_call_id=part.tool_call_id, name=part.name, arguments_json=part.arguments_json)
            ended = PartEnded(part_index=index, part_kind="tool_call", tool_call=call, carry=part.carry)
        return self._event("inference.part.ended", ended)
