"""The legality of one inference: which envelope of model-provider-core may come after which (OAP-130..132).

Theory. A create is answered once: refused, and nothing follows; or accepted, and the inference starts, streams its
parts and settles once as completed or failed. Its envelopes are numbered without gaps from 1. A part is started once
under a new index, grows by deltas, and ends once with its whole value, which replaces what the deltas added up to. A
completed inference's message is the ended parts in the order of their indexes, carries included
(`terminal_not_assembly` otherwise), unless nothing was streamed at all: a unary answer brings its message whole. Parts
that never ended are lost with an aborted or failed inference.

The same file judges the planner, the scripted model and every vendor's wire; it raises `Refused` with the profile's own
code `protocol_violation` and the finding in `reason`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

import msgspec
from msgspec.structs import replace

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import ContentPart, Message, ReasoningPart, TextPart, ToolCallPart
from sayso.control.protocol.payloads.inference import (
    InferenceCompleted,
    InferenceCreateResponse,
    PartDelta,
    PartEnded,
    PartKind,
    PartStarted,
)
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.core.refusal import Refused

__all__ = ("TABLE", "Inference", "Move", "Phase", "assembly", "observe")


class Phase(Enum):
    """Where an inference stands."""

    ASKED = "asked"
    """The create request was sent."""
    REFUSED = "refused"
    ACCEPTED = "accepted"
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"


class Move(Enum):
    """What an envelope does to its inference."""

    REFUSE = "a refused create"
    ACCEPT = "an accepted create"
    START = "inference.started"
    PART = "inference.part.*"
    COMPLETE = "inference.completed"
    FAIL = "inference.failed"


TABLE: Mapping[tuple[Phase, Move], Phase] = {
    (Phase.ASKED, Move.REFUSE): Phase.REFUSED,
    (Phase.ASKED, Move.ACCEPT): Phase.ACCEPTED,
    (Phase.ACCEPTED, Move.START): Phase.STARTED,
    (Phase.STARTED, Move.PART): Phase.STARTED,
    (Phase.STARTED, Move.COMPLETE): Phase.COMPLETED,
    (Phase.STARTED, Move.FAIL): Phase.FAILED,
}
SETTLED = (Phase.REFUSED, Phase.COMPLETED, Phase.FAILED)


class Part(msgspec.Struct, frozen=True):
    """One part: its kind, for a call its id and name, and its value once it ended."""

    kind: PartKind
    call: tuple[str, str] | None = None
    value: ContentPart | None = None


class Inference(msgspec.Struct, frozen=True):
    """One inference as seen by whoever asked for it."""

    request_id: str
    phase: Phase = Phase.ASKED
    inference_id: str | None = None
    last: int = 0
    parts: Mapping[int, Part] = {}

    @property
    def is_settled(self) -> bool:
        """Nothing may follow."""
        return self.phase in SETTLED


def assembly(state: Inference) -> tuple[ContentPart, ...]:
    """The ended parts in index order: what a completed message must be."""
    return tuple(part.value for _, part in sorted(state.parts.items()) if part.value is not None)


def observe(state: Inference, envelope: ProviderEnvelope[Wire]) -> Inference:
    """The inference after this envelope. Raises `Refused` `protocol_violation`, and nothing has moved."""
    move = _MOVES.get(envelope.type)
    if isinstance(envelope.payload, InferenceCreateResponse):
        move = Move.ACCEPT if envelope.payload.accepted else Move.REFUSE
    if move is None:
        raise _violation("illegal_transition", f"`{envelope.type}` is no part of an inference")
    after = TABLE.get((state.phase, move))
    if after is None:
        raise _violation("illegal_transition", f"{move.value} cannot come while the inference is {state.phase.value}")
    if move in (Move.ACCEPT, Move.REFUSE):
        return _created(state, envelope, after)
    _verify_number(state, envelope)
    moved = replace(state, phase=after, last=state.last + 1)
    part = _PARTS.get(envelope.type)
    if part is not None:
        return part(moved, envelope.payload)
    if isinstance(envelope.payload, InferenceCompleted):
        _verify_assembly(moved, envelope.payload.message)
    return moved


def _created(state: Inference, envelope: ProviderEnvelope[Wire], after: Phase) -> Inference:
    if envelope.in_reply_to != state.request_id:
        raise _violation("unmatched_response", "the create response names another request")
    if (envelope.inference_id is UNSET) == (after is Phase.ACCEPTED):
        raise _violation("scope_mismatch", "an accepted create, and no other, names its inference")
    name = None if envelope.inference_id is UNSET else envelope.inference_id
    return replace(state, phase=after, inference_id=name)


def _verify_number(state: Inference, envelope: ProviderEnvelope[Wire]) -> None:
    if envelope.inference_id != state.inference_id:
        raise _violation("scope_mismatch", "the envelope belongs to another inference")
    if envelope.sequence != state.last + 1:
        raise _violation("sequence_gap", f"envelope {envelope.sequence} comes right after {state.last}")


def _verify_assembly(state: Inference, message: Message) -> None:
    if not state.parts:
        return
    parts = assembly(state)
    content = (TextPart(text=message.content),) if isinstance(message.content, str) else message.content
    if content != parts and not (message.content == "" and parts == ()):
        raise _violation("terminal_not_assembly", "the final message is not the parts that ended")


def _part_started(state: Inference, payload: Wire) -> Inference:
    if not isinstance(payload, PartStarted) or payload.part_index in state.parts:
        raise _violation("illegal_part_transition", "a part starts once, under an index of its own")
    call = None
    if payload.tool_call_id is not UNSET and payload.name is not UNSET:
        call = (payload.tool_call_id, payload.name)
    return replace(state, parts={**state.parts, payload.part_index: Part(kind=payload.part_kind, call=call)})


def _part_grew(state: Inference, payload: Wire) -> Inference:
    if not isinstance(payload, PartDelta) or not _is_open(state, payload.part_index):
        raise _violation("illegal_part_transition", "a delta belongs to a part that has started and not ended")
    return state


def _part_ended(state: Inference, payload: Wire) -> Inference:
    if not isinstance(payload, PartEnded) or not _is_open(state, payload.part_index):
        raise _violation("illegal_part_transition", "a part ends once, after it started")
    part = state.parts[payload.part_index]
    if payload.part_kind != part.kind:
        raise _violation("illegal_part_transition", f"a {part.kind} part cannot end as {payload.part_kind}")
    ended = replace(part, value=_value(part, payload))
    return replace(state, parts={**state.parts, payload.part_index: ended})


def _value(part: Part, payload: PartEnded) -> ContentPart:
    if payload.tool_call is not UNSET:
        call = payload.tool_call
        if (call.tool_call_id, call.name) != part.call:
            raise _violation("illegal_part_transition", "a tool call ends under the id and name it started with")
        return ToolCallPart(
            tool_call_id=call.tool_call_id, name=call.name, arguments_json=call.arguments_json, carry=payload.carry
        )
    text = "" if payload.text is UNSET else payload.text
    if payload.part_kind == "reasoning":
        return ReasoningPart(reasoning=text, carry=payload.carry)
    return TextPart(text=text)


def _is_open(state: Inference, index: int) -> bool:
    part = state.parts.get(index)
    return part is not None and part.value is None


def _violation(reason: str, message: str) -> Refused:
    return Refused.because("protocol_violation", message, reason=reason)


_MOVES: Mapping[str, Move] = {
    "inference.started": Move.START,
    "inference.part.started": Move.PART,
    "inference.part.delta": Move.PART,
    "inference.part.ended": Move.PART,
    "inference.completed": Move.COMPLETE,
    "inference.failed": Move.FAIL,
}
_PARTS: Mapping[str, Callable[[Inference, Wire], Inference]] = {
    "inference.part.started": _part_started,
    "inference.part.delta": _part_grew,
    "inference.part.ended": _part_ended,
}
