"""A full envelope of every type, made from our own models: every optional member present, every union taken once."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import inspect

from sayso.control.protocol.payloads.action import ActionCallResolveRequest, ActionCallResolveResponse
from sayso.control.protocol.payloads.capabilities import FeatureSupport
from sayso.control.protocol.payloads.content import Image
from sayso.control.protocol.payloads.inference import InferenceCreateResponse, PartEnded, PartStarted, SnapshotToolCall
from sayso.control.protocol.payloads.interaction import UserAnswer, UserInputResolved, UserQuestion
from sayso.control.protocol.payloads.models import ModelEventPosition
from sayso.control.protocol.payloads.provider import CredentialGrantResponse, ProviderDescriptor
from sayso.control.protocol.payloads.session import CompactionPolicy
from sayso.control.protocol.types import AGENT_TYPES, PROVIDER_TYPES, Kind, MessageType

GATE = dict.fromkeys(("interaction_id", "session_id", "run_id", "tool_call_id"), "x")
CALL = {"tool_call_id": "x", "name": "x", "arguments_json": {"a": 1}}
# Structs whose members exclude one another cannot be filled from their types alone.
SPECIAL: dict[type, Any] = {
    Image: {"data": "x", "media_type": "x"},
    InferenceCreateResponse: {"accepted": True, "honoured": {"include_snapshot": "never"}},
    PartStarted: {"part_index": 0, "part_kind": "tool_call", "tool_call_id": "x", "name": "x"},
    PartEnded: {"part_index": 0, "part_kind": "tool_call", "tool_call": CALL, "carry": "x"},
    SnapshotToolCall: {"type": "tool_call", **CALL, "carry": "x"},
    UserQuestion: {
        "id": "x",
        "prompt": "x",
        "kind": "single_choice",
        "required": True,
        "options": [{"id": "x", "label": "x", "description": "x"}],
    },
    UserAnswer: {"question_id": "x", "selected_option_ids": ["x"]},
    ActionCallResolveRequest: {**GATE, "requested_by": "x", "responded_by": "x", "result": {"a": 1}},
    ActionCallResolveResponse: {
        **GATE,
        "accepted": False,
        "reason": "already_resolved",
        "details": {"settlement_id": "x"},
    },
    ModelEventPosition: {"run_id": "x", "sequence": 1},
    CredentialGrantResponse: {"accepted": True, "credential_ref": "x", "expires_at_ms": 1},
    CompactionPolicy: {"kind": "share", "share_percent": 50},
    FeatureSupport: {
        "level": "native",
        "reason": "x",
        "scope": "x",
        "modes": ["x"],
        "constraints": {"fixed_result": {"a": 1}},
        "limits": {"max_sources": 1, "transports": ["local"], "max_tools": 1, "name_pattern": "x"},
    },
}

# Structs in which one value lets every other member stand.
TOUCHED: dict[type, Any] = {ProviderDescriptor: {"wire": "other"}, UserInputResolved: {"status": "submitted"}}


def sample(type_: Any) -> Any:
    """A value of this type with everything in it."""
    match type_:
        case inspect.StrType():
            return "x"
        case inspect.IntType(ge=ge):
            return max(1, ge or 0)
        case inspect.FloatType():
            return 0.5
        case inspect.BoolType():
            return True
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.VarTupleType(item_type=item):
            kinds = item.types if isinstance(item, inspect.UnionType) else (item,)
            return [sample(kind) for kind in kinds]
        case inspect.UnionType(types=types):
            empty = (inspect.CustomType, inspect.NoneType)
            return sample(next(kind for kind in reversed(types) if not isinstance(kind, empty)))
        case inspect.StructType():
            return struct(type_)
        case inspect.DictType(value_type=value) | inspect.CollectionType(item_type=value):
            return {"x": sample(value)}
        case _:
            return {"a": 1}


def struct(type_: inspect.StructType) -> Any:
    if type_.cls in SPECIAL:
        return SPECIAL[type_.cls]
    tag = {type_.tag_field: type_.tag} if type_.tag_field else {}
    filled = {field.encode_name: sample(field.type) for field in type_.fields}
    return {**tag, **filled, **TOUCHED.get(type_.cls, {})}


def envelope(kind: MessageType, profile: str) -> dict[str, Any]:
    payload = struct(inspect.type_info(kind.payload))
    head: dict[str, Any] = {
        "protocol": "open-agent-protocol",
        "version": "0.1",
        "profile": f"open-agent-protocol.{profile}",
        "type": kind.name,
        "id": "x",
        "payload": payload,
        "timestamp_ms": 1,
        "extensions": {"dev.sayso.x": {"a": None}},
        "capability_revision": "x",
    }
    if kind.kind is Kind.EVENT:
        head["sequence"] = 1
    scope = {"session_id": "x", "run_id": "x", "turn_id": "x", "tool_call_id": "x", "in_reply_to": "x"}
    if profile == "model-provider-core":
        scope = {"in_reply_to": "x"}
        if kind.name != "inference.create.request":
            scope["inference_id"] = "x"
    return {**head, **scope}


@cache
def seeds() -> dict[str, dict[str, Any]]:
    """By type."""
    agent = {name: envelope(kind, "agent-control-core") for name, kind in AGENT_TYPES.items()}
    provider = {name: envelope(kind, "model-provider-core") for name, kind in PROVIDER_TYPES.items()}
    return {**agent, **provider}


__all__ = ("seeds",)
