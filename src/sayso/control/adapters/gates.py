"""What a request elects, held against what an adapter advertises: one refusal, ranked (OAP-015, 016, 018).

A member that is present counts even when it is empty; a switch counts when it is on. First come features that are not
advertised, then those degraded without the opt-in; among equals the lexically lower key is named. Nothing has been
allocated when a gate refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sayso.control.adapters.contract import Descriptor
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Texts, Wire
from sayso.control.protocol.payloads.session import MessageSubmitRequest, SessionOpenRequest
from sayso.core.refusal import Refused

__all__ = ("verify_open", "verify_submit")

_OPEN_FEATURES: Mapping[str, str] = {
    "subscribe": "session.open.subscribe",
    "reopen": "session.open.reopen",
    "message": "session.open.message",
    "tool_sources": "action.tool_sources.attach",
    "tools": "action.tools.provide",
    "recovery": "session.recovery",
    "reasoning_level": "session.reasoning_level",
    "compaction_policy": "run.compaction",
}
_SUBMIT_FEATURES: Mapping[str, str] = {
    "model_id": "run.model_selection",
    "instructions": "run.instructions",
    "tool_choice": "run.tool_choice",
    "output_schema": "run.structured_output",
    "target_run_id": "session.message.delivery.steer",
}


def verify_open(request: Envelope[SessionOpenRequest], descriptor: Descriptor) -> None:
    """Raises `Refused`: `stale_capabilities`, `unsupported_feature`, `capability_degraded`."""
    _verify_pin(request, descriptor)
    elected = _elected(request.payload, _OPEN_FEATURES)
    _verify_elected(elected, descriptor, request.payload.allow_degraded_features)


def verify_submit(request: Envelope[MessageSubmitRequest], descriptor: Descriptor) -> None:
    """Raises `Refused`: `stale_capabilities`, `unsupported_feature`, `capability_degraded`."""
    _verify_pin(request, descriptor)
    elected = {f"session.message.delivery.{request.payload.delivery}", *_elected(request.payload, _SUBMIT_FEATURES)}
    _verify_elected(elected, descriptor, request.payload.allow_degraded_features)


def _elected(payload: Wire, features: Mapping[str, str]) -> set[str]:
    return {key for member, key in features.items() if getattr(payload, member) not in (UNSET, False)}


def _verify_pin(request: Envelope[Wire], descriptor: Descriptor) -> None:
    cited = request.capability_revision
    if cited is UNSET or cited == descriptor.revision:
        return
    details = {"expected_revision": descriptor.revision, "current_revision": cited}
    raise Refused.because("stale_capabilities", "the request cites another capability revision", details=details)


def _verify_elected(elected: Iterable[str], descriptor: Descriptor, allowed: Maybe[Texts]) -> None:
    advertised = descriptor.capabilities.features or {}
    levels = {key: advertised[key].level if key in advertised else "unavailable" for key in sorted(elected)}
    for key, level in levels.items():
        if level == "unavailable":
            details = {"feature": key, "reason": "unadvertised"}
            raise Refused.because("unsupported_feature", f"{key} is not offered here", details=details)
    for key, level in levels.items():
        if level == "degraded" and key not in (allowed or ()):
            raise Refused.because("capability_degraded", f"{key} is degraded here", details={"feature": key})
