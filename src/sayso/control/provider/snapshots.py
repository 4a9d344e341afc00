"""An inference's message as it stands, folded from its envelopes: what snapshots and `inference.sync` show (OAP-130).

One fold serves every wire and the planner, because it reads nothing but the profile's own events. A call whose
arguments have not all come is shown with the text so far (`arguments_partial`); one that ended, with its arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import ReasoningPart, TextPart
from sayso.control.protocol.payloads.inference import (
    Honoured,
    InferenceCreateResponse,
    PartDelta,
    PartEnded,
    PartKind,
    PartStarted,
    SnapshotMessage,
    SnapshotPart,
    SnapshotPolicy,
    SnapshotToolCall,
)
from sayso.control.protocol.payloads.scalars import UNSET, Wire

__all__ = ("POLICIES", "Recorder")

POLICIES: tuple[SnapshotPolicy, ...] = ("never", "on_part_end", "every_delta")


@dataclass(slots=True)
class _Part:
    """One part: what has come of it, and its value once it ended."""

    kind: PartKind
    call: tuple[str, str]
    pieces: list[str] = field(default_factory=list)
    ended: SnapshotPart | None = None

    def shown(self) -> SnapshotPart:
        if self.ended is not None:
            return self.ended
        text = "".join(self.pieces)
        if self.kind == "tool_call":
            return SnapshotToolCall(tool_call_id=self.call[0], name=self.call[1], arguments_partial=text)
        return ReasoningPart(reasoning=text) if self.kind == "reasoning" else TextPart(text=text)


class Recorder:
    """Hears one inference, in order, and gives each envelope on, with the snapshot that `policy` promises."""

    def __init__(self, policy: SnapshotPolicy = "never") -> None:
        self.policy = policy
        self._parts: dict[int, _Part] = {}

    def hear(self, envelope: ProviderEnvelope[Wire]) -> ProviderEnvelope[Wire]:
        """The envelope as it leaves: an accepted create honours the policy, a delta or an end shows the message."""
        payload = envelope.payload
        if isinstance(payload, PartDelta):
            return self._grow(envelope, payload)
        if isinstance(payload, PartEnded):
            return self._end(envelope, payload)
        if isinstance(payload, PartStarted):
            call = (payload.tool_call_id or "", payload.name or "")
            self._parts[payload.part_index] = _Part(payload.part_kind, call)
        elif isinstance(payload, InferenceCreateResponse) and payload.accepted and self.policy != "never":
            honoured = msgspec.structs.replace(payload, honoured=Honoured(include_snapshot=self.policy))
            return msgspec.structs.replace(envelope, payload=honoured)
        return envelope

    def snapshot(self) -> tuple[SnapshotMessage, ...]:
        """The message so far."""
        shown = tuple(part.shown() for _, part in sorted(self._parts.items()))
        return (SnapshotMessage(role="assistant", content=shown or ""),)

    def _grow(self, envelope: ProviderEnvelope[Wire], payload: PartDelta) -> ProviderEnvelope[Wire]:
        part = self._parts.get(payload.part_index)
        if part is not None:
            part.pieces.append(payload.delta)
        return self._with_snapshot(envelope, payload) if self.policy == "every_delta" else envelope

    def _end(self, envelope: ProviderEnvelope[Wire], payload: PartEnded) -> ProviderEnvelope[Wire]:
        part = self._parts.get(payload.part_index)
        if part is not None:
            part.ended, part.pieces = _value(payload), []
        return envelope if self.policy == "never" else self._with_snapshot(envelope, payload)

    def _with_snapshot(
        self, envelope: ProviderEnvelope[Wire], payload: PartDelta | PartEnded
    ) -> ProviderEnvelope[Wire]:
        shown = msgspec.structs.replace(payload, snapshot=self.snapshot())
        return msgspec.structs.replace(envelope, payload=shown)


def _value(payload: PartEnded) -> SnapshotPart:
    if payload.tool_call is not UNSET:
        call = payload.tool_call
        return SnapshotToolCall(
            tool_call_id=call.tool_call_id, name=call.name, arguments_json=call.arguments_json, carry=payload.carry
        )
    text = payload.text or ""
    if payload.part_kind == "reasoning":
        return ReasoningPart(reasoning=text, carry=payload.carry)
    return TextPart(text=text)
