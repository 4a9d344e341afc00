"""What a client of a provider service takes from bytes: an envelope of the profile, or the service's no."""

from __future__ import annotations

from collections.abc import Mapping

from sayso.control.client.requests import refusal_of
from sayso.control.protocol.envelope import (
    AGENT_PROFILE,
    ProviderEnvelope,
    convert_envelope,
    convert_provider_envelope,
)
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core import strictjson
from sayso.core.refusal import PeerRefused, Refusal, Refused

__all__ = ("convert_answer", "read_answer")


def read_answer(data: bytes, peer: str) -> ProviderEnvelope[Wire]:
    """Raises `PeerRefused`: the service's own no, or `protocol_violation` for anything that is no envelope."""
    try:
        value = strictjson.parse(data)
    except Refused as refused:
        raise _violation(peer, refused.refusal.message) from None
    return convert_answer(value, peer)


def convert_answer(value: object, peer: str) -> ProviderEnvelope[Wire]:
    """The same for a value that was parsed."""
    try:
        if isinstance(value, Mapping) and value.get("profile") == AGENT_PROFILE:
            refused_by = convert_envelope(value).payload
            if isinstance(refused_by, ErrorResponse):
                raise PeerRefused(peer, refusal_of(refused_by))
            raise _violation(peer, "an envelope of another profile came")
        return convert_provider_envelope(value)
    except Refused as refused:
        where = f" at {refused.refusal.place}" if refused.refusal.place else ""
        raise _violation(peer, f"{refused.refusal.message}{where}") from None


def _violation(peer: str, message: str) -> PeerRefused:
    return PeerRefused(peer, Refusal(code="protocol_violation", message=message[:300]))
