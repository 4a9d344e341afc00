"""The flat envelope of both profiles, its one reader and its one writer (envelope and provider-envelope schemas).

`read_envelope` decides shape alone: closed members, the payload of its type, the scope ids its type must carry
(OAP-005..009). Whether the envelope was legal at that moment is `protocol.machine`'s to say. Ids stand flat on the
envelope, and again in payloads that have a member for them; `scope_disagreements` names those that differ.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import msgspec

from sayso.control.protocol.payloads.inference import InferenceCreateRequest, InferenceCreateResponse
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe, OpaqueId, Ordinal, Text, Wire
from sayso.control.protocol.types import AGENT_TYPES, PROVIDER_TYPES, MessageType
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = (
    "AGENT_PROFILE",
    "PROTOCOL",
    "PROVIDER_PROFILE",
    "VERSION",
    "Envelope",
    "ProviderEnvelope",
    "convert_envelope",
    "convert_provider_envelope",
    "read_envelope",
    "read_provider_envelope",
    "scope_disagreements",
    "write_envelope",
)

PROTOCOL: Literal["open-agent-protocol"] = "open-agent-protocol"
VERSION: Literal["0.1"] = "0.1"
AGENT_PROFILE: Literal["open-agent-protocol.agent-control-core"] = "open-agent-protocol.agent-control-core"
PROVIDER_PROFILE: Literal["open-agent-protocol.model-provider-core"] = "open-agent-protocol.model-provider-core"

P_co = TypeVar("P_co", bound=Wire, covariant=True)
T = TypeVar("T")

_HEAD = ("protocol", "version", "profile", "type", "id", "payload")
_HEAD_NAMES = frozenset(_HEAD)
_SCOPE_IDS = ("session_id", "run_id", "tool_call_id")


class Envelope(Wire, Generic[P_co], frozen=True, kw_only=True, forbid_unknown_fields=False):
    """One message of agent-control-core.

    Its top level is open, as the published schema leaves it (decision 0021): a member it does not know is read over
    and lost. Everything below is closed.
    """

    type: str
    id: OpaqueId
    payload: P_co
    protocol: Literal["open-agent-protocol"] = PROTOCOL
    version: Literal["0.1"] = VERSION
    profile: Literal["open-agent-protocol.agent-control-core"] = AGENT_PROFILE
    sequence: Maybe[Ordinal] = UNSET
    timestamp_ms: Maybe[int] = UNSET
    in_reply_to: Maybe[OpaqueId] = UNSET
    session_id: Maybe[OpaqueId] = UNSET
    run_id: Maybe[OpaqueId] = UNSET
    turn_id: Maybe[OpaqueId] = UNSET
    tool_call_id: Maybe[OpaqueId] = UNSET
    capability_revision: Maybe[Text] = UNSET
    extensions: Maybe[JsonObject] = UNSET


class ProviderEnvelope(Wire, Generic[P_co], frozen=True, kw_only=True):
    """One message of model-provider-core: `inference_id` lives here alone, and no session or run id exists."""

    type: str
    id: OpaqueId
    payload: P_co
    protocol: Literal["open-agent-protocol"] = PROTOCOL
    version: Literal["0.1"] = VERSION
    profile: Literal["open-agent-protocol.model-provider-core"] = PROVIDER_PROFILE
    sequence: Maybe[Ordinal] = UNSET
    timestamp_ms: Maybe[int] = UNSET
    in_reply_to: Maybe[OpaqueId] = UNSET
    inference_id: Maybe[OpaqueId] = UNSET
    capability_revision: Maybe[Text] = UNSET
    extensions: Maybe[JsonObject] = UNSET


def read_envelope(data: bytes) -> Envelope[Wire]:
    """Bytes to an agent-control envelope. Raises `Refused`: `malformed_json`, or `schema_invalid` with the place."""
    return convert_envelope(strictjson.parse(data))


def read_provider_envelope(data: bytes) -> ProviderEnvelope[Wire]:
    """Bytes to a model-provider envelope. Raises `Refused`: `malformed_json`, or `schema_invalid` with the place."""
    return convert_provider_envelope(strictjson.parse(data))


def convert_envelope(value: object) -> Envelope[Wire]:
    """A parsed value to an agent-control envelope; raises `Refused` `schema_invalid`."""
    kind = _type_of(value, AGENT_TYPES)
    envelope = _convert(value, Envelope[kind.payload])  # type: ignore[name-defined]
    kind.verify_scope(envelope)
    return envelope


def convert_provider_envelope(value: object) -> ProviderEnvelope[Wire]:
    """A parsed value to a model-provider envelope; raises `Refused` `schema_invalid`."""
    kind = _type_of(value, PROVIDER_TYPES)
    envelope = _convert(value, ProviderEnvelope[kind.payload])  # type: ignore[name-defined]
    kind.verify_scope(envelope)
    _verify_creation(envelope)
    return envelope


def write_envelope(envelope: Envelope[Wire] | ProviderEnvelope[Wire]) -> bytes:
    """Compact JSON; absent members are left out."""
    return strictjson.encode(envelope)


def scope_disagreements(envelope: Envelope[Wire]) -> list[str]:
    """The scope ids that stand on the envelope and in its payload and differ (OAP-008)."""
    found = []
    for name in _SCOPE_IDS:
        outer, inner = getattr(envelope, name), getattr(envelope.payload, name, UNSET)
        if outer is not UNSET and inner is not UNSET and outer != inner:
            found.append(name)
    return found


def _type_of(value: object, types: dict[str, MessageType]) -> MessageType:
    if not isinstance(value, dict):
        raise Refused.because("schema_invalid", "an envelope is a JSON object", place="$")
    if not value.keys() >= _HEAD_NAMES:
        name = next(name for name in _HEAD if name not in value)
        raise Refused.because("schema_invalid", f"an envelope has the member `{name}`", place=f"$.{name}")
    kind = types.get(value["type"]) if isinstance(value["type"], str) else None
    if kind is None:
        raise Refused.because("schema_invalid", "this type is unknown here", reason="unknown_type", place="$.type")
    return kind


def _verify_creation(envelope: ProviderEnvelope[Wire]) -> None:
    """An inference has an id from the moment its creation is accepted, and not before."""
    payload = envelope.payload
    if isinstance(payload, (InferenceCreateRequest, InferenceCreateResponse)):
        is_created = isinstance(payload, InferenceCreateResponse) and payload.accepted
        if is_created != (envelope.inference_id is not UNSET):
            raise Refused.because("schema_invalid", "an accepted create names its inference", place="$.inference_id")


def _convert(value: object, type_: type[T]) -> T:
    try:
        return msgspec.convert(value, type_, strict=True)
    except msgspec.ValidationError as error:
        if _FLOAT_FOR_INT in str(error):
            whole = _with_whole_numbers(value)
            if repr(whole) != repr(value):
                return _convert(whole, type_)
        what, _, place = str(error).partition(" - at `")
        raise Refused.because("schema_invalid", what, place=place.rstrip("`") or "$") from None


_FLOAT_FOR_INT = "Expected `int`, got `float`"
_FLOAT_BOUND = 2.0**63


def _with_whole_numbers(value: object) -> object:
    """JSON has one kind of number: `2.0` is 2 where an integer is asked for. Beyond 64 bits with sign it is refused."""
    if isinstance(value, float) and value.is_integer() and -_FLOAT_BOUND <= value < _FLOAT_BOUND:
        return int(value)
    if isinstance(value, dict):
        return {name: _with_whole_numbers(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(inner) for inner in value]
    return value
