"""Writes the envelopes of one inference in their only legal order: numbers, part indexes and the final message are
counted and assembled here, so a provider cannot skip one or drop a part (OAP-131, `terminal_not_assembly`).
"""

from __future__ import annotations

from collections.abc import Iterator

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import ContentPart, Message, ReasoningPart, TextPart, ToolCallPart, Usage
from sayso.control.protocol.payloads.inference import (
    Honoured,
    InferenceCancelRequest,
    InferenceCancelResponse,
    InferenceCompleted,
    InferenceCreateRequest,
    InferenceCreateResponse,
    InferenceFailed,
    InferenceStarted,
    PartDelta,
    PartEnded,
    PartStarted,
    ProviderError,
    ProviderErrorCode,
    StopReason,
    ToolCallEnd,
)
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.core import strictjson
from sayso.core.ids import Ids
from sayso.core.refusal import Misuse

__all__ = ("InferenceWriter", "write_cancel_response")

Written = Iterator[ProviderEnvelope[Wire]]


class InferenceWriter:
    """One inference's pen. Call `accept` or `refuse`, then `start`, then parts, then `complete` or `fail`."""

    def __init__(self, request: ProviderEnvelope[InferenceCreateRequest], ids: Ids) -> None:
        self._request = request
        self._ids = ids
        self._sequence = 0
        self._parts: list[ContentPart] = []
        self._settled = False
        self.inference_id = ids.new("inf")

    def accept(self) -> ProviderEnvelope[InferenceCreateResponse]:
        """The create response; snapshots are not kept, and it says so."""
        payload = InferenceCreateResponse(accepted=True, honoured=Honoured(include_snapshot="never"))
        return ProviderEnvelope(
            type="inference.create.response",
            id=self._ids.new("env"),
            in_reply_to=self._request.id,
            inference_id=self.inference_id,
            payload=payload,
        )

    def refuse(self, code: ProviderErrorCode, message: str) -> ProviderEnvelope[InferenceCreateResponse]:
        """The create response that says no; nothing may follow it."""
        self._settled = True
        error = ProviderError(code=code, message=message)
        return ProviderEnvelope(
            type="inference.create.response",
            id=self._ids.new("env"),
            in_reply_to=self._request.id,
            payload=InferenceCreateResponse(accepted=False, error=error),
        )

    def start(self) -> ProviderEnvelope[Wire]:
        """`inference.started`."""
        return self._event("inference.started", InferenceStarted(model_ref=self._request.payload.model_ref))

    def text(self, *deltas: str) -> Written:
        """One text part, streamed in the pieces given."""
        yield from self._stream(PartStarted(part_index=len(self._parts), part_kind="text"), deltas)
        yield self._end(TextPart(text="".join(deltas)))

    def reasoning(self, *deltas: str, carry: Maybe[str] = UNSET) -> Written:
        """One reasoning part, streamed in the pieces given."""
        yield from self._stream(PartStarted(part_index=len(self._parts), part_kind="reasoning"), deltas)
        yield self._end(ReasoningPart(reasoning="".join(deltas), carry=carry))

    def tool_call(self, name: str, arguments: object, *, tool_call_id: str | None = None) -> Written:
        """One whole tool call; `arguments` is the parsed object, the id is made here unless the vendor gave one."""
        call_id = tool_call_id or self._ids.new("call")
        index = len(self._parts)
        started = PartStarted(part_index=index, part_kind="tool_call", tool_call_id=call_id, name=name)
        yield from self._stream(started, (strictjson.encode(arguments).decode(),))
        yield self._end(ToolCallPart(tool_call_id=call_id, name=name, arguments_json=arguments))

    def complete(self, stop_reason: StopReason | None = None, usage: Maybe[Usage] = UNSET) -> ProviderEnvelope[Wire]:
        """`inference.completed` over the parts that ended; the reason is read off them unless given."""
        calls = any(isinstance(part, ToolCallPart) for part in self._parts)
        message = Message(role="assistant", content=tuple(self._parts) or "")
        reason: StopReason = stop_reason or ("tool_use" if calls else "stop")
        return self._terminal(
            "inference.completed", InferenceCompleted(message=message, stop_reason=reason, usage=usage)
        )

    def fail(self, code: ProviderErrorCode, message: str, *, retriable: Maybe[bool] = UNSET) -> ProviderEnvelope[Wire]:
        """`inference.failed`."""
        error = ProviderError(code=code, message=message, retriable=retriable)
        return self._terminal("inference.failed", InferenceFailed(error=error))

    def _stream(self, started: PartStarted, deltas: tuple[str, ...]) -> Written:
        yield self._event("inference.part.started", started)
        for delta in deltas:
            yield self._event("inference.part.delta", PartDelta(part_index=started.part_index, delta=delta))

    def _end(self, part: TextPart | ReasoningPart | ToolCallPart) -> ProviderEnvelope[Wire]:
        index = len(self._parts)
        self._parts.append(part)
        if isinstance(part, TextPart):
            return self._event("inference.part.ended", PartEnded(part_index=index, part_kind="text", text=part.text))
        if isinstance(part, ReasoningPart):
            ended = PartEnded(part_index=index, part_kind="reasoning", text=part.reasoning, carry=part.carry)
            return self._event("inference.part.ended", ended)
        call = ToolCallEnd(tool_call_id=part.tool_call_id, name=part.name, arguments_json=part.arguments_json)
        ended = PartEnded(part_index=index, part_kind="tool_call", tool_call=call, carry=part.carry)
        return self._event("inference.part.ended", ended)

    def _terminal(self, type_: str, payload: Wire) -> ProviderEnvelope[Wire]:
        envelope = self._event(type_, payload)
        self._settled = True
        return envelope

    def _event(self, type_: str, payload: Wire) -> ProviderEnvelope[Wire]:
        if self._settled:
            raise Misuse("an inference says nothing after it was settled")
        self._sequence += 1
        return ProviderEnvelope(
            type=type_,
            id=self._ids.new("env"),
            inference_id=self.inference_id,
            sequence=self._sequence,
            payload=payload,
        )


def write_cancel_response(
    request: ProviderEnvelope[InferenceCancelRequest], *, accepted: bool, ids: Ids
) -> ProviderEnvelope[InferenceCancelResponse]:
    """The answer to a cancel: intent only."""
    return ProviderEnvelope(
        type="inference.cancel.response",
        id=ids.new("env"),
        in_reply_to=request.id,
        inference_id=request.inference_id,
        payload=InferenceCancelResponse(accepted=accepted),
    )
