"""Provider events to what the run tells: pure, one envelope in, the content it streams out.

Text and reasoning stream as `content.delta`; a tool call is told when it is made, as `action.call.requested`, so its
argument text streams nowhere. Order and assembly are judged by `control.provider.machine`.
"""

from __future__ import annotations

from dataclasses import dataclass

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import ContentPart, Message, ReasoningPart, TextPart, ToolCallPart, Usage
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.inference import (
    InferenceCompleted,
    InferenceCreateResponse,
    InferenceFailed,
    PartDelta,
    PartKind,
    ProviderError,
    StopReason,
)
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Natural, Wire
from sayso.control.provider.machine import Inference, observe

__all__ = ("Heard", "TurnEnded", "TurnFailed", "add_usage", "hear", "spoken")


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The model finished its turn."""

    message: Message
    stop_reason: StopReason
    usage: Maybe[Usage]


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The create was refused, or the inference failed."""

    error: ProtocolError
    usage: Maybe[Usage] = UNSET


@dataclass(frozen=True, slots=True)
class Heard:
    """What one provider envelope amounts to."""

    inference: Inference
    delta: TextPart | ReasoningPart | None = None
    end: TurnEnded | TurnFailed | None = None


def hear(inference: Inference, envelope: ProviderEnvelope[Wire]) -> Heard:
    """Raises `Refused` `protocol_violation` when the envelope may not come now."""
    after = observe(inference, envelope)
    match envelope.payload:
        case PartDelta(part_index=index, delta=text):
            return Heard(after, delta=_delta(after.parts[index].kind, text))
        case InferenceCompleted(message=message, stop_reason=reason, usage=usage):
            return Heard(after, end=TurnEnded(message, reason, usage))
        case InferenceFailed(error=error, usage=usage):
            return Heard(after, end=TurnFailed(_protocol_error(error), usage))
        case InferenceCreateResponse(error=error) if error is not UNSET:
            return Heard(after, end=TurnFailed(_protocol_error(error)))
        case _:
            return Heard(after)


def _delta(kind: PartKind, text: str) -> TextPart | ReasoningPart | None:
    if kind == "text":
        return TextPart(text=text)
    return ReasoningPart(reasoning=text) if kind == "reasoning" else None


def spoken(message: Message) -> Message:
    """The turn as a person reads it: text and reasoning, without the calls it made."""
    if isinstance(message.content, str):
        return message
    parts: tuple[ContentPart, ...] = tuple(part for part in message.content if not isinstance(part, ToolCallPart))
    return Message(role="assistant", content=parts or "", id=message.id, metadata=message.metadata)


def add_usage(before: Maybe[Usage], more: Maybe[Usage]) -> Maybe[Usage]:
    """Tokens of both; a figure that either side did not count stays what the other counted, never zero."""
    if before is UNSET or more is UNSET:
        return more if before is UNSET else before
    return Usage(
        input_tokens=_sum(before.input_tokens, more.input_tokens),
        output_tokens=_sum(before.output_tokens, more.output_tokens),
        total_tokens=_sum(before.total_tokens, more.total_tokens),
    )


def _sum(one: Maybe[Natural], other: Maybe[Natural]) -> Maybe[Natural]:
    if one is UNSET or other is UNSET:
        return other if one is UNSET else one
    return one + other


def _protocol_error(error: ProviderError) -> ProtocolError:
    return ProtocolError(code=error.code, message=error.message, retriable=error.retriable, details=error.details)
