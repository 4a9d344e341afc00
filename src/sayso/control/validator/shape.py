"""Phase two: a JSON value to a typed envelope, or what is wrong with its shape (OAP-023, OAP-024, OAP-033, OAP-035).

The closed types of `control.protocol` give the verdict. Strict is what they say. Tolerant first leaves out the members
they do not know, at every depth, so additions pass while a known member that is missing or mistyped still fails; a type
nobody knows is judged on the common members alone. Types and members of loaded packs are judged by the packs' schemas,
and the core by what is left: a pack changes no verdict on the core's own words.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from sayso.control.protocol.envelope import (
    AGENT_PROFILE,
    Envelope,
    ProviderEnvelope,
    convert_envelope,
    convert_provider_envelope,
)
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe, Wire
from sayso.control.protocol.types import AGENT_TYPES, PROVIDER_TYPES
from sayso.control.validator.packs import Packs
from sayso.control.validator.tolerance import known_only
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("AgentShape", "Foreign", "Mode", "ProviderShape")

Mode = Literal["strict", "tolerant"]


class Foreign(Wire, frozen=True, kw_only=True):
    """The payload of a type the core does not have, as it came."""

    members: JsonObject
    session_id: Maybe[str] = UNSET
    run_id: Maybe[str] = UNSET
    tool_call_id: Maybe[str] = UNSET


class AgentShape:
    """Reads envelopes of agent-control-core."""

    def __init__(self, mode: Mode, packs: Packs) -> None:
        self._mode = mode
        self._packs = packs

    def read(self, value: object) -> Envelope[Wire]:
        """The envelope. Raises `Refused` `schema_invalid` with the place."""
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            return convert_envelope(value)
        name = value["type"]
        if name in AGENT_TYPES:
            if self._packs.members:
                value = self._packs.without_members(name, value)
            if self._mode == "tolerant":
                value = known_only(_envelope_of(AGENT_TYPES[name].payload), value)
            return convert_envelope(value)
        if name in self._packs.types:
            self._packs.judge_shape(name, value)
        elif self._mode == "strict":
            return convert_envelope(value)
        return _foreign(value)


class ProviderShape:
    """Reads envelopes of model-provider-core."""

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    def read(self, value: object) -> ProviderEnvelope[Wire] | None:
        """The envelope, or None for a foreign one in tolerant mode. Raises `Refused` `schema_invalid`."""
        if self._mode == "strict" or not isinstance(value, dict) or not isinstance(value.get("type"), str):
            return convert_provider_envelope(value)
        kind = PROVIDER_TYPES.get(value["type"])
        if kind is None:
            common = {name: inner for name, inner in value.items() if name != "inference_id"}
            _foreign({**common, "profile": AGENT_PROFILE})
            return None
        return convert_provider_envelope(known_only(_provider_envelope_of(kind.payload), value))


def _foreign(value: dict[str, Any]) -> Envelope[Wire]:
    """An envelope of a type the core does not have, on its common members."""
    payload = value.get("payload")
    if not isinstance(payload, dict):
        raise Refused.because("schema_invalid", "a payload is an object", place="$.payload")
    scope = {name: payload[name] for name in _SCOPE if isinstance(payload.get(name), str)}
    common = known_only(Envelope[Foreign], {**value, "payload": {}})
    common["payload"] = {"members": payload, **scope}
    return strictjson.decode(strictjson.encode(common), Envelope[Foreign])


@cache
def _envelope_of(payload: type[Wire]) -> Any:
    return Envelope[payload]  # type: ignore[valid-type]


@cache
def _provider_envelope_of(payload: type[Wire]) -> Any:
    return ProviderEnvelope[payload]  # type: ignore[valid-type]


_SCOPE = ("session_id", "run_id", "tool_call_id")
